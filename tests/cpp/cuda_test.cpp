#include "latpred/cuda.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"

namespace latpred {
namespace {

class CudaTest : public FakeDriverTest {};

TEST(CudaWithoutDriver, IsOneSentenceInUnderAMillisecond) {
  std::string reason;
  double seconds = 1;
  for (int i = 0; i < 5; ++i) {  // the best of them: somebody else may take the core away
    const auto start = std::chrono::steady_clock::now();
    reason = cuda_unavailable_reason({kNoLibrary, kNoLibrary});
    seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_TRUE(has(reason, "NVIDIA's CUDA driver was not found"));
  EXPECT_TRUE(has(reason, kNoLibrary));
  EXPECT_TRUE(has(reason, "install the driver"));
  EXPECT_LT(seconds, 1e-3);
  EXPECT_THROW(Gpu(0, {kNoLibrary, kNoLibrary}), ProfilerError);
  EXPECT_THROW((void)gpu_facts({kNoLibrary, kNoLibrary}), ProfilerError);
}

TEST(CudaWithoutDriver, OtherLibraryIsNoDriver) {
  EXPECT_TRUE(has(cuda_unavailable_reason({"libc.so.6", kNoLibrary}), "has no function cuGetErrorName"));
}

TEST_F(CudaTest, IsAvailable) { EXPECT_EQ(cuda_unavailable_reason(libraries_), ""); }

TEST_F(CudaTest, NoDeviceIsAReason) {
  fake_.device_count = 0;
  EXPECT_TRUE(has(cuda_unavailable_reason(libraries_), "CUDA_ERROR_NO_DEVICE (100)"));
  EXPECT_TRUE(has(cuda_unavailable_reason(libraries_), "CUDA_VISIBLE_DEVICES"));
}

TEST_F(CudaTest, ErrorNamesFunctionCodeTextAndAdvice) {
  fake_.fail("cuInit", 803, 1);
  EXPECT_EQ(cuda_unavailable_reason(libraries_),
            "cuInit failed with CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): a text of the driver; the driver's library "
            "and kernel module do not fit: restart the machine after the driver's update");
}

TEST_F(CudaTest, ErrorThatTheDriverDoesNotKnow) {
  fake_.fail("cuInit", 12345, 1);
  EXPECT_TRUE(has(cuda_unavailable_reason(libraries_), "cuInit failed with an unknown error (12345); see this"));
}

TEST_F(CudaTest, FactsOfTheDriverAndOfNvml) {
  const std::vector<GpuFacts> all = gpu_facts(libraries_);
  ASSERT_EQ(all.size(), 1U);
  const GpuFacts& facts = all[0];
  EXPECT_EQ(facts.name, "NVIDIA Fake H200");
  EXPECT_EQ(facts.uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
  EXPECT_EQ(facts.pci_bus_id, "0000:1b:00.0");
  EXPECT_EQ(facts.compute_capability, 90);
  EXPECT_EQ(facts.sms, 132);
  EXPECT_EQ(facts.memory_bytes, 141LL << 30);
  EXPECT_EQ(facts.clock_hz, 1.98e9);
  EXPECT_EQ(facts.memory_clock_hz, 3.201e9);
  EXPECT_EQ(facts.memory_bus_bits, 6144);
  EXPECT_EQ(facts.l2_bytes, 60 << 20);
  EXPECT_EQ(facts.power_limit_w, 700);
  EXPECT_EQ(facts.cuda_version, 13000);
  EXPECT_EQ(facts.driver_version, "580.95.05");
  EXPECT_EQ(facts.fingerprint,
            "NVIDIA Fake H200; sm_90; 132 SMs; 1980 MHz; 3201 MHz memory; 6144 bit; 60 MiB L2; 144384 MiB; 700 W; "
            "driver 580.95.05, CUDA 13.0; GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
}

TEST_F(CudaTest, UnknownFactsStayEmpty) {
  fake_.l2_bytes = 0;
  fake_.fail("nvmlDeviceGetEnforcedPowerLimit", 3, -1);
  const GpuFacts facts = gpu_facts(libraries_).at(0);
  EXPECT_EQ(facts.l2_bytes, std::nullopt);
  EXPECT_EQ(facts.power_limit_w, std::nullopt);
  EXPECT_EQ(facts.fingerprint.find("L2"), std::string::npos);
}

TEST_F(CudaTest, OnlyAttributesThatNobodyNeedsMayBeUnknown) {
  fake_.fail("cuDeviceGetAttribute", 1, -1);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { (void)gpu_facts(libraries_); }),
                  "cuDeviceGetAttribute failed with CUDA_ERROR_INVALID_VALUE (1)"));
}

TEST_F(CudaTest, InstanceHasItsOwnKindOfIdentifier) {
  fake_.name = "NVIDIA Fake H200 MIG 1g.18gb";
  EXPECT_EQ(gpu_facts(libraries_).at(0).uuid.rfind("MIG-", 0), 0U);
}

TEST_F(CudaTest, SeveralGpus) {
  fake_.device_count = 3;
  const std::vector<GpuFacts> all = gpu_facts(libraries_);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].index, 2);
  EXPECT_EQ(all[2].pci_bus_id, "0000:1d:00.0");
  EXPECT_EQ(Gpu(2, libraries_).facts().uuid, all[2].uuid);
}

