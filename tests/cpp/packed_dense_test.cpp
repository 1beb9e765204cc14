#include "predictors/packed_dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace latpred {
namespace {

constexpr std::int64_t kFeatures = 7;
constexpr std::int64_t kWidth = 10;
constexpr std::int64_t kRows = 11;  // neither is a whole unit

struct Drawn {
  DenseLayout layout{kFeatures, 3, kWidth};
  AlignedFloats parameters;
  std::vector<float> rows, slopes;

  Drawn() : parameters(static_cast<std::size_t>(layout.padded_size)) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> draw(-0.7f, 0.7f);
    for (const DenseLayout::Layer& layer : layout.hidden) {
      for (std::int64_t i = 0; i < layer.outputs; ++i) {
        for (std::int64_t j = 0; j < layer.inputs; ++j) at(layer.weight + i * layer.padded_inputs + j) = draw(random);
        at(layer.bias + i) = draw(random);
      }
    }
    for (std::int64_t i = 0; i < kWidth; ++i) at(layout.output_weight + i) = draw(random);
    at(layout.output_bias) = draw(random);
    for (std::int64_t i = 0; i < kRows * kFeatures; ++i) rows.push_back(draw(random));
    for (std::int64_t i = 0; i < kRows; ++i) slopes.push_back(draw(random));
  }
  float& at(std::int64_t place) { return parameters[static_cast<std::size_t>(place)]; }

  // The outputs, and the gradient of their sum times the slopes.
  std::pair<std::vector<float>, AlignedFloats> run(const PackedKernels& kernels) {
    PackedDense network(layout, kernels);
    network.set_parameters(parameters);
    PackedDense::Workspace workspace;
    float* to = network.rows(kRows, workspace);
    for (std::int64_t i = 0; i < kRows * kFeatures; ++i) {
      to[i / kFeatures * layout.row_size() + i % kFeatures] = rows[static_cast<std::size_t>(i)];
    }
    std::vector<float> outputs(kRows);
    network.forward(workspace, outputs);
    AlignedFloats gradient(parameters.size(), 9.0f);
    network.backward(workspace, slopes, gradient);
    return {outputs, gradient};
  }

  // The same in plain double numbers.
  std::vector<double> outputs_by_hand() {
    std::vector<double> result;
    for (std::int64_t r = 0; r < kRows; ++r) {
      std::vector<double> values(rows.begin() + r * kFeatures, rows.begin() + (r + 1) * kFeatures);
      for (const DenseLayout::Layer& layer : layout.hidden) {
        std::vector<double> next;
        for (std::int64_t i = 0; i < layer.outputs; ++i) {
          double sum = static_cast<double>(at(layer.bias + i));
          for (std::int64_t j = 0; j < layer.inputs; ++j) {
            sum += static_cast<double>(at(layer.weight + i * layer.padded_inputs + j)) *
                   values[static_cast<std::size_t>(j)];
          }
          next.push_back(std::max(sum, 0.0));
        }
        values = next;
      }
      double sum = static_cast<double>(at(layout.output_bias));
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum += static_cast<double>(at(layout.output_weight + static_cast<std::int64_t>(i))) * values[i];
      }
      result.push_back(sum);
    }
    return result;
  }
  double loss_by_hand() {
    double sum = 0;
    const std::vector<double> outputs = outputs_by_hand();
    for (std::size_t i = 0; i < outputs.size(); ++i) sum += outputs[i] * static_cast<double>(slopes[i]);
    return sum;
  }
};

TEST(PackedDense, OutputsAndGradientsAreThoseOfPlainArithmetic) {
  Drawn drawn;
  for (const PackedKernels* kernels : packed_kernels()) {
    if (!kernels->is_supported()) continue;
    const auto [outputs, gradient] = drawn.run(*kernels);
    const std::vector<double> expected = drawn.outputs_by_hand();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(outputs[i], expected[i], 1e-5) << kernels->name;

    double largest = 0;
    for (std::int64_t place = 0; place < drawn.layout.padded_size; ++place) {
      const auto found = static_cast<double>(gradient[static_cast<std::size_t>(place)]);
      if (drawn.at(place) == 0) {
        EXPECT_EQ(found, 0) << "padding, " << place;
        continue;
      }
      constexpr float kStep = 1e-3f;
      const float before = drawn.at(place);
      drawn.at(place) = before + kStep;
      const double above = drawn.loss_by_hand();
      drawn.at(place) = before - kStep;
      const double below = drawn.loss_by_hand();
      drawn.at(place) = before;
      EXPECT_NEAR(found, (above - below) / (2 * static_cast<double>(kStep)), 2e-2) << place;
      largest = std::max(largest, std::abs(found));
    }
    EXPECT_GT(largest, 0.5);
  }
}

TEST(PackedDense, ParametersAreCountedWithoutPadding) {
  EXPECT_EQ(DenseLayout(kFeatures, 3, kWidth).num_values, (7 + 1) * 10 + 2 * (10 + 1) * 10 + 11);
}

}  // namespace
}  // namespace latpred
