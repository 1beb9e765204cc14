// What must hold of every predictor that ships, whatever it was fitted on.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "features/physics.h"
#include "latpred/error.h"
#include "latpred/interval.h"
#include "latpred/predictor.h"
#include "latpred/text.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::ConvolutionSizes;
using testing::PreparedNetwork;
using testing::random_network;

constexpr unsigned kNumNetworks = 20;
constexpr std::array<std::string_view, 4> kDevices{"A100", "V100", "T4", "H100"};

class EveryPredictor : public ::testing::TestWithParam<std::string> {
 protected:
  EveryPredictor()
      : predictor_(predictor_row(GetParam()).make(testing::shipped_checkpoint(predictor_row(GetParam())))) {}

  [[nodiscard]] LatencyOutput run(const PreparedNetwork& network) const { return predictor_->latency(network.input()); }
  [[nodiscard]] double latency_s(const Program& program, std::int64_t batch = 8) const {
    return run(PreparedNetwork(program, batch, device("A100"))).latency_s;
  }

  std::unique_ptr<Predictor> predictor_;
};

TEST_P(EveryPredictor, KernelsAndHostWaitAddUp) {
  for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
    const PreparedNetwork network(random_network(seed), 1 + seed, device("A100"));
    const LatencyOutput output = run(network);
    ASSERT_EQ(output.kernel_s.size(), network.kernels.rows.size());
    for (const double seconds : output.kernel_s) EXPECT_GT(seconds, 0);
    EXPECT_GE(output.host_wait_s, 0);
    const double sum = std::accumulate(output.kernel_s.begin(), output.kernel_s.end(), output.host_wait_s);
    EXPECT_NEAR(sum, output.latency_s, 1e-9 * output.latency_s);
    EXPECT_TRUE(std::isfinite(output.latency_s));
  }
}

TEST_P(EveryPredictor, HardlyFallsWhenTheBatchGrows) {
  for (const std::string_view precision : {"default", "fp32", "amp"}) {
    for (const std::string_view name : kDevices) {
      for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
        const Program program = random_network(seed);
        double before = 0;
        for (const std::int64_t batch : {1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 64, 127, 128, 129, 256}) {
          const double now = run(PreparedNetwork(program, batch, device(name), "", "eager", precision)).latency_s;
          EXPECT_GE(now, 0.98 * before) << "seed " << seed << ", batch " << batch << ", " << name << " " << precision;
          before = now;
        }
      }
    }
  }
}

// No kernel is quicker than the peak and the bandwidth let it; where its activations fit in L2, which moves them three
// times as quickly, than that.
double bound_s(const Kernel& kernel, const KernelPhysics& physics, const Device& on) {
  const double l2_bytes = on.l2_bytes.value();
  const bool winograd = kernel.kind == CostKind::conv && kernel.is_3x3 && kernel.stride == 1;
  const double activations = kernel.bytes_in + kernel.bytes_out;
  const double from_memory = kernel.weight_bytes + std::max(activations - l2_bytes, 0.0);
  const double memory_s = (from_memory + std::min(activations, l2_bytes) / 3) / physics.bandwidth_bytes_per_s;
  // One algorithm of it whatever the size of the image, or the one that saves most of whole tiles.
  const double saving = std::max(winograd ? 2.25 : 1, winograd_saving(kernel, on));
  return std::max(physics.compute_s / saving, memory_s);
}

TEST_P(EveryPredictor, StaysAboveThePhysicalBound) {
  for (const std::string_view runtime_name : {"eager", "compiled", "tensorrt"}) {
    for (const std::string_view name : kDevices) {
      for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
        const PreparedNetwork network(random_network(seed), 32, device(name), "", runtime_name, "fp32");
        const LatencyOutput output = run(network);
        for (std::size_t k = 0; k < output.kernel_s.size(); ++k) {
          const Kernel& kernel = network.kernels.rows[k];
          const KernelPhysics& physics = network.features.physics[k];
          const double bound = bound_s(kernel, physics, network.device);
          EXPECT_GE(output.kernel_s[k] * (1 + 1e-12), 0.9 * bound * static_cast<double>(kernel.repeat))
              << kernel.name << ", seed " << seed << ", " << name << " " << runtime_name;
        }
      }
    }
  }
}

