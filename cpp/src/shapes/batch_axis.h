#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "latpred/program.h"

namespace latpred::shapes {

// Where the inputs' batch stands: which dimensions are it.
class BatchAxis {
 public:
  // `inputs`: those of `program` that the caller gives; `stated`: where the batch of some stands, by name, or kNoBatch.
  BatchAxis(const Program& program, const std::vector<Variable>& inputs, std::map<std::string, std::int64_t> stated);

  [[nodiscard]] bool is_static() const { return kind_ == Kind::number; }
  [[nodiscard]] std::int64_t saved() const { return kind_ == Kind::number ? size_ : 1; }
  [[nodiscard]] const std::set<std::string>& symbols() const { return symbols_; }
  // The position of the batch in `variable`, or kNoBatch.
  [[nodiscard]] std::int64_t position(const Variable& variable) const;

 private:
  enum class Kind { none, symbol, unnamed, number };

  // Has sizes, and the caller does not say that none is the batch.
  [[nodiscard]] bool may_hold_batch(const Variable& variable) const;
  [[nodiscard]] std::size_t leading_place(const Variable& variable) const;
  bool find_stated(const std::vector<Variable>& inputs);
  bool find_symbols(const std::vector<Variable>& inputs);

  std::map<std::string, std::int64_t> stated_;
  std::set<std::string> with_steps_first_;
  Kind kind_ = Kind::none;
  std::set<std::string> symbols_;
  std::int64_t size_ = 1;
  std::size_t least_rank_ = 2;  // of what may hold a number for the batch
};

}  // namespace latpred::shapes
