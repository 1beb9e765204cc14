#include "latpred/energy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "energy/network_power.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "matmul_kernel.h"

namespace latpred {
namespace {

struct Call {
  Kernels kernels;
  std::vector<double> kernel_s;
  double latency_s = 0;
};

Kernel product(double m, double n, double k) { return testing::matmul_kernel(m, n, k, Arithmetic::bf16, 2); }

Call one(const Kernel& kernel, double seconds) {
  Call call;
  call.kernels.rows.push_back(kernel);
  call.kernel_s = {seconds};
  call.latency_s = seconds;
  return call;
}

std::optional<EnergyEstimate> estimate(const Call& call, std::string_view device_name, std::string_view part = "") {
  const Device& row = device(device_name);
  const Partition slice = partition(row, part);
  const Features features = featurize(call.kernels, row, slice, false);
  return estimate_energy(call.kernels, features, call.kernel_s, call.latency_s, row, slice);
}

Call random_call(std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(0, 12);
  const auto size = [&] { return std::floor(std::exp2(exponent(random))); };
  Call call;
  for (int i = 0; i < 8; ++i) {
    Kernel kernel = product(size(), size(), size());
    kernel.kind = static_cast<CostKind>(std::uniform_int_distribution<int>(1, kNumCostKinds - 1)(random));
    kernel.repeat = std::uniform_int_distribution<int>(1, 4)(random);
    call.kernels.rows.push_back(kernel);
    call.kernel_s.push_back(std::exp2(-exponent(random)) * 1e-2);
  }
  call.latency_s = std::accumulate(call.kernel_s.begin(), call.kernel_s.end(), 0.0) * (1 + exponent(random));
  return call;
}

// Readings of an H200 in aiconfigurator's tables (vLLM 0.22.0).
TEST(Energy, IsNearMeasuredPowerOfProductsOnH200) {
  const auto large = estimate(one(product(32768, 65536, 8192), 51.707e-3), "H200");
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->mean_power_w, 692, 20);
  EXPECT_DOUBLE_EQ(large->energy_j, large->mean_power_w * 51.707e-3);
  const auto memory_bound = estimate(one(product(5, 8192, 16384), 65.187e-6), "H200");
  EXPECT_NEAR(memory_bound->mean_power_w, 618, 0.16 * 618);  // the model's mean error on rows that it has not seen
}

TEST(Energy, SaysWhereItsPowerComesFrom) {
  const Call fitted = one(product(4096, 4096, 4096), 5e-4);
  EXPECT_EQ(estimate(fitted, "H200")->provenance, "fitted");
  EXPECT_EQ(estimate(fitted, "H200", "1g.18gb")->provenance, "modelled");
  EXPECT_EQ(estimate(fitted, "H100")->provenance, "modelled");
  Kernel other = product(4096, 4096, 4096);
  other.kind = CostKind::conv;
  EXPECT_EQ(estimate(one(other, 5e-4), "H200")->provenance, "extrapolated");
}

TEST(Energy, IsKnownNoBetterThanPowerOrTime) {
  EnergyEstimate energy;
  energy.provenance = "fitted";
  EXPECT_EQ(energy_provenance(energy, "measured"), "fitted");
  EXPECT_EQ(energy_provenance(energy, "interpolated"), "interpolated");
  EXPECT_EQ(energy_provenance(energy, "modelled"), "modelled");
  energy.provenance = "extrapolated";
  EXPECT_EQ(energy_provenance(energy, "fitted"), "extrapolated");
  EXPECT_EQ(energy_provenance(energy, "modelled"), "modelled");
  energy.provenance = "modelled";
  EXPECT_EQ(energy_provenance(energy, "fitted"), "modelled");
}

TEST(Energy, IntervalWidensOnOtherBoardsAndNarrowsWithTheTimeInKernelsThatNetworksTell) {
  Call call = one(product(4096, 4096, 4096), 3e-4);
  const double fitted = estimate(call, "H200")->power_log_half_width;
  EXPECT_DOUBLE_EQ(estimate(call, "H100")->power_log_half_width, std::hypot(fitted, 1.2816 * 0.19));
  Kernel other = product(4096, 4096, 4096);
  other.kind = CostKind::conv;
  call.kernels.rows.push_back(other);
  call.kernel_s.push_back(1e-4);
  EXPECT_DOUBLE_EQ(estimate(call, "H200")->power_log_half_width,
                   std::hypot(0.75 * fitted, 1.2816 * 2 * kNetworkPowerLogSd * 0.25));
}

TEST(Energy, WhatMovesBytesDrawsMoreThanAProductThatMovesAsMany) {
  Kernel kernel = product(4096, 4096, 4096);
  kernel.flops = 0;
  kernel.bytes_in = kernel.bytes_out = 4.8e8;
  kernel.arithmetic = Arithmetic::fp16;
  const double product_w = estimate(one(kernel, 2.2e-4), "H200")->mean_power_w;
  kernel.kind = CostKind::binary;
  EXPECT_GT(estimate(one(kernel, 2.2e-4), "H200")->mean_power_w, 1.2 * product_w);
}

TEST(Energy, AttentionDrawsLessThanAProductOfTheSameWork) {
  Kernel kernel = product(4096, 4096, 4096);
  const double product_w = estimate(one(kernel, 5e-4), "H200")->mean_power_w;
  kernel.kind = CostKind::attention;
  EXPECT_LT(estimate(one(kernel, 5e-4), "H200")->mean_power_w, product_w);
}

TEST(Energy, WaitingForTheHostCostsLittleMoreThanIdle) {
  Call call = one(product(64, 64, 64), 3e-6);
  call.latency_s = 1e-3;
  const auto waiting = estimate(call, "A100");
  EXPECT_GT(waiting->mean_power_w, device("A100").idle_power_w.value);
  EXPECT_LT(waiting->mean_power_w, 0.25 * *device("A100").power_limit_w);
}

TEST(Energy, WorkingSetInL2DrawsNoMemoryPower) {
  Kernel copy;
  copy.kind = CostKind::copy;
  copy.bytes_in = copy.bytes_out = 15e6;
  Kernel large = copy;
  large.bytes_in = large.bytes_out = 15e8;
  const auto in_l2 = estimate(one(copy, 3e7 / 1400e9), "A100");
  const auto in_memory = estimate(one(large, 3e9 / 1400e9), "A100");
  EXPECT_LT(in_l2->mean_power_w, 0.7 * in_memory->mean_power_w);
}

TEST(Energy, MoreWorkInTheSameTimeDrawsMore) {
  EXPECT_LT(estimate(one(product(1024, 1024, 1024), 1e-3), "A100")->energy_j,
            estimate(one(product(4096, 1024, 1024), 1e-3), "A100")->energy_j);
}

TEST(EnergyProperty, StaysBetweenIdleAndLimitOnEveryDevice) {
  std::mt19937 random(17);
  int num_estimates = 0;
  for (const Device& row : devices()) {
    for (int trial = 0; trial < 20; ++trial) {
      const Call call = random_call(random);
      const auto found = estimate(call, row.name);
      if (!row.power_limit_w || !row.is_gpu) {
        EXPECT_FALSE(found) << row.name;
        continue;
      }
      ASSERT_TRUE(found) << row.name;
      ++num_estimates;
      EXPECT_GE(found->energy_j, row.idle_power_w.value * call.latency_s * (1 - 1e-12)) << row.name;
      EXPECT_LE(found->energy_j, *row.power_limit_w * call.latency_s * (1 + 1e-12)) << row.name;
      EXPECT_GE(found->energy_j, found->lower_j);
      EXPECT_LE(found->energy_j, found->upper_j);
    }
  }
  EXPECT_GT(num_estimates, 500);
}

TEST(EnergyProperty, AMoreDetailedBoundHoldsOnPartitions) {
  std::mt19937 random(19);
  const Device& a100 = device("A100");
  for (const char* name : {"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb", "50%", "8sm"}) {
    const Partition slice = partition(a100, name);
    for (int trial = 0; trial < 20; ++trial) {
      const Call call = random_call(random);
      const auto found = estimate(call, "A100", name);
      EXPECT_NEAR(found->lower_j, a100.idle_power_w.value * slice.sm_share * call.latency_s, 1e-12);
      EXPECT_GE(found->energy_j, found->lower_j) << name;
      EXPECT_LE(found->energy_j, found->upper_j) << name;
      EXPECT_LE(found->upper_j, *a100.power_limit_w * call.latency_s * (1 + 1e-12)) << name;
    }
  }
}

TEST(Energy, SevenSlicesTogetherDrawNoMoreThanTheBoard) {
  std::mt19937 random(23);
  for (int trial = 0; trial < 50; ++trial) {
    const Call call = random_call(random);
    EXPECT_LE(7 * estimate(call, "A100", "1g.5gb")->upper_j, *device("A100").power_limit_w * call.latency_s);
  }
}

TEST(Energy, RepeatsCountAsManyExecutions) {
  Call repeated = one(product(2048, 2048, 2048), 4e-4);
  repeated.kernels.rows[0].repeat = 4;
  Call single = one(product(2048, 2048, 2048), 1e-4);
  EXPECT_NEAR(estimate(repeated, "A100")->energy_j, 4 * estimate(single, "A100")->energy_j, 1e-9);
}

TEST(Energy, RefusesTimesThatDoNotMatch) {
  Call call = one(product(8, 8, 8), 1e-5);
  call.kernel_s.push_back(1e-5);
  EXPECT_THROW((void)estimate(call, "A100"), InvalidArgumentError);
}

}  // namespace
}  // namespace latpred
