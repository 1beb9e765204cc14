#pragma once

#include <memory>
#include <string>

#include "latpred/predictor.h"

namespace latpred {

[[nodiscard]] std::unique_ptr<Predictor> make_analytic(const std::string& checkpoint_path);
[[nodiscard]] std::unique_ptr<Predictor> make_kernel_residual(const std::string& checkpoint_path);
[[nodiscard]] std::unique_ptr<Predictor> make_roofline(const std::string& checkpoint_path);
[[nodiscard]] std::unique_ptr<Predictor> make_linear(const std::string& checkpoint_path);

}  // namespace latpred
