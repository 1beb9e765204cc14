#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "latpred/autocast.h"
#include "normalize/rules.h"

namespace latpred {
namespace {

// Whether a node whose first output has the shape and type of its first input hands it on unchanged.
using Unchanged = bool (*)(const Rewriter&, const Node&);

bool always(const Rewriter&, const Node&) { return true; }

// PyTorch's clone() and contiguous() are identities that move data; one with a second input orders a write in place
// before its readers.
bool identity(const Rewriter&, const Node& node) {
  return node.inputs.size() == 1 && !node.attributes.has("copy") && !node.attributes.has("contiguous");
}

const Value* value_of(const Rewriter& rewriter, const Node& node, std::size_t index) {
  const bool is_there = index < node.inputs.size() && node.inputs[index] != kAbsent;
  return is_there ? rewriter.tensor(node.inputs[index]).value.get() : nullptr;
}

// Input 2 of ONNX's says that the network is in training.
bool dropout(const Rewriter& rewriter, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kAbsent) return true;
  return rewriter.is_stored(node.inputs[2]) && rewriter.number(node.inputs[2]) == 0.0;
}

// The integers of an attribute or of a stored input; `found` says whether they are known.
std::vector<std::int64_t> numbers(const Rewriter& rewriter, const Node& node, std::string_view name, std::size_t index,
                                  bool& found) {
  found = true;
  if (node.attributes.has(name)) return node.attributes.integers(name);
  if (const Value* value = value_of(rewriter, node, index)) return value->integers;
  found = index >= node.inputs.size() || node.inputs[index] == kAbsent;
  return {};
}

// A whole tensor in steps of -1 is another one.
bool slice(const Rewriter& rewriter, const Node& node) {
  bool is_known = false;
  const auto steps = numbers(rewriter, node, "steps", 4, is_known);
  return is_known && std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step > 0; });
}

// Rows put on one side and taken off the other give the same shape.
bool pad(const Rewriter& rewriter, const Node& node) {
  bool is_known = false;
  const auto pads = numbers(rewriter, node, node.attributes.has("paddings") ? "paddings" : "pads", 1, is_known);
  return is_known && !pads.empty() && std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
}

// Dimensions of one element may stand anywhere.
bool transpose(const Rewriter& rewriter, const Node& node) {
  const Shape& shape = rewriter.tensor(node.inputs[0]).shape;
  Shape order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  order = node.attributes.integers("perm", order);
  std::int64_t last = -1;
  for (std::int64_t axis : order) {
    if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
    if (shape.at(static_cast<std::size_t>(axis)) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool one_operand(const Rewriter&, const Node& node) { return node.inputs.size() == 1; }

bool one_result(const Rewriter&, const Node& node) { return node.outputs.size() == 1; }

struct Row {
  OperatorId op;
  Unchanged unchanged;
};

constexpr Row kViews[] = {
    {OperatorId::identity, identity}, {OperatorId::dropout, dropout},     {OperatorId::cast, always},
    {OperatorId::reshape, always},    {OperatorId::flatten, always},      {OperatorId::squeeze, always},
    {OperatorId::expand, always},     {OperatorId::transpose, transpose}, {OperatorId::slice, slice},
    {OperatorId::cast_like, always},  {OperatorId::unsqueeze, always},
};
constexpr Row kCopies[] = {
    {OperatorId::identity, always},    {OperatorId::pad, pad},         {OperatorId::tile, always},
    {OperatorId::concat, one_operand}, {OperatorId::sum, one_operand}, {OperatorId::mean, one_operand},
    {OperatorId::max, one_operand},    {OperatorId::min, one_operand}, {OperatorId::split, one_result},
};

// Readers of what is converted remember it where the conversion goes.
void note_conversions(Rewriter& rewriter, const std::vector<bool>& is_converted) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const std::vector<TensorId>& inputs = rewriter.node(id).inputs;
    std::vector<std::int64_t> places = rewriter.node(id).attributes.integers(kConverts, {});
    const std::size_t num_known = places.size();
    for (std::size_t place = 0; place < inputs.size(); ++place) {
      if (inputs[place] != kAbsent && is_converted[inputs[place]]) places.push_back(static_cast<std::int64_t>(place));
    }
    if (places.size() > num_known) rewriter.attributes(id).set(std::string(kConverts), std::move(places));
  }
}

template <std::size_t N>
void drop_unchanged(Rewriter& rewriter, const Row (&rows)[N]) {
  std::vector<TensorId> instead(rewriter.graph().tensors.size());
  std::iota(instead.begin(), instead.end(), TensorId{0});
  std::vector<bool> is_converted(instead.size(), false);
  std::vector<NodeId> dropped;
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const Node& node = rewriter.node(id);
    const auto row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.op == node.op; });
    if (row == std::end(rows) || node.inputs.empty() || node.inputs[0] == kAbsent || node.outputs[0] == kAbsent) {
      continue;
    }
    // A mask that something reads is an output of its own.
    if (std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](TensorId out) { return out != kAbsent; })) {
      continue;
    }
    const TensorId made = node.outputs[0];
    const Tensor& from = rewriter.tensor(node.inputs[0]);
    const Tensor& to = rewriter.tensor(made);
    if (from.shape != to.shape || from.dtype != to.dtype || !row->unchanged(rewriter, node)) continue;
    const TensorId source = instead[node.inputs[0]];
    if (!rewriter.hand_output_over(made, source)) continue;
    instead[made] = source;
    is_converted[made] = to.dtype == DType::float32 && (node.attributes.has(kConverts) || is_converted[node.inputs[0]]);
    dropped.push_back(id);
  }
  if (dropped.empty()) return;
  note_conversions(rewriter, is_converted);
  rewriter.forward_all(instead);
  for (const NodeId id : dropped) rewriter.drop(id);
}

}  // namespace

void drop_views(Rewriter& rewriter) { drop_unchanged(rewriter, kViews); }

void drop_copies(Rewriter& rewriter) { drop_unchanged(rewriter, kCopies); }

}  // namespace latpred