TEST_F(CudaTest, UnknownIndexNamesTheValid) {
  fake_.device_count = 2;
  for (const int index : {-1, 2}) {
    try {
      const Gpu gpu(index, libraries_);
      FAIL() << "nothing was thrown";
    } catch (const InvalidArgumentError& error) {
      EXPECT_TRUE(has(error.what(), "the driver shows 2"));
      EXPECT_EQ(error.data().valid, (std::vector<std::string>{"0", "1"}));
    }
  }
}

TEST_F(CudaTest, StateOfNvml) {
  const Gpu gpu(0, libraries_);
  fake_.clock_reasons = 0x1 | 0x2;
  GpuState state = gpu.state();
  EXPECT_EQ(state.sm_clock_hz, 1.98e9);
  EXPECT_EQ(state.memory_clock_hz, 3.201e9);
  EXPECT_EQ(state.temperature_celsius, 41);
  EXPECT_EQ(state.power_w, 300);
  EXPECT_EQ(state.clock_reasons, (std::vector<std::string>{"gpu idle", "application clocks"}));
  EXPECT_FALSE(state.is_throttled);
  EXPECT_EQ(state.nvml_missing, "");
  fake_.clock_reasons = 0x4 | 0x40;
  state = gpu.state();
  EXPECT_EQ(state.clock_reasons, (std::vector<std::string>{"power cap", "hardware thermal slowdown"}));
  EXPECT_TRUE(state.is_throttled);
}

TEST_F(CudaTest, StateThatNvmlRefusesIsEmpty) {
  const Gpu gpu(0, libraries_);
  for (const char* function : {"nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage",
                               "nvmlDeviceGetCurrentClocksEventReasons"}) {
    fake_.fail(function, 3, -1);
  }
  const GpuState state = gpu.state();
  EXPECT_EQ(state.sm_clock_hz, std::nullopt);
  EXPECT_EQ(state.memory_clock_hz, std::nullopt);
  EXPECT_EQ(state.temperature_celsius, std::nullopt);
  EXPECT_EQ(state.power_w, std::nullopt);
  EXPECT_TRUE(state.clock_reasons.empty());
}

TEST_F(CudaTest, WithoutNvmlTheRestWorks) {
  const Gpu gpu(0, {kFakeDriver, kNoLibrary});
  EXPECT_TRUE(has(gpu.state().nvml_missing, "(NVML) was not found"));
  EXPECT_EQ(gpu.state().power_w, std::nullopt);
  EXPECT_EQ(gpu.facts().driver_version, "");
  EXPECT_TRUE(has(gpu.facts().fingerprint, "driver unknown"));
  const GpuMemory memory = gpu.memory();
  EXPECT_EQ(memory.total_bytes, 141LL << 30);
  EXPECT_EQ(memory.device_used_bytes, std::nullopt);
  EXPECT_EQ(memory.process_bytes, std::nullopt);
  EXPECT_EQ(memory.context_bytes, std::nullopt);
}

