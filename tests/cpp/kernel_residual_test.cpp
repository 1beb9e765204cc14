#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "latpred/kernel_terms.h"
#include "message_of.h"
#include "predict/predictors.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::convolution_network;
using testing::message_of;
using testing::PreparedNetwork;

constexpr double kGapS = 3e-6;
constexpr auto kNumOutputs = static_cast<std::int64_t>(kOutputBounds.size());

std::string column_names(std::string_view first) {
  std::string text;
  for (const TermColumn& column : term_columns()) {
    text += concat(text.empty() ? "" : ", ", "\"", text.empty() ? first : std::string_view(column.name), "\"");
  }
  return text;
}

// Two members without hidden layers whose MLPs say nothing, unless told otherwise.
struct Numbers {
  std::string first_column = term_columns().front().name;
  double cycles = -20;  // the logit: memory time is the bandwidth's alone
  // [2, 5]
  std::vector<double> base{0.5, 0.25, 0, std::log(kGapS), cycles, 0.5, 0.25, 0, std::log(kGapS), cycles};
  double device_compute = 0;
  double runtime_memory = 0;
  double version_memory = 0;  // of eager by "torch 1.13"
  double version_gap = 0;
  double launch = 0;
  double host_convolutions = 0;
  double memory_kinds = 0;
  double input_deviation = 1;
  double first_weight = 0;  // of column 0 on the inverse compute, second member only
  std::string more;         // further entries of the manifest

  [[nodiscard]] std::string write() const {
    const auto columns = static_cast<std::int64_t>(term_columns().size());
    const auto array = [](std::vector<std::int64_t> shape, double value = 0) {
      std::int64_t size = 1;
      for (const std::int64_t length : shape) size *= length;
      return CheckpointArray{std::move(shape), std::vector<double>(static_cast<std::size_t>(size), value)};
    };
    std::map<std::string, CheckpointArray> arrays{
        {"base", {{2, kNumOutputs}, base}},
        {"kind_bias", array({2, kNumCostKinds, kNumOutputs})},
        {"l2", array({2, 2})},
        {"input_mean", array({2, columns})},
        {"input_deviation", array({2, columns}, input_deviation)},
        {"weight_0", array({2, kNumOutputs, columns})},
        {"bias_0", array({2, kNumOutputs})},
        {"memory_effects", array({2, kNumMemoryKinds}, memory_kinds)},
        {"device_effects", array({2, 1, 5})},
        {"runtime_effects", array({2, 2, 4})},
        {"launch_effects", array({2, 1}, launch)},
        {"host_kind_effects", array({2, kNumCostKinds})},
    };
    for (const std::size_t member : {0U, 1U}) {
      const auto place = member * kNumCostKinds + static_cast<std::size_t>(CostKind::conv);
      arrays.at("host_kind_effects").values[place] = host_convolutions;
    }
    arrays.at("weight_0").values[static_cast<std::size_t>(kNumOutputs * columns)] = first_weight;
    for (const std::size_t place : {0U, 1U, 2U, 5U, 6U, 7U}) arrays.at("device_effects").values[place] = device_compute;
    for (const std::size_t place : {2U, 10U}) arrays.at("runtime_effects").values[place] = runtime_memory;
    for (const std::size_t place : {6U, 14U}) arrays.at("runtime_effects").values[place] = version_memory;
    for (const std::size_t place : {7U, 15U}) arrays.at("runtime_effects").values[place] = version_gap;
    const std::string entries =
        concat(R"(, "members": 2, "hidden": [], "columns": [)", column_names(first_column),
               R"(], "memory_kinds": ["stacked", "graphics", "fast graphics", "old graphics"], )",
               R"("device_effects": ["A100-SXM4-40GB"], "runtime_effects": ["eager|", "eager|torch 1.13"], )",
               R"("launch_effects": ["A100-SXM4-40GB|eager"], )", R"("host_kind_runtimes": ["eager"])", more);
    return testing::write_checkpoint("kernel_residual.safetensors",
                                     testing::manifest_text("kernel_residual", R"("rows": {})", entries), arrays);
  }
  [[nodiscard]] LatencyOutput latency(const PreparedNetwork& network) const {
    return make_kernel_residual(write())->latency(network.input());
  }
};

double pnorm3(double first, double second) { return std::cbrt(first * first * first + second * second * second); }

TEST(KernelResidual, EvaluatesTheForm) {
  const PreparedNetwork network(convolution_network({.channels = 64, .size = 56}), 64, device("RTX 3090"));
  const Kernel& convolution = network.kernels.rows[0];
  const KernelTerms terms = kernel_terms(convolution, network.device, network.part);
  const double compute = terms.compute_s * terms.feeding_factor * std::exp(0.5) * std::sqrt(terms.wave_factor);
  const double fill = terms.activation_bytes / terms.l2_bytes;
  const double traffic = terms.weight_bytes + terms.activation_bytes * (0.5 + 0.5 * fill * fill / (1 + fill * fill));
  const double memory = traffic / terms.bandwidth_bytes_per_s * std::exp(0.25 - 0.1);
  EXPECT_NEAR(Numbers{.memory_kinds = -0.1}.latency(network).kernel_s[0],
              pnorm3(compute, memory) + kGapS * 1.7e9 / *network.device.clock_hz, 1e-12);
}

