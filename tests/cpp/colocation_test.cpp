#include "latpred/colocation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "latpred/error.h"
#include "latpred/host_reads.h"

namespace latpred {
namespace {

ResourceProfile profile(double busy, double memory, double latency_s = 1e-3) {
  return {.latency_s = latency_s, .busy_share = busy, .sm_share = busy, .memory_share = memory};
}

double term(std::string_view mode, std::string_view name, const std::vector<ResourceProfile>& members) {
  const SharingMode& row = sharing_mode(mode);
  for (std::size_t i = 0; i < row.terms.size(); ++i) {
    if (row.terms[i].name == name) return interference(row, members, 0)[i];
  }
  ADD_FAILURE() << mode << " has no term " << name;
  return std::numeric_limits<double>::quiet_NaN();
}

TEST(Colocation, ProfileIsOfTheKernels) {
  Kernel kernel;
  kernel.kind = CostKind::unary;
  kernel.flops = 2e6;
  kernel.bytes_in = 3e6;
  kernel.bytes_out = 1e6;
  kernel.repeat = 2;
  Kernel dense = kernel;
  dense.weight_bytes = 5e6;
  dense.bytes_in = 1e6;
  dense.repeat = 1;
  Kernels kernels;
  kernels.rows = {kernel, dense};
  const Device core = with_speed(host_device("one core", 1, 1e9, 32e6), 1e9, {{1e9, 1e9, 1e9}}, "");
  const ResourceProfile found = resource_profile(kernels, core, partition(core, ""), 0.1, 0.05);
  EXPECT_DOUBLE_EQ(found.busy_share, 0.5);
  EXPECT_NEAR(found.memory_share, (2 * 4e6 + 7e6) / 1e9 / 0.1, 1e-12);
  EXPECT_GT(found.sm_share, 0);
  EXPECT_LE(found.sm_share, found.busy_share);
  const std::vector<double> times = core_times(kernels, core);
  EXPECT_NEAR(times[0], (2 * 2e6 + 2e6) / 1e9, 1e-15);
  EXPECT_EQ(times[1], 0);
  EXPECT_NEAR(times[2], (2 * 4e6 + 7e6) / 1e9, 1e-15);
  EXPECT_EQ(times[3], 3);
  EXPECT_THROW((void)resource_profile(kernels, core, partition(core, ""), 0, 0), InvalidArgumentError);
  EXPECT_THROW((void)resource_profile(kernels, core, partition(core, ""), 0.1, 0.2), InvalidArgumentError);
}

TEST(Colocation, TurnsAreFair) {
  const auto slow = [](std::vector<ResourceProfile> members) { return 1 + term("time_slicing", "turns", members); };
  EXPECT_DOUBLE_EQ(slow({profile(1, 0)}), 1);
  EXPECT_DOUBLE_EQ(slow({profile(1, 0), profile(1, 0)}), 2);
  EXPECT_DOUBLE_EQ(slow({profile(1, 0), profile(1, 0), profile(1, 0)}), 3);
  // One that waits for its host half of the time leaves half of the device, and loses nothing itself.
  EXPECT_DOUBLE_EQ(slow({profile(1, 0), profile(0.5, 0)}), 2);
  EXPECT_DOUBLE_EQ(slow({profile(0.5, 0), profile(1, 0)}), 1);
  EXPECT_DOUBLE_EQ(slow({profile(1, 0), profile(0.2, 0)}), 1 / 0.8);
  EXPECT_DOUBLE_EQ(slow({profile(0.3, 0), profile(0.3, 0)}), 1);
  EXPECT_NEAR(slow({profile(0.9, 0), profile(0.1, 0), profile(1, 0)}), 0.9 / 0.45, 1e-12);
}

TEST(Colocation, LongerCallsTakeMore) {
  const auto turns = [](std::vector<ResourceProfile> members) { return term("time_slicing", "call_turns", members); };
  const ResourceProfile target = profile(1, 0);
  EXPECT_DOUBLE_EQ(turns({target, target}), 1);
  EXPECT_DOUBLE_EQ(turns({target, target, target}), 2);
  EXPECT_DOUBLE_EQ(turns({target, profile(1, 0, 3e-3)}), 1.5);
  // Waiting for the host keeps no device.
  EXPECT_DOUBLE_EQ(turns({target, profile(0.5, 0, 2e-3)}), 1);
  EXPECT_DOUBLE_EQ(turns({target, profile(0, 0)}), 0);
  EXPECT_DOUBLE_EQ(turns({profile(0, 0), profile(0, 0)}), 0);
}

TEST(Colocation, NoTermIsNegativeAndAloneIsZero) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 200; ++round) {
    std::vector<ResourceProfile> members;
    for (int i = 0; i < 3; ++i) members.push_back(profile(share(random), share(random), share(random)));
    for (const SharingMode& mode : sharing_modes()) {
      for (const double value : interference(mode, members, 1)) EXPECT_GE(value, 0) << mode.name;
      for (const double value : interference(mode, {members[0]}, 0)) EXPECT_EQ(value, 0) << mode.name;
    }
  }
}

TEST(Colocation, FitFindsWhatMadeTheData) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> value(0, 1);
  std::vector<std::vector<double>> terms;
  std::vector<double> slow_downs;
  for (int i = 0; i < 100; ++i) {
    terms.push_back({value(random), value(random), value(random)});
    slow_downs.push_back(slow_down({0.5, 0, 0.2}, terms.back()));
  }
  for (int i = 0; i < 10; ++i) slow_downs[static_cast<std::size_t>(i)] += 5;  // disturbed
  const std::vector<double> found = fit_interference(terms, slow_downs);
  EXPECT_NEAR(found[0], 0.5, 1e-2);
  EXPECT_NEAR(found[1], 0, 1e-2);
  EXPECT_NEAR(found[2], 0.2, 1e-2);
}

TEST(Colocation, FitIsNeverNegative) {
  const std::vector<double> found = fit_interference({{1, 0}, {1, 1}, {1, 2}}, {1.3, 1.2, 1.1});
  EXPECT_GE(found[0], 0);
  EXPECT_EQ(found[1], 0);
}

TEST(Colocation, RefusesWhatDoesNotMatch) {
  EXPECT_THROW((void)sharing_mode("mpss"), InvalidArgumentError);
  EXPECT_THROW((void)slow_down({1}, {1, 2}), InvalidArgumentError);
  EXPECT_THROW((void)fit_interference({}, {}), InvalidArgumentError);
  EXPECT_THROW((void)fit_interference({{1}, {1, 2}}, {1, 1}), InvalidArgumentError);
  EXPECT_THROW((void)fit_interference({{1}}, {std::numeric_limits<double>::quiet_NaN()}), InvalidArgumentError);
  EXPECT_THROW((void)interference(sharing_mode("mig"), {}, 0), InvalidArgumentError);
}

}  // namespace
}  // namespace latpred
