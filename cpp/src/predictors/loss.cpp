#include "predictors/loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "predictors/config_checks.h"

namespace latpred {
namespace {

constexpr std::array<LossRow, 3> kLosses{{
    {"mse", [](double residual, double) { return residual * residual; },
     [](double residual, double) { return 2 * residual; }},
    {"l1", [](double residual, double) { return std::abs(residual); },
     [](double residual, double) { return residual > 0   ? 1.0
                                          : residual < 0 ? -1.0
                                                         : 0.0; }},
    // Over delta, so that it is l1 far out.
    {"huber",
     [](double residual, double delta) {
       const double size = std::abs(residual);
       return size < delta ? size * size / (2 * delta) : size - delta / 2;
     },
     [](double residual, double delta) { return std::clamp(residual / delta, -1.0, 1.0); }},
}};

}  // namespace

const LossRow& loss_row(const std::string& name) { return row_of("loss", name, kLosses); }

std::vector<std::string> loss_names() { return names_of(kLosses); }

}  // namespace latpred
