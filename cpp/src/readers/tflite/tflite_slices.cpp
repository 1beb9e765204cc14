// Operators that take parts of a tensor.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "latpred/text.h"
#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

using Settings = TfliteNode::Settings;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kToTheStart = std::numeric_limits<std::int64_t>::min();

std::int64_t declared(const std::optional<Shape>& shape, std::size_t axis) {
  return shape && axis < shape->size() ? (*shape)[axis] : kUnknownSize;
}

// The number in input `index`; throws where it is computed.
std::int64_t stored_number(const TfliteNode& node, std::size_t index, std::string_view what) {
  const auto numbers = node.integers(index);
  if (!numbers || numbers->size() != 1) node.fail(concat("has ", what, " that is computed, or several"));
  return numbers->front();
}

void with_axis_of_input(TfliteNode& node, std::size_t x, std::size_t axis, Settings settings) {
  settings.emplace_back("axis", stored_number(node, axis, "an axis"));
  node.finish(OperatorId::split, {node.input(x)}, settings);
}

// Inputs axis, x.
void split(TfliteNode& node, OperatorId) { with_axis_of_input(node, 1, 0, {}); }

// Inputs x, sizes of the parts, axis.
void split_v(TfliteNode& node, OperatorId) {
  auto parts = node.integers(1);
  if (!parts) node.fail("has sizes of its parts that are computed");
  // One part may take what the others leave.
  const auto rest = std::find(parts->begin(), parts->end(), kUnknownSize);
  if (rest != parts->end()) {
    const auto shape = node.shape(0);
    const std::int64_t axis = stored_number(node, 2, "an axis");
    const auto rank = static_cast<std::int64_t>(shape ? shape->size() : 0);
    const std::int64_t whole = declared(shape, static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
    *rest = 0;
    std::int64_t given = 0;
    for (const std::int64_t part : *parts) {
      if (__builtin_add_overflow(given, part, &given)) node.fail("has parts that are too large");
    }
    if (whole < given) node.fail(concat("has a part that takes the rest of ", whole, " elements"));
    *rest = whole - given;
  }
  with_axis_of_input(node, 0, 2, {{"split", *parts}});
}

void unpack(TfliteNode& node, OperatorId op) {
  const std::int64_t axis = node.option<std::int32_t>(1, 0);
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    node.finish_output(i, op, {node.input(0)}, {{"axis", axis}, {"index", static_cast<std::int64_t>(i)}});
  }
}

// What is left of each axis of a tensor, for the axes where that is not all.
struct Cut {
  Sizes axes;
  Sizes starts;
  Sizes ends;
  Sizes steps;

  void add(std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
    axes.push_back(axis);
    starts.push_back(start);
    ends.push_back(end);
    steps.push_back(step);
  }
  [[nodiscard]] Settings settings() const {
    return {{"axes", axes}, {"starts", starts}, {"ends", ends}, {"steps", steps}};
  }
};

// Inputs x, where each axis starts, how much of it is taken (-1: all the rest).
void slice(TfliteNode& node, OperatorId op) {
  const auto starts = node.integers(1);
  const auto sizes = node.integers(2);
  const auto shape = node.shape(0);
  if (!starts || !sizes) {
    const VariableId is_rest = node.part(OperatorId::equal, {node.input(2), node.number(kUnknownSize)});
    const VariableId sum = node.part(OperatorId::add, {node.input(1), node.input(2)});
    const VariableId most = node.number(std::numeric_limits<std::int32_t>::max());
    const VariableId ends = node.part(OperatorId::where, {is_rest, most, sum});
    return node.finish(op, {node.input(0), node.input(1), ends});
  }
  if (starts->size() != sizes->size())
    node.fail(concat("has ", starts->size(), " starts and ", sizes->size(), " sizes"));
  Cut cut;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t start = (*starts)[i];
    const std::int64_t size = (*sizes)[i];
    // All of it, at whatever size the network is asked for.
    if (start == 0 && (size == kUnknownSize || size == declared(shape, i))) continue;
    std::int64_t end = kToTheEnd;
    if (size != kUnknownSize && __builtin_add_overflow(start, size, &end)) node.fail("takes more than 2^63 elements");
    cut.add(static_cast<std::int64_t>(i), start, end, 1);
  }
  if (cut.axes.empty()) return node.finish(OperatorId::identity, {node.input(0)});
  node.finish(op, {node.input(0)}, cut.settings());
}

bool has_bit(std::int32_t mask, std::size_t index) {
  return index < 32 && ((static_cast<std::uint32_t>(mask) >> index) & 1U) != 0;
}

// NumPy's x[a:b:c, ..., None, d] in TensorFlow's form: an entry of begin, end and strides for each word, masks for what
// the words are.
struct StridedSlice {
  explicit StridedSlice(const TfliteNode& node)
      : begin_mask(node.option<std::int32_t>(0, 0)),
        end_mask(node.option<std::int32_t>(1, 0)),
        ellipsis_mask(node.option<std::int32_t>(2, 0)),
        new_axis_mask(node.option<std::int32_t>(3, 0)),
        shrink_mask(node.option<std::int32_t>(4, 0)) {}

