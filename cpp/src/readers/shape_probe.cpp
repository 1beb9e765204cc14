#include "readers/shape_probe.h"

#include <stdexcept>

#include "latpred/error.h"

namespace latpred::readers {
namespace {

// Stand-ins for the batch and for any other open size: they differ between the runs, divide by what networks divide
// by, and are large enough for windows.
constexpr std::array<std::int64_t, ShapeProbe::kRuns> kBatch{16, 48};
constexpr std::array<std::int64_t, ShapeProbe::kRuns> kOpenSize{512, 768};

}  // namespace

ShapeProbe::Runs& ShapeProbe::at(VariableId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= known_.size()) known_.resize(index + 1);
  return known_[index];
}

const ShapeProbe::Runs* ShapeProbe::find(VariableId id) const {
  const auto index = static_cast<std::size_t>(id);
  return id >= 0 && index < known_.size() && known_[index][0].has_shape ? &known_[index] : nullptr;
}

void ShapeProbe::add(VariableId id, const Variable& variable) {
  if (!variable.has_shape) return;
  Shape shape;
  for (const Dimension& dimension : variable.dimensions) shape.push_back(dimension.size);
  assume(id, variable.dtype, shape);
  for (shapes::Known& known : at(id)) known.value = variable.value;
}

void ShapeProbe::assume(VariableId id, DType dtype, const Shape& shape) {
  Runs& runs = at(id);
  for (std::size_t run = 0; run < kRuns; ++run) {
    runs[run] = {.dtype = dtype, .has_shape = true, .shape = shape};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) runs[run].shape[i] = i == 0 ? kBatch[run] : kOpenSize[run];
    }
  }
}

void ShapeProbe::run(const Statement& statement) {
  const shapes::Rule rule = shapes::find_rule(statement.op);
  if (rule == nullptr) return;
  for (std::size_t run = 0; run < kRuns; ++run) {
    std::vector<const shapes::Known*> inputs;
    for (const VariableId id : statement.inputs) {
      const Runs* const known = find(id);
      if (known == nullptr && id != kAbsent) return;
      inputs.push_back(known == nullptr ? nullptr : &(*known)[run]);
    }
    shapes::RuleContext context(statement, std::move(inputs));
    const auto forget = [&] {  // half an answer is none
      for (const VariableId id : statement.outputs) {
        if (id != kAbsent) at(id) = {};
      }
    };
    try {
      rule(context);
    } catch (const Error&) {  // with the real sizes the engine asks again, and its answer counts
      forget();
      return;
    } catch (const std::out_of_range&) {  // an input with fewer elements than it declares
      forget();
      return;
    }
    for (std::size_t i = 0; i < statement.outputs.size(); ++i) {
      if (statement.outputs[i] != kAbsent) at(statement.outputs[i])[run] = context.outputs()[i];
    }
  }
}

std::optional<Shape> ShapeProbe::shape(VariableId id) const {
  const Runs* const runs = find(id);
  if (runs == nullptr || (*runs)[0].shape.size() != (*runs)[1].shape.size()) return std::nullopt;
  Shape shape = (*runs)[0].shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != (*runs)[1].shape[i]) shape[i] = kUnknownSize;
  }
  return shape;
}

DType ShapeProbe::dtype(VariableId id) const {
  const Runs* const runs = find(id);
  return runs == nullptr ? DType::undefined : (*runs)[0].dtype;
}

std::shared_ptr<const Value> ShapeProbe::value(VariableId id) const {
  const Runs* const runs = find(id);
  if (runs == nullptr) return nullptr;
  const Value* const first = (*runs)[0].value.get();
  const Value* const second = (*runs)[1].value.get();
  if (first == nullptr || second == nullptr) return nullptr;
  const bool is_same =
      first->shape == second->shape && first->integers == second->integers && first->reals == second->reals;
  return is_same ? (*runs)[0].value : nullptr;
}

bool ShapeProbe::leads_with_batch(VariableId id) const {
  const Runs* const runs = find(id);
  if (runs == nullptr || (*runs)[0].shape.empty() || (*runs)[1].shape.empty()) return false;
  return (*runs)[0].shape[0] == kBatch[0] && (*runs)[1].shape[0] == kBatch[1];
}

}  // namespace latpred::readers