TEST_F(CudaTest, NvmlThatDoesNotStartIsAReason) {
  fake_.fail("nvmlInit_v2", 9, 1);
  EXPECT_TRUE(has(Gpu(0, libraries_).state().nvml_missing, "nvmlInit_v2 failed with code 9: a text of NVML"));
  EXPECT_TRUE(has(Gpu(0, {kFakeDriver, "libc.so.6"}).state().nvml_missing, "has no function nvmlInit_v2"));
}

TEST_F(CudaTest, NvmlIsFoundByBusWhereIdentifiersAreHidden) {
  fake_.shows_uuid = 0;
  EXPECT_EQ(gpu_facts(libraries_).at(0).power_limit_w, 700);
  fake_.fail("nvmlDeviceGetHandleByPciBusId_v2", 6, -1);
  EXPECT_TRUE(has(Gpu(0, libraries_).state().nvml_missing, "nvmlDeviceGetHandleByPciBusId_v2 failed"));
}

TEST_F(CudaTest, MemoryHasItsParts) {
  const Gpu gpu(0, libraries_);
  GpuMemory memory = gpu.memory();
  EXPECT_EQ(memory.total_bytes - memory.free_bytes, 500LL << 20);
  EXPECT_EQ(memory.context_bytes, 500LL << 20);
  EXPECT_EQ(memory.device_used_bytes, 500LL << 20);
  EXPECT_EQ(memory.device_reserved_bytes, 600LL << 20);
  EXPECT_EQ(memory.process_bytes, std::nullopt) << "a container hides processes";
  fake_.visible_pid = static_cast<unsigned int>(getpid());
  EXPECT_EQ(gpu.memory().process_bytes, 500LL << 20);
  fake_.fail("nvmlDeviceGetComputeRunningProcesses_v3", 3, -1);
  EXPECT_EQ(gpu.memory().process_bytes, std::nullopt);
}

TEST_F(CudaTest, ContextSizeIsUnknownWhereItWasOpen) {
  const Gpu first(0, libraries_);
  const Gpu second(0, libraries_);
  EXPECT_EQ(first.memory().context_bytes, 500LL << 20);
  EXPECT_EQ(second.memory().context_bytes, std::nullopt);
}

TEST_F(CudaTest, SynchronizeWaitsForTheStream) {
  const Gpu gpu(0, libraries_);
  void* stream = fake_.make_stream(0);
  ASSERT_EQ(fake_.enqueue(stream, 0.25), 0);
  const double before_s = fake_.host_s;
  gpu.synchronize(reinterpret_cast<StreamHandle>(stream));
  EXPECT_NEAR(fake_.host_s - before_s, 0.25, 1e-4);
  fake_.free_stream(stream);
}

TEST(CudaOldDriver, WorksWithoutTheNewFunctions) {
  FakeDriver& fake = fake_of(kFakeOldDriver);
  fake.reset();
  {
    const Gpu gpu(0, {kFakeOldDriver, kFakeOldDriver});
    EXPECT_EQ(gpu.facts().uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
    fake.clock_reasons = 0x8;
    EXPECT_EQ(gpu.state().clock_reasons, (std::vector<std::string>{"hardware slowdown"})) << "throttle reasons, of old";
    EXPECT_EQ(gpu.memory().device_used_bytes, std::nullopt);
    EXPECT_EQ(gpu.memory().context_bytes, std::nullopt);
    void* stream = fake.make_stream(0);
    CudaClock clock(gpu, {.stream = reinterpret_cast<StreamHandle>(stream)});
    clock.start();
    fake.enqueue(stream, 0.125);
    EXPECT_NEAR(clock.stop().wall_s, 0.125, 1e-4);
    fake.free_stream(stream);
    const std::string message = message_of<ProfilerError>([&] { (void)gpu.partitions(8); });
    EXPECT_TRUE(has(message, "has no function cuDeviceGetDevResource: it came with CUDA 12.4"));
    EXPECT_THROW((void)gpu.partition_sizes(), ProfilerError);
  }
  expect_nothing_left(fake);
}

}  // namespace
}  // namespace latpred