TEST(KernelResidual, MemoryTimeFallsWithCyclesAndBandwidth) {
  const PreparedNetwork network(convolution_network({.channels = 64, .size = 56}), 64, device("RTX 4090"));
  const auto relu_s = [&](double cycles) { return Numbers{.cycles = cycles}.latency(network).kernel_s[1]; };
  const KernelTerms terms = kernel_terms(network.kernels.rows[1], network.device, network.part);
  const double gap = kGapS * terms.gap_scale;
  EXPECT_GT(terms.cycles_per_byte, 2);
  EXPECT_NEAR((relu_s(-1.4) - gap) / (relu_s(-20) - gap), std::pow(terms.cycles_per_byte, -1 / (1 + std::exp(1.4))),
              1e-4);
}

TEST(KernelResidual, AveragesItsMembersBeforeThePhysics) {
  const PreparedNetwork network(convolution_network({.channels = 256, .size = 56}), 64, device("T4"));
  Numbers numbers;
  const double without = numbers.latency(network).kernel_s[0];
  numbers.first_weight = 0.2;  // n = 256: log2 is 8; half of it from this member
  const double with = numbers.latency(network).kernel_s[0];
  numbers.first_weight = 0;
  const double learnt = kOutputBounds[0] * std::tanh(8 * 0.2 / kOutputBounds[0]) / 2;
  numbers.base[0] += learnt;
  numbers.base[kNumOutputs] += learnt;
  EXPECT_GT(with, without);
  EXPECT_NEAR(with, numbers.latency(network).kernel_s[0], 1e-12);
}

TEST(KernelResidual, WhatIsLearntStaysInsideItsBound) {
  const PreparedNetwork network(convolution_network({.channels = 256, .size = 56}), 64, device("T4"));
  Numbers numbers;
  const double without = numbers.latency(network).kernel_s[0];
  numbers.first_weight = 1e3;
  EXPECT_LT(numbers.latency(network).kernel_s[0], without * std::exp(kOutputBounds[0] / 2) * (1 + 1e-12));
}

TEST(KernelResidual, EffectsAreOfMeasuredDevicesAndRuntimesOnly) {
  constexpr std::size_t kConvolution = 0;
  constexpr std::size_t kRelu = 1;
  const auto ratio = [](const Numbers& numbers, std::string_view device_name, std::string_view runtime_name,
                        std::size_t kernel) {
    const PreparedNetwork network(convolution_network({.channels = 512, .size = 28}), 256, device(device_name), "",
                                  runtime_name);
    return numbers.latency(network).kernel_s[kernel] / Numbers{}.latency(network).kernel_s[kernel];
  };
  Numbers slow_device;
  slow_device.device_compute = 0.4;
  EXPECT_GT(ratio(slow_device, "A100", "eager", kConvolution), 1.2);
  EXPECT_DOUBLE_EQ(ratio(slow_device, "H100", "eager", kConvolution), 1);
  Numbers slow_memory;
  slow_memory.runtime_memory = 0.4;
  EXPECT_NEAR(ratio(slow_memory, "A100", "eager", kRelu), std::exp(0.4), 0.01);
  EXPECT_DOUBLE_EQ(ratio(slow_memory, "A100", "tensorrt", kConvolution), 1);
}

TEST(KernelResidual, WithoutAVersionADeviceHasItsOwnDefault) {
  Numbers numbers;
  numbers.version_memory = 0.4;
  const auto relu_s = [&](std::string_view device_name) {
    const PreparedNetwork network(convolution_network({.channels = 512, .size = 28}), 256, device(device_name));
    return numbers.latency(network).kernel_s[1];
  };
  const double usual = relu_s("A100");
  numbers.more = R"(, "default_versions": {"A100-SXM4-40GB": {"eager": "torch 1.13"}})";
  EXPECT_NEAR(relu_s("A100") / usual, std::exp(0.4), 0.01);
  const double elsewhere = relu_s("H100");
  numbers.more = "";
  EXPECT_DOUBLE_EQ(relu_s("H100"), elsewhere);
}