TEST_P(EveryPredictor, IsNeverSlowerOnALargerSlice) {
  for (const std::string_view name : {"A100", "H100"}) {
    const Device& on = device(name);
    ASSERT_FALSE(mig_profiles(on).empty());
    for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
      const Program program = random_network(seed);
      double before = INFINITY;
      for (const Partition& profile : mig_profiles(on)) {
        const double now = run(PreparedNetwork(program, 64, on, profile.name)).latency_s;
        EXPECT_LE(now, before * (1 + 1e-12)) << profile.name << ", seed " << seed;
        before = now;
      }
      EXPECT_LE(run(PreparedNetwork(program, 64, on)).latency_s, before * (1 + 1e-12)) << "seed " << seed;
    }
  }
}

TEST_P(EveryPredictor, IsNeverSlowerWithMoreBandwidthOrPeak) {
  const Device& given = device("A100");
  Device wider = given;
  wider.bandwidth_bytes_per_s *= 1.5;
  wider.bandwidth_bytes_per_s_per_sm.value *= 1.5;
  Device faster = given;
  for (const auto peak : {&Device::fp32_flops_per_s, &Device::tf32_flops_per_s, &Device::fp16_flops_per_s}) {
    faster.*peak = *(given.*peak) * 1.5;
  }
  for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
    const Program program = random_network(seed);
    const double before = run(PreparedNetwork(program, 64, given)).latency_s;
    EXPECT_LT(run(PreparedNetwork(program, 64, wider)).latency_s, before) << "seed " << seed;
    EXPECT_LE(run(PreparedNetwork(program, 64, faster)).latency_s, before) << "seed " << seed;
  }
}

TEST_P(EveryPredictor, SeesGroupsDilationStrideAndWindow) {
  const double small = latency_s(convolution_network({}));
  EXPECT_NE(latency_s(convolution_network({.groups = 4})), small);
  EXPECT_NE(latency_s(convolution_network({.dilation = 2})), small);
  EXPECT_NE(latency_s(convolution_network({.stride = 2})), small);
  EXPECT_NE(latency_s(convolution_network({.window = 5})), small);
  // Fewer FLOPs are quicker where these take the time: of a small convolution the launches do.
  const auto of_large = [&](ConvolutionSizes sizes) {
    sizes.channels = 256;
    sizes.size = 56;
    return latency_s(convolution_network(sizes), 64);
  };
  EXPECT_LT(of_large({.groups = 4}), of_large({}));
  EXPECT_LT(of_large({.dilation = 2}), of_large({}));
  EXPECT_LT(of_large({.stride = 2}), of_large({}));
}

TEST_P(EveryPredictor, TellsNetworksOfDifferentCostApart) {
  std::map<double, std::string> seen;
  for (const std::int64_t channels : {16, 17, 32, 64}) {
    for (const std::int64_t size : {7, 8, 28, 56}) {
      for (const std::int64_t window : {1, 3, 5}) {
        const std::string name = concat(channels, " channels, size ", size, ", window ", window);
        const auto [place, is_new] = seen.emplace(
            latency_s(convolution_network({.channels = channels, .size = size, .window = window}), 1), name);
        EXPECT_TRUE(is_new) << name << " answers as " << place->second;
      }
    }
  }
}

TEST_P(EveryPredictor, SaysWhatItWasMeasuredOn) {
  const Evidence& evidence = predictor_->evidence();
  EXPECT_EQ(evidence.predictor, GetParam());
  EXPECT_FALSE(evidence.devices.empty());
  EXPECT_GT(evidence.rows[static_cast<std::size_t>(CostKind::matmul)][static_cast<std::size_t>(Arithmetic::bf16)], 0);
  EXPECT_GT(evidence.terms.known_device, 0);
  for (const std::string& name : evidence.devices) EXPECT_EQ(device(name).name, name);
}

INSTANTIATE_TEST_SUITE_P(Predictors, EveryPredictor,
                         ::testing::Values("analytic", "kernel_residual", "linear", "roofline"),
                         [](const auto& test) { return test.param; });

TEST(Predictors, AreAllTested) { EXPECT_EQ(predictors().size(), 4U); }

TEST(Predictors, AWrongNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(
      testing::message_of<InvalidArgumentError>([] { (void)predictor_row("analytics"); }),
      "unknown predictor 'analytics'; did you mean 'analytic'? Valid: kernel_residual, analytic, linear, roofline");
}

}  // namespace
}  // namespace latpred
