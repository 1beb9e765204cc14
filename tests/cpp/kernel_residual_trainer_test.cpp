#include "training/kernel_residual_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "latpred/error.h"
#include "latpred/kernel_terms.h"
#include "message_of.h"

namespace latpred {
using testing::message_of;

namespace {

constexpr std::int64_t kNumColumns = 2;
constexpr std::int64_t kNumKinds = 3;
constexpr auto kNumOutputs = static_cast<std::int64_t>(kOutputBounds.size());
constexpr double kNoCycles = -20;  // the logit: memory time is the bandwidth's alone

// Calls and their kernels as vectors, which KernelRows looks at.
struct Calls {
  std::vector<double> inputs;
  std::vector<std::int64_t> input_kind, first_kernel{0}, input;
  std::vector<double> count, compute_s, wave_factor, activation_bytes, weight_bytes, bandwidth, l2_bytes;
  std::vector<double> least_compute_s, least_memory_s, gap_scale, cycles_per_byte;
  std::vector<std::int64_t> units, library, memory_kind, host_kind;
  std::vector<double> host_weight, host_columns, view_weight, host_s, copy_s;
  std::int64_t view_kind = 0;
  std::vector<std::int64_t> shows_host, device, chip, version, launch, host;
  std::vector<double> latency_s, weight;
  std::vector<double> version_sd{0.03}, version_gap_sd{0.3}, host_kind_sd{1, 1}, host_column_sd{0.1};

  void add_input(double first, double second, std::int64_t kind) {
    inputs.insert(inputs.end(), {first, second});
    input_kind.push_back(kind);
  }
  void add_kernel(std::int64_t of_input, double compute, double bytes) {
    input.push_back(of_input);
    count.push_back(1);
    compute_s.push_back(compute);
    wave_factor.push_back(1.5);
    activation_bytes.push_back(bytes);
    weight_bytes.push_back(bytes / 10);
    bandwidth.push_back(1e12);
    l2_bytes.push_back(4e6);
    least_compute_s.push_back(0);
    least_memory_s.push_back(0);
    units.push_back(0);
    library.push_back(2);
    gap_scale.push_back(1);
    cycles_per_byte.push_back(1);
    memory_kind.push_back(0);
    host_kind.push_back(0);
    host_weight.push_back(1);
  }
  void end_call(std::int64_t of_device = 0, double host_seconds = 0) {
    first_kernel.push_back(static_cast<std::int64_t>(input.size()));
    host_columns.push_back(0);
    view_weight.push_back(0);
    host_s.push_back(host_seconds);
    shows_host.push_back(1);
    copy_s.push_back(0);
    device.push_back(of_device);
    for (auto* index : {&chip, &version, &launch, &host}) index->push_back(0);
  }

  [[nodiscard]] KernelRows rows() const {
    return {.inputs = inputs,
            .input_kind = input_kind,
            .num_columns = kNumColumns,
            .num_kinds = kNumKinds,
            .first_kernel = first_kernel,
            .input = input,
            .count = count,
            .compute_s = compute_s,
            .wave_factor = wave_factor,
            .activation_bytes = activation_bytes,
            .weight_bytes = weight_bytes,
            .bandwidth_bytes_per_s = bandwidth,
            .l2_bytes = l2_bytes,
            .least_compute_s = least_compute_s,
            .least_memory_s = least_memory_s,
            .units = units,
            .library = library,
            .gap_scale = gap_scale,
            .cycles_per_byte = cycles_per_byte,
            .memory_kind = memory_kind,
            .host_kind = host_kind,
            .host_weight = host_weight,
            .num_devices = 2,
            .num_chips = 1,
            .num_versions = static_cast<std::int64_t>(version_sd.size()),
            .num_launches = 1,
            .num_hosts = 1,
            .num_host_kinds = 2,
            .num_host_columns = 1,
            .version_sd = version_sd,
            .version_gap_sd = version_gap_sd,
            .host_kind_sd = host_kind_sd,
            .host_columns = host_columns,
            .host_column_sd = host_column_sd,
            .view_kind = view_kind,
            .view_weight = view_weight,
            .host_s = host_s,
            .copy_s = copy_s,
            .device = device,
            .chip = chip,
            .version = version,
            .launch = launch,
            .host = host,
            .latency_s = latency_s,
            .weight = weight,
            .shows_host = shows_host};
  }
};

// Compute-bound calls of one to three kernels whose time is exp(column) x their compute time.
Calls made_calls(std::int64_t num_calls, unsigned seed, double slowdown_of_second_device = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Calls calls;
  for (std::int64_t call = 0; call < num_calls; ++call) {
    const std::int64_t device = 1 + call % 2;
    double seconds = 0;
    for (std::int64_t kernel = 0; kernel <= call % 3; ++kernel) {
      const double column = uniform(random) * 2 - 0.5;
      const double compute = std::exp(uniform(random) * 4) * 1e-4;
      calls.add_input(column, uniform(random), kernel);
      calls.add_kernel(static_cast<std::int64_t>(calls.input_kind.size()) - 1, compute, 1e4);
      seconds += compute * std::exp(column);
    }
    calls.end_call(device);
    calls.latency_s.push_back(seconds * (device == 2 ? slowdown_of_second_device : 1));
    calls.weight.push_back(1);
  }
  return calls;
}

double mean_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) sum += std::abs(predicted[i] / measured[i] - 1);
  return sum / static_cast<double>(predicted.size());
}

