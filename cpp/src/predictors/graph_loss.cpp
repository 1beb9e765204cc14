#include "predictors/graph_loss.h"

#include <ATen/ops/huber_loss.h>
#include <ATen/ops/zeros_like.h>

#include <array>

#include "predictors/config_checks.h"

namespace latpred {
namespace {

constexpr double kSmallestSquare = 1e-12;  // keeps the slope of a root finite where a batch is met exactly

constexpr std::array<GraphLossRow, 4> kGraphLosses{{
    {"mse", [](const at::Tensor& residual, const at::Tensor& count) { return residual.square().sum() / count; }},
    {"rmse", [](const at::Tensor& residual,
                const at::Tensor& count) { return (residual.square().sum() / count + kSmallestSquare).sqrt(); }},
    {"l1", [](const at::Tensor& residual, const at::Tensor& count) { return residual.abs().sum() / count; }},
    {"huber",
     [](const at::Tensor& residual, const at::Tensor& count) {
       return at::huber_loss(residual, at::zeros_like(residual), at::Reduction::Sum) / count;
     }},
}};

}  // namespace

const GraphLossRow& graph_loss_row(const std::string& name) { return row_of("loss", name, kGraphLosses); }

std::vector<std::string> graph_loss_names() { return names_of(kGraphLosses); }

}  // namespace latpred
