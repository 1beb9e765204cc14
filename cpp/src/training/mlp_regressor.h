#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch/row_table.h"
#include "training/fit_options.h"

namespace latpred {

class Mlp;

// A trained Mlp behind plain numbers: this header includes no torch, so that its users compile fast.
class MlpRegressor {
 public:
  // `hidden`: widths of the hidden layers, first to last; none makes a linear model.
  explicit MlpRegressor(std::vector<std::int64_t> hidden);
  ~MlpRegressor();
  MlpRegressor(MlpRegressor&&) noexcept;
  MlpRegressor& operator=(MlpRegressor&&) noexcept;

  // Trains from fresh weights; what an earlier call has learnt is forgotten.
  FitReport fit(const RowTable& table, const FitOptions& options);

  [[nodiscard]] std::vector<double> predict(const RowTable& table) const;  // [N]
  [[nodiscard]] const std::vector<std::int64_t>& hidden() const { return hidden_; }
  [[nodiscard]] std::int64_t num_parameters() const;  // 0 before fit

 private:
  std::vector<std::int64_t> hidden_;
  std::unique_ptr<Mlp> mlp_;
};

}  // namespace latpred