KernelResidualOptions short_fit(std::int64_t epochs = 60) {
  return {.hidden = {16}, .epochs = epochs, .batch_rows = 64, .weight_penalty = 1e-6, .seed = 1};
}

// What one member has learnt, all zero: pure physics.
NamedArrays no_learning() {
  const auto zeros = [](std::vector<std::int64_t> shape, double value = 0) {
    std::int64_t size = 1;
    for (const std::int64_t length : shape) size *= length;
    return NamedArray{std::move(shape), std::vector<double>(static_cast<std::size_t>(size), value)};
  };
  return {{"weight_0", zeros({kNumOutputs, kNumColumns})},
          {"bias_0", zeros({kNumOutputs})},
          {"input_mean", zeros({kNumColumns})},
          {"input_deviation", zeros({kNumColumns}, 1)},
          {"base", {{kNumOutputs}, {0, 0, 0, 0, kNoCycles}}},
          {"kind_bias", zeros({kNumKinds, kNumOutputs})},
          {"chip_effects", zeros({1, 5})},
          {"device_effects", zeros({2, 5})},
          {"version_effects", zeros({1, 4})},
          {"launch_effects", zeros({1})},
          {"host_effects", zeros({1})},
          {"memory_effects", zeros({4})},
          {"host_kind_effects", zeros({2})},
          {"host_column_effects", zeros({1})},
          {"l2", zeros({2})}};
}

double pnorm3(double first, double second) { return std::cbrt(first * first * first + second * second * second); }

TEST(KernelResidualTrainer, LearnsTheEfficienciesThatMadeTheTimes) {
  const Calls calls = made_calls(400, 1);
  std::vector<double> losses;
  const KernelResidualFit fitted = fit_kernel_residual(calls.rows(), short_fit(), [&](std::int64_t epoch, double loss) {
    EXPECT_EQ(epoch, static_cast<std::int64_t>(losses.size()) + 1);
    losses.push_back(loss);
  });
  EXPECT_EQ(losses, fitted.losses);
  ASSERT_EQ(losses.size(), 60U);
  EXPECT_LT(losses.back(), losses.front() / 10);
  const Calls unseen = made_calls(100, 2);
  EXPECT_LT(mean_error(predict_kernel_residual({fitted.arrays}, unseen.rows()).latency_s, unseen.latency_s), 0.05);
  EXPECT_GT(mean_error(predict_kernel_residual({no_learning()}, unseen.rows()).latency_s, unseen.latency_s), 0.2);
}

TEST(KernelResidualTrainer, GivesADeviceItsOwnEffect) {
  Calls calls = made_calls(400, 1, 1.3);
  const KernelResidualFit fitted = fit_kernel_residual(calls.rows(), short_fit());
  const std::vector<double>& effects = fitted.arrays.at("device_effects").values;  // [2, 5]
  EXPECT_NEAR(effects[5] - effects[0], std::log(1.3), 0.05);
  for (std::int64_t& device : calls.device) device = 0;  // none: between both
  const double error = mean_error(predict_kernel_residual({fitted.arrays}, calls.rows()).latency_s, calls.latency_s);
  EXPECT_GT(error, 0.08);
  EXPECT_LT(error, 0.2);
}