  std::int32_t begin_mask;
  std::int32_t end_mask;
  std::int32_t ellipsis_mask;
  std::int32_t new_axis_mask;
  std::int32_t shrink_mask;
};

// One entry whose place is computed: x[i].
void select_computed(TfliteNode& node, const StridedSlice& masks) {
  const auto begin = node.shape(1);
  if (!begin || *begin != Shape{1} || masks.shrink_mask != 1) return lower_as_declared(node, OperatorId::unknown);
  const VariableId row = node.part(OperatorId::gather, {node.input(0), node.input(1)}, {{"axis", std::int64_t{0}}});
  node.finish(OperatorId::squeeze, {row}, {{"axes", Sizes{0}}});
}

void strided_slice(TfliteNode& node, OperatorId op) {
  const StridedSlice masks(node);
  const auto begin = node.integers(1);
  const auto end = node.integers(2);
  const auto strides = node.integers(3);
  const auto shape = node.shape(0);
  if (!begin || !strides || begin->size() != strides->size()) return select_computed(node, masks);
  const std::size_t count = begin->size();
  if (end && end->size() != count) node.fail(concat("has ", count, " starts and ", end->size(), " ends"));
  if (!end && !has_bit(masks.shrink_mask, 0)) {
    // An end that is computed, from the start and over all axes given, is what ONNX takes as well.
    const bool is_plain =
        masks.ellipsis_mask == 0 && masks.new_axis_mask == 0 && masks.shrink_mask == 0 && masks.end_mask == 0;
    if (!is_plain) return lower_as_declared(node, OperatorId::unknown);
    Sizes axes(count);
    std::iota(axes.begin(), axes.end(), 0);
    return node.finish(op, {node.input(0), node.input(1), node.input(2), node.numbers(axes), node.input(3)});
  }
  Cut cut;
  Sizes dropped;  // axes of the input that vanish
  Sizes added;    // axes of the result that are new
  std::size_t axis = 0;
  std::int64_t position = 0;  // in the result
  for (std::size_t i = 0; i < count; ++i) {
    if (has_bit(masks.new_axis_mask, i)) {
      added.push_back(position++);
      continue;
    }
    if (has_bit(masks.ellipsis_mask, i)) {
      if (!shape) node.fail("leaves axes out of a tensor whose rank the file does not declare");
      std::size_t named = 0;  // behind it
      for (std::size_t k = i + 1; k < count; ++k) named += has_bit(masks.new_axis_mask, k) ? 0 : 1;
      const std::size_t next = shape->size() > named ? std::max(axis, shape->size() - named) : axis;
      position += static_cast<std::int64_t>(next - axis);
      axis = next;
      continue;
    }
    const auto at = static_cast<std::int64_t>(axis);
    const std::int64_t step = (*strides)[i];
    if (has_bit(masks.shrink_mask, i)) {
      const std::int64_t start = (*begin)[i];
      cut.add(at, start, start == -1 || start == kToTheEnd ? kToTheEnd : start + 1, 1);
      dropped.push_back(at);
      ++axis;
      continue;
    }
    const std::int64_t size = declared(shape, axis);
    const bool from_start = has_bit(masks.begin_mask, i) || (step > 0 && (*begin)[i] == 0);
    const bool to_end = has_bit(masks.end_mask, i) || (step > 0 && size != kUnknownSize && end && (*end)[i] >= size);
    if (!from_start || !to_end || step != 1) {
      if (!end && !to_end) return lower_as_declared(node, OperatorId::unknown);
      cut.add(at, from_start ? (step > 0 ? 0 : kToTheEnd) : (*begin)[i],
              to_end ? (step > 0 ? kToTheEnd : kToTheStart) : (*end)[i], step);
    }
    ++position;
    ++axis;
  }
  // The last of these makes the result.
  struct Step {
    OperatorId op;
    Settings settings;
  };
  std::vector<Step> steps;
  if (!cut.axes.empty()) steps.push_back({op, cut.settings()});
  if (!dropped.empty()) steps.push_back({OperatorId::squeeze, {{"axes", dropped}}});
  if (!added.empty()) steps.push_back({OperatorId::unsqueeze, {{"axes", added}}});
  if (steps.empty()) steps.push_back({OperatorId::identity, {}});
  VariableId x = node.input(0);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) x = node.part(steps[i].op, {x}, steps[i].settings);
  node.finish(steps.back().op, {x}, steps.back().settings);
}

}  // namespace

const std::vector<TfliteOperatorRow>& tflite_slices() {
  static const std::vector<TfliteOperatorRow> rows{
      {45, "STRIDED_SLICE", OperatorId::slice, strided_slice},
      {49, "SPLIT", OperatorId::split, split},
      {65, "SLICE", OperatorId::slice, slice},
      {88, "UNPACK", OperatorId::select, unpack},
      {102, "SPLIT_V", OperatorId::split, split_v},
  };
  return rows;
}

}  // namespace latpred::readers
