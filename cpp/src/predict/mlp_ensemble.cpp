#include "mlp_ensemble.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace latpred {
namespace {

double silu(double value) { return value / (1 + std::exp(-value)); }

}  // namespace

MlpEnsemble::MlpEnsemble(const Checkpoint& checkpoint, std::int64_t num_members,
                         const std::vector<std::int64_t>& widths, std::vector<double> bounds)
    : members_(static_cast<std::size_t>(num_members)), bounds_(std::move(bounds)) {
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const auto inputs = static_cast<std::size_t>(widths[l]);
    const auto outputs = static_cast<std::size_t>(widths[l + 1]);
    const std::string place = std::to_string(l);
    const std::vector<double>& weight = checkpoint.array("weight_" + place, {num_members, widths[l + 1], widths[l]});
    const std::vector<double>& bias = checkpoint.array("bias_" + place, {num_members, widths[l + 1]});
    for (std::size_t e = 0; e < members_.size(); ++e) {
      Layer layer{inputs,
                  outputs,
                  std::vector<double>(inputs * outputs),
                  {bias.begin() + static_cast<std::ptrdiff_t>(e * outputs),
                   bias.begin() + static_cast<std::ptrdiff_t>((e + 1) * outputs)}};
      for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t i = 0; i < inputs; ++i) {
          layer.weight[i * outputs + o] = weight[(e * outputs + o) * inputs + i];
        }
      }
      members_[e].push_back(std::move(layer));
    }
  }
  // The first layer takes columns as they are, with the scaling inside its weights: one-hot columns stay 0.
  const std::vector<double>& mean = checkpoint.array("input_mean", {num_members, widths[0]});
  const std::vector<double>& deviation = checkpoint.array_above_zero("input_deviation", {num_members, widths[0]});
  for (std::size_t e = 0; e < members_.size(); ++e) {
    Layer& first = members_[e].front();
    for (std::size_t i = 0; i < first.inputs; ++i) {
      const double scale = deviation[e * first.inputs + i];
      for (std::size_t o = 0; o < first.outputs; ++o) {
        double& weight = first.weight[i * first.outputs + o];
        weight /= scale;
        first.bias[o] -= weight * mean[e * first.inputs + i];
      }
    }
  }
}

void MlpEnsemble::mean_output(const double* columns, double* mean) const {
  std::fill_n(mean, bounds_.size(), 0.0);
  std::vector<double> values, next;
  for (const Member& member : members_) {
    values.assign(columns, columns + member.front().inputs);
    for (std::size_t l = 0; l < member.size(); ++l) {
      const Layer& layer = member[l];
      next = layer.bias;
      for (std::size_t i = 0; i < layer.inputs; ++i) {
        const double value = values[i];
        if (value == 0) continue;
        const double* weight = layer.weight.data() + i * layer.outputs;
        for (std::size_t o = 0; o < layer.outputs; ++o) next[o] += value * weight[o];
      }
      if (l + 1 < member.size()) {
        for (double& value : next) value = silu(value);
      }
      values.swap(next);
    }
    for (std::size_t o = 0; o < bounds_.size(); ++o) {
      mean[o] += bounds_[o] * std::tanh(values[o] / bounds_[o]) / static_cast<double>(members_.size());
    }
  }
}

}  // namespace latpred