TEST(KernelResidualTrainer, AVersionDiffersAsFarAsItsPriorLetsIt) {
  Calls calls = made_calls(400, 1, 1.3);
  std::ranges::fill(calls.library, 0);
  calls.version = std::exchange(calls.device, std::vector<std::int64_t>(calls.device.size()));
  const auto difference_with = [&](double first_sd, double second_sd) {
    calls.version_sd = calls.version_gap_sd = {first_sd, second_sd};
    const auto effects = fit_kernel_residual(calls.rows(), short_fit()).arrays.at("version_effects").values;  // [2, 4]
    return effects[4] - effects[0];
  };
  EXPECT_NEAR(difference_with(0.2, 0.2), std::log(1.3), 0.05);
  EXPECT_NEAR(difference_with(0.001, 0.2), std::log(1.3), 0.05);  // the second's alone
  EXPECT_NEAR(difference_with(0.001, 0.001), 0, 0.05);
}

TEST(KernelResidualTrainer, SameSeedSameNumbersOtherSeedOthers) {
  const Calls calls = made_calls(100, 1);
  const auto first_weights = [&](std::uint64_t seed) {
    KernelResidualOptions options = short_fit(3);
    options.seed = seed;
    return fit_kernel_residual(calls.rows(), options).arrays.at("weight_0").values;
  };
  EXPECT_EQ(first_weights(3), first_weights(3));
  EXPECT_NE(first_weights(3), first_weights(4));
}

TEST(KernelResidualTrainer, EvaluatesTheForm) {
  Calls calls;
  calls.add_input(0.2, -0.4, 1);
  calls.add_kernel(0, 3e-4, 8e6);
  calls.end_call(2, 5e-4);
  calls.count[0] = 2;
  calls.units[0] = 1;
  calls.library[0] = 0;
  calls.gap_scale[0] = 0.8;
  calls.cycles_per_byte[0] = 1.3;
  calls.memory_kind[0] = 2;
  calls.chip[0] = calls.version[0] = calls.launch[0] = calls.host[0] = 1;
  NamedArrays arrays = no_learning();
  arrays.at("weight_0").values = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0};  // [5, 2]
  arrays.at("base").values = {0.1, 0.2, 0.3, std::log(2e-6), -1};
  arrays.at("kind_bias").values[kNumOutputs] = 0.05;
  arrays.at("chip_effects").values = {9, 0.01, 9, 0.02, 0.03};
  arrays.at("device_effects").values = {9, 9, 9, 9, 9, 9, 0.04, 9, 0.05, 0.06};
  arrays.at("version_effects").values = {0.07, 9, 0.08, 0.1};
  arrays.at("launch_effects").values = {0.3};
  arrays.at("host_effects").values = {0.2};
  arrays.at("memory_effects").values = {9, 0.09, 9, 9};
  arrays.at("l2").values = {std::log(0.5), 0};
  const double learnt_compute = kOutputBounds[0] * std::tanh(0.2 / kOutputBounds[0]);
  const double learnt_memory = kOutputBounds[1] * std::tanh(-0.4 / kOutputBounds[1]);
  const double compute =
      3e-4 * std::exp(0.1 + 0.05 + learnt_compute + 0.01 + 0.04 + 0.07) * std::pow(1.5, 1 / (1 + std::exp(-0.3)));
  const double traffic = 8e5 + 8e6 * (0.5 + 0.5 * 16 / 17);  // four times what half the L2 holds
  const double memory = traffic / 1e12 * std::exp(0.2 + learnt_memory + 0.02 + 0.05 + 0.08 + 0.09) /
                        std::pow(1.3, 1 / (1 + std::exp(1.0)));
  const double kernel = pnorm3(compute, memory) + 2e-6 * 0.8 * std::exp(0.03 + 0.06 + 0.1);
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).latency_s.at(0), pnorm3(2 * kernel, 5e-4 * std::exp(0.5)),
              1e-12);

  calls.copy_s[0] = 3e-3;
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).latency_s.at(0),
              pnorm3(2 * kernel, 5e-4 * std::exp(0.5)) + 3e-3, 1e-12);
  calls.copy_s[0] = 0;

  calls.least_compute_s[0] = 1;
  calls.least_memory_s[0] = 2;
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).latency_s.at(0), 2 * pnorm3(1, 2), 1e-4);
}

