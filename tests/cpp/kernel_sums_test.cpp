#include "predictors/kernel_sums.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace latpred {
namespace {

using Parts = std::array<at::Tensor LearntOfKernels::*, 6>;
constexpr Parts kParts{&LearntOfKernels::outputs, &LearntOfKernels::device, &LearntOfKernels::version,
                       &LearntOfKernels::memory,  &LearntOfKernels::l2,     &LearntOfKernels::launch};

at::Tensor numbers(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

// Two calls of two kernels and one. The second kernel is at its least compute time, the third at its least memory time.
KernelBatch two_calls() {
  KernelBatch batch;
  batch.first_kernel = at::tensor({0, 2, 3}, at::kLong);
  batch.numbers =
      numbers({1,   3e-4, 0.6, 8e6, 8e5,  1e12, 4e6, 0,    0,   0.8, 0.3, 2,    3,   2e-5, 0.1, 2e6, 1e3, 2e12,
               4e6, 1,    0,   1.2, -0.2, 1,    2,   5e-6, 0.9, 5e6, 0,   1e12, 9e6, 0,    2,   1,   0.1, 3})
          .view({3, kNumKernelNumbers});
  batch.indices = at::tensor({0, 1, 0, 2, 1, 1, 0, 2, 0, 0, 0, 2, 1, 1, 1}, at::kInt).view({3, kNumKernelIndices});
  return batch;
}

LearntOfKernels learnt() {
  return {.outputs = numbers({0.2, -0.4, 0.3, -12, -1.2, 0.1, 0.5, -0.6, -11, 0.3}).view({2, kNumOutputs}),
          .device = numbers({0.1, 0.2, -0.1, 0.05, 0.3, -0.2, 0.1, 0.4, 0.15, -0.3}).view({2, 5}),
          .version = numbers({0.07, -0.03, 0.02, 0.2, 0.01, 0.04, -0.05, -0.1}).view({2, 4}),
          .memory = numbers({0, 0.11, 0.09}),
          .l2 = numbers({-0.4, 0.3}),
          .launch = numbers({0, 0.25})};
}

// Weighted so that no part of the result can stand for another.
double weighted(const at::Tensor& sums) {
  return (sums * numbers({1, -3, 0.01, 0.02}).view({2, 2})).sum().item<double>();
}

TEST(KernelSums, GradientsAreThoseOfSmallSteps) {
  constexpr double kStep = 1e-6;
  const KernelBatch batch = two_calls();
  LearntOfKernels values = learnt();
  for (const auto part : kParts) (values.*part).set_requires_grad(true);
  const at::Tensor sums = sum_kernels(batch, values);
  (sums * numbers({1, -3, 0.01, 0.02}).view({2, 2})).sum().backward();
  for (const auto part : kParts) {
    const at::Tensor found = (values.*part).grad().flatten();
    for (std::int64_t i = 0; i < found.numel(); ++i) {
      const auto stepped = [&](double step) {
        LearntOfKernels moved = learnt();
        (moved.*part).view({-1})[i] += step;
        return weighted(sum_kernels(batch, moved));
      };
      EXPECT_NEAR(found[i].item<double>(), (stepped(kStep) - stepped(-kStep)) / (2 * kStep), 1e-8);
    }
  }
}

TEST(KernelSums, LaunchesAreWeightedByWhatTheyTakeTheHost) {
  const at::Tensor launches = sum_kernels(two_calls(), learnt()).select(0, 1);
  EXPECT_NEAR(launches[0].item<double>(), 1 * 2 * std::exp(0.25) + 3, 1e-12);
  EXPECT_NEAR(launches[1].item<double>(), 2 * 3 * std::exp(0.25), 1e-12);
}

TEST(KernelSums, FloatIsAsDouble) {
  KernelBatch batch = two_calls();
  batch.numbers = batch.numbers.to(at::kFloat);
  LearntOfKernels values = learnt();
  for (const auto part : kParts) values.*part = (values.*part).to(at::kFloat);
  const at::Tensor exact = sum_kernels(two_calls(), learnt());
  EXPECT_TRUE(sum_kernels(batch, values).to(at::kDouble).allclose(exact, /*rtol=*/1e-5));
}

}  // namespace
}  // namespace latpred
