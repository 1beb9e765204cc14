#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "latpred/program.h"
#include "shapes/rule.h"

namespace latpred::readers {

// Sizes of what a reader has made so far, for formats that store layers and leave the sizes of their weights to follow.
// The shape rules run on every statement twice, with two numbers for whatever is open; a size that differs between both
// is open.
class ShapeProbe {
 public:
  static constexpr std::size_t kRuns = 2;

  // An input or a weight, as the program has it.
  void add(VariableId id, const Variable& variable);
  // What `statement` makes. Where its rule refuses the stand-in numbers, its results stay unknown.
  void run(const Statement& statement);
  // Takes `shape` (kUnknownSize where open) for a result that no rule could tell.
  void assume(VariableId id, DType dtype, const Shape& shape);

  // With kUnknownSize for what is open; nothing where not even the rank is known.
  [[nodiscard]] std::optional<Shape> shape(VariableId id) const;
  [[nodiscard]] DType dtype(VariableId id) const;
  // The content, where it is known and no open size has a part in it; nullptr otherwise.
  [[nodiscard]] std::shared_ptr<const Value> value(VariableId id) const;
  // Whether the leading size is the batch, as far as the stand-ins tell.
  [[nodiscard]] bool leads_with_batch(VariableId id) const;

 private:
  using Runs = std::array<shapes::Known, kRuns>;

  Runs& at(VariableId id);
  [[nodiscard]] const Runs* find(VariableId id) const;

  std::vector<Runs> known_;
};

}  // namespace latpred::readers