TEST(KernelResidualTrainer, TheHostTakesEachKindItsOwnTime) {
  Calls calls;
  calls.add_input(0, 0, 0);
  calls.add_kernel(0, 1e-9, 0);
  calls.add_kernel(0, 1e-9, 0);
  calls.end_call(0, 1);
  calls.count[0] = 3;
  calls.host_kind[0] = 2;
  NamedArrays arrays = no_learning();
  arrays.at("base").values[3] = -20;
  arrays.at("host_kind_effects").values = {9, std::log(5)};
  const PredictedSeconds predicted = predict_kernel_residual({arrays}, calls.rows());
  EXPECT_NEAR(predicted.host_s.at(0), (3 * 5 + 1) / 4.0, 1e-12);
  EXPECT_NEAR(predicted.latency_s.at(0), predicted.host_s.at(0), 1e-6);

  calls.host_weight = {1, 7};
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).host_s.at(0), (3 * 5 + 7) / 4.0, 1e-12);
}

TEST(KernelResidualTrainer, ViewsTakeTheHostTimeAndLaunchNothing) {
  Calls calls;
  calls.add_input(0, 0, 0);
  calls.add_kernel(0, 1e-9, 0);
  calls.end_call(0, 1);
  NamedArrays arrays = no_learning();
  arrays.at("base").values[3] = -20;
  arrays.at("host_kind_effects").values = {9, std::log(5)};
  calls.view_kind = 2;
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).host_s.at(0), 1, 1e-12);
  calls.view_weight = {0.5};
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).host_s.at(0), 1 + 0.5 * 5, 1e-12);
}

TEST(KernelResidualTrainer, AHostIsQuickerByEachYear) {
  Calls calls;
  calls.add_input(0, 0, 0);
  calls.add_kernel(0, 1e-9, 0);
  calls.end_call(0, 1);
  NamedArrays arrays = no_learning();
  arrays.at("host_column_effects").values = {-0.1};
  calls.host_columns[0] = -3;
  EXPECT_NEAR(predict_kernel_residual({arrays}, calls.rows()).host_s.at(0), std::exp(0.3), 1e-12);
}

TEST(KernelResidualTrainer, LearnsTheHostFromCallsThatShowIt) {
  Calls calls = made_calls(200, 1);
  for (std::size_t call = 0; call < calls.host_s.size(); ++call) {
    calls.host_s[call] = calls.latency_s[call];
    calls.host_columns[call] = 1;
    calls.latency_s[call] *= 3;
  }
  const auto host_effect = [&] {
    return fit_kernel_residual(calls.rows(), short_fit()).arrays.at("host_column_effects").values.at(0);
  };
  EXPECT_GT(host_effect(), 0.1);
  calls.shows_host.assign(calls.shows_host.size(), 0);
  EXPECT_EQ(host_effect(), 0);
}

TEST(KernelResidualTrainer, AnEnsembleAveragesWhatItsMembersLearnt) {
  Calls calls;
  calls.add_input(0, 0, 0);
  calls.add_kernel(0, 3e-4, 0);
  calls.end_call();
  NamedArrays slow = no_learning();
  slow.at("base").values = {std::log(4.0), 0, 0, -20, kNoCycles};
  NamedArrays quick = slow;
  quick.at("base").values[0] = 0;
  const auto seconds = [&](const std::vector<NamedArrays>& members) {
    return predict_kernel_residual(members, calls.rows()).latency_s.at(0);
  };
  EXPECT_NEAR(seconds({slow, quick}), std::sqrt(seconds({slow}) * seconds({quick})), 1e-8);
}

TEST(KernelResidualTrainer, RefusesWhatItCannotUse) {
  Calls calls = made_calls(10, 1);
  const auto message = [&](const KernelResidualOptions& options) {
    return message_of<InvalidArgumentError>([&] { (void)fit_kernel_residual(calls.rows(), options); });
  };
  KernelResidualOptions options = short_fit();
  options.learning_rate = 0;
  EXPECT_EQ(message(options), "learning_rate must be a number > 0, got 0");
  calls.input[3] = 99;
  EXPECT_EQ(message(short_fit()), "input must be from 0 to 18, got 99 at 3");
  calls.input[3] = 3;
  calls.latency_s[2] = 0;
  EXPECT_EQ(message(short_fit()), "latency_s must be finite and > 0, got 0 at 2");
  calls.latency_s.clear();
  calls.weight.clear();
  EXPECT_EQ(message(short_fit()), "a fit needs the latency of each call, got none");
  NamedArrays arrays = no_learning();
  arrays.at("base").shape = {2, 2};
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)predict_kernel_residual({arrays}, calls.rows()); }),
            "array 'base' has shape [2, 2], these rows need [5]");
}

}  // namespace
}  // namespace latpred