TEST(KernelResidual, AVersionThatIsSaidHasItsOwnEffect) {
  const PreparedNetwork network(convolution_network({.channels = 512, .size = 28}), 256, device("A100"));
  const auto relu_s = [&](const Numbers& numbers, std::string_view version) {
    LatencyInput asked = network.input();
    asked.version = version;
    return make_kernel_residual(numbers.write())->latency(asked).kernel_s[1];
  };
  const Numbers numbers{.runtime_memory = 0.1, .version_memory = 0.4};
  EXPECT_NEAR(relu_s(numbers, "torch 1.13") / relu_s({}, ""), std::exp(0.4), 0.01);
  EXPECT_NEAR(relu_s(numbers, "") / relu_s({}, ""), std::exp(0.1), 0.01);
  const double gap_s = kGapS * kernel_terms(network.kernels.rows[1], network.device, network.part).gap_scale;
  const Numbers waiting{.version_gap = std::log(3)};
  EXPECT_NEAR(relu_s(waiting, "torch 1.13") - relu_s({}, ""), 2 * gap_s, 1e-12);
  EXPECT_DOUBLE_EQ(relu_s(waiting, ""), relu_s({}, ""));
}

TEST(KernelResidual, LaunchesTakeTheirTimeOfDeviceAndRuntime) {
  const auto factor = [](std::string_view device_name, std::string_view runtime_name) {
    const PreparedNetwork network(convolution_network({.channels = 8, .size = 8}), 1, device(device_name), "",
                                  runtime_name);
    return Numbers{.launch = 0.5}.latency(network).host_s / Numbers{}.latency(network).host_s;
  };
  EXPECT_NEAR(factor("A100", "eager"), std::exp(0.5), 1e-12);
  EXPECT_DOUBLE_EQ(factor("A100", "tensorrt"), 1);
  EXPECT_DOUBLE_EQ(factor("H100", "eager"), 1);
}

TEST(KernelResidual, CpusTakeLongerByTheirFactors) {
  const Numbers told{.more =
                         R"(, "cpu": {"kernels": {"value": 2}, "launches": {"value": 5}, "half_width": {"value": 1}})"};
  const auto on = [](const Numbers& numbers, std::string_view device_name) {
    return numbers.latency(PreparedNetwork(convolution_network({.channels = 8, .size = 8}), 1, device(device_name)));
  };
  const LatencyOutput without = on({}, "Xeon Gold 6240");
  const LatencyOutput with = on(told, "Xeon Gold 6240");
  EXPECT_DOUBLE_EQ(with.kernel_s[0], 2 * without.kernel_s[0]);
  EXPECT_NEAR(with.host_s, 5 * without.host_s, 1e-15);
  EXPECT_DOUBLE_EQ(on(told, "A100").latency_s, on({}, "A100").latency_s);
  const Numbers wrong{
      .more = R"(, "cpu": {"kernels": {"value": 0}, "launches": {"value": 5}, "half_width": {"value": 1}})"};
  EXPECT_NE(message_of<CheckpointError>([&] { on(wrong, "A100"); }).find("cpu kernels must be positive, is 0"),
            std::string::npos);
}

TEST(KernelResidual, OperatorsTakeTheHostTheirOwnTime) {
  const auto factor = [](std::string_view runtime_name) {
    const PreparedNetwork network(convolution_network({.channels = 8, .size = 8}), 1, device("A100"), "", runtime_name);
    const double changed = Numbers{.host_convolutions = std::log(4)}.latency(network).host_s;
    return changed / Numbers{}.latency(network).host_s;
  };
  EXPECT_NEAR(factor("eager"), (4.0 + 1) / 2, 1e-12);  // a convolution and a ReLU
  EXPECT_DOUBLE_EQ(factor("compiled"), 1);
}

TEST(KernelResidual, ViewsTakeTheHostTimeWhereOperatorsDo) {
  const auto factor = [](std::string_view runtime_name, std::int64_t views) {
    PreparedNetwork network(convolution_network({.channels = 8, .size = 8}), 1, device("A100"), "", runtime_name);
    const double without = Numbers{}.latency(network).host_s;
    network.kernels.num_views = views;
    return Numbers{}.latency(network).host_s / without;
  };
  EXPECT_NEAR(factor("eager", 3), (2.0 + 3) / 2, 1e-12);
  EXPECT_DOUBLE_EQ(factor("compiled", 3), 1);
}

TEST(KernelResidual, RefusesACheckpointOfOtherColumns) {
  Numbers numbers;
  numbers.first_column = "rows";
  const std::string path = numbers.write();
  EXPECT_EQ(
      message_of<CheckpointError>([&] { (void)make_kernel_residual(path); }),
      concat("checkpoint '", path,
             "': entry 0 of columns is 'rows' in the file and 'n' in this build; fit the predictor again with this "
             "version"));
  numbers = {};
  numbers.input_deviation = 0;
  EXPECT_EQ(message_of<CheckpointError>([&] { (void)make_kernel_residual(numbers.write()); }),
            concat("checkpoint '", path, "': array 'input_deviation' must be > 0, holds 0"));
  numbers.input_deviation = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of<CheckpointError>([&] { (void)make_kernel_residual(numbers.write()); }),
            concat("checkpoint '", path, "': array 'input_deviation' must be finite, holds nan"));
}

}  // namespace
}  // namespace latpred
