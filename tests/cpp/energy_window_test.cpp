#include <gtest/gtest.h>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"

namespace latpred {
namespace {

// Runs of 3 ms at 300 W: 0.9 J and one launch each.
class EnergyWindowTest : public FakeDriverTest {
 protected:
  EnergyWindow measure(const Gpu& gpu, EnergyProtocol protocol = {}) {
    FakeHostClock clock(fake_);
    void* stream = fake_.make_stream(0);
    const auto run = [&] { fake_.enqueue(stream, 3e-3); };
    try {
      const EnergyWindow window = gpu.measure_energy(run, reinterpret_cast<StreamHandle>(stream), protocol, clock);
      fake_.free_stream(stream);
      return window;
    } catch (...) {
      fake_.free_stream(stream);
      throw;
    }
  }
};

TEST_F(EnergyWindowTest, CountsFromTickToTick) {
  const Gpu gpu(0, libraries_);
  const EnergyWindow window = measure(gpu);
  EXPECT_EQ(window.source, "energy counter");
  EXPECT_EQ(window.note, "");
  EXPECT_GE(window.window_s, 2);
  EXPECT_LT(window.window_s, 2.2);
  // Ends on ticks: right to one run in a window of seven hundred.
  EXPECT_NEAR(window.energy_per_run_j, 0.9, 0.9 * 0.004);
  EXPECT_NEAR(window.mean_power_w, 300, 300 * 0.002);
  EXPECT_NEAR(window.energy_j, window.energy_per_run_j * static_cast<double>(window.runs), 1e-9);
  EXPECT_EQ(window.start_celsius, 41);
  EXPECT_EQ(window.end_celsius, 41);
}

TEST_F(EnergyWindowTest, ShortWindowsAreRefused) {
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(
      has(message_of<InvalidArgumentError>([&] { (void)measure(gpu, {.min_s = 1.9}); }), "must be >= 2, got 1.9"));
  EXPECT_THROW((void)measure(gpu, {.min_s = std::nan("")}), InvalidArgumentError);
  EXPECT_THROW((void)measure(gpu, {.warm_up_s = -1}), InvalidArgumentError);
}

TEST_F(EnergyWindowTest, PowerIsIntegratedWhereThereIsNoCounter) {
  const Gpu gpu(0, libraries_);
  fake_.fail("nvmlDeviceGetTotalEnergyConsumption", 3, -1);
  const EnergyWindow window = measure(gpu);
  EXPECT_EQ(window.source, "power samples");
  EXPECT_EQ(window.note, "the board has no energy counter");
  EXPECT_NEAR(window.energy_per_run_j, 0.9, 0.9 * 0.004);
  EXPECT_GE(window.window_s, 2);
}

TEST_F(EnergyWindowTest, PowerIsIntegratedWhereTheCounterStands) {
  const Gpu gpu(0, libraries_);
  fake_.energy_tick_s = 0;
  const EnergyWindow window = measure(gpu);
  EXPECT_EQ(window.source, "power samples");
  EXPECT_TRUE(has(window.note, "did not move within 0.5 s"));
}

TEST_F(EnergyWindowTest, CounterThatStopsHalfWayIsNotBelieved) {
  const Gpu gpu(0, libraries_);
  FakeHostClock clock(fake_);
  void* stream = fake_.make_stream(0);
  const double stop_s = fake_.host_s + 1.5;
  const auto run = [&] {
    fake_.enqueue(stream, 3e-3);
    if (fake_.host_s > stop_s) fake_.fail("nvmlDeviceGetTotalEnergyConsumption", 15, -1);
  };
  const EnergyWindow window = gpu.measure_energy(run, reinterpret_cast<StreamHandle>(stream), {}, clock);
  fake_.free_stream(stream);
  EXPECT_EQ(window.source, "power samples");
  EXPECT_TRUE(has(window.note, "stopped or went back"));
}

TEST_F(EnergyWindowTest, NeitherCounterNorPower) {
  const Gpu gpu(0, libraries_);
  fake_.fail("nvmlDeviceGetTotalEnergyConsumption", 3, -1);
  fake_.fail("nvmlDeviceGetPowerUsage", 3, -1);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { (void)measure(gpu); }),
                  "energy cannot be measured: the board has no energy counter, and its power sensor"));
}

TEST_F(EnergyWindowTest, WithoutNvmlItSaysWhatIsMissing) {
  const Gpu gpu(0, {kFakeDriver, kNoLibrary});
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { (void)measure(gpu); }),
                  "energy cannot be measured: NVIDIA's management library (NVML) was not found"));
}

TEST_F(EnergyWindowTest, ThrottlingIsNoted) {
  const Gpu gpu(0, libraries_);
  fake_.clock_reasons = 0x20 | 0x1;
  EXPECT_EQ(measure(gpu).throttle_reasons, (std::vector<std::string>{"software thermal slowdown"}));
}

TEST_F(EnergyWindowTest, ErrorOfTheRunPassesThrough) {
  const Gpu gpu(0, libraries_);
  FakeHostClock clock(fake_);
  EXPECT_THROW((void)gpu.measure_energy([] { throw std::out_of_range("of the run"); }, 0, {}, clock),
               std::out_of_range);
  fake_.fail("cuStreamSynchronize", 700, 1);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { (void)gpu.measure_energy([] {}, 0, {}, clock); }),
                  "an illegal memory access was encountered; a kernel broke the context"));
}

}  // namespace
}  // namespace latpred
