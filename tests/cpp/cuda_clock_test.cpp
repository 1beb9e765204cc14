#include <gtest/gtest.h>

#include <chrono>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"
#include "latpred/measure.h"

namespace latpred {
namespace {

// Ten kernels of 1 us, each launched in 5 us of the host: the GPU waits for the host unless the stream is blocked.
constexpr int kKernels = 10;
constexpr double kKernel_s = 1e-6;

class CudaClockTest : public FakeStreamTest {
 protected:
  void run_kernels(void* stream = nullptr) {
    for (int i = 0; i < kKernels; ++i) fake_.enqueue(stream, kKernel_s);
  }
  double sample(CudaClock& clock) {
    clock.start();
    run_kernels(stream_);
    return clock.stop().wall_s;
  }
  CudaClockOptions options(bool block, bool flush = false, double timeout_s = 1) {
    return {.stream = handle(), .flush_l2 = flush, .block_stream = block, .block_timeout_s = timeout_s};
  }
};

TEST_F(CudaClockTest, EventsSeeTheGapsBetweenLaunches) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(false));
  // The last kernel starts nine launches after the first event's stamp, plus the launch of the event itself.
  EXPECT_NEAR(sample(clock), 11 * fake_.launch_s, 2e-6);
  EXPECT_EQ(clock.name(), "CUDA events");
  EXPECT_EQ(clock.device_fingerprint(), gpu.facts().fingerprint);
}

TEST_F(CudaClockTest, BlockedStreamShowsTheKernelsAlone) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true));
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(sample(clock), kKernels * kKernel_s, 1e-9);
  EXPECT_EQ(clock.block_timeouts(), 0);
  EXPECT_EQ(clock.name(), "CUDA events, stream blocked until all was queued");
}

TEST_F(CudaClockTest, WorkloadThatWaitsForTheGpuIsNotStuck) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true, false, 0.02));
  const auto start = std::chrono::steady_clock::now();
  for (const int timeouts : {1, 2, 2}) {
    clock.start();
    run_kernels(stream_);
    gpu.synchronize(handle());
    run_kernels(stream_);
    EXPECT_GT(clock.stop().wall_s, 2 * kKernels * kKernel_s);
    EXPECT_EQ(clock.block_timeouts(), timeouts) << "two are enough to know";
  }
  EXPECT_TRUE(has(clock.name(), "given up because the workload waits"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(CudaClockTest, FirstRunThatWaitsLeavesTheOthersBlocked) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true, false, 0.02));
  clock.start();
  gpu.synchronize(handle());
  (void)clock.stop();
  EXPECT_EQ(clock.block_timeouts(), 1);
  EXPECT_NEAR(sample(clock), kKernels * kKernel_s, 1e-9);
  EXPECT_EQ(clock.name(), "CUDA events, stream blocked until all was queued");
}

TEST_F(CudaClockTest, MoreLaunchesThanTheQueueHoldsIsNotStuck) {
  fake_.queue_length = 8;
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true, false, 0.02));
  EXPECT_GT(sample(clock), 0);
  EXPECT_EQ(clock.block_timeouts(), 1);
}

TEST_F(CudaClockTest, ErrorOfTheWorkloadLeavesNothingBlocked) {
  const Gpu gpu(0, libraries_);
  const auto start = std::chrono::steady_clock::now();
  {
    CudaClock clock(gpu, options(true, false, 30));
    clock.start();
    run_kernels(stream_);
  }
  gpu.synchronize(handle());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "the block opened with the clock";
}

TEST_F(CudaClockTest, FlushOverwritesTwiceTheCacheOutsideTheTime) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true, true));
  EXPECT_NEAR(sample(clock), kKernels * kKernel_s, 1e-9);
  EXPECT_NEAR(sample(clock), kKernels * kKernel_s, 1e-9);
  EXPECT_EQ(fake_.memsets, 2);
  EXPECT_EQ(fake_.last_memset_bytes, 2ULL * (60 << 20));
  EXPECT_TRUE(has(clock.name(), "L2 flushed"));
}

TEST_F(CudaClockTest, UnknownCacheCannotBeFlushed) {
  fake_.l2_bytes = 0;
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(
      has(message_of<ProfilerError>([&] { CudaClock(gpu, options(false, true)); }), "measure without flush_l2"));
}

TEST_F(CudaClockTest, TimeoutMustBePositive) {
  const Gpu gpu(0, libraries_);
  for (const double wrong : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(CudaClock(gpu, options(true, false, wrong)), InvalidArgumentError);
  }
}

TEST_F(CudaClockTest, DefaultStreamIsThePrimaryContexts) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, {});
  clock.start();
  EXPECT_GE(clock.stop().wall_s, 0);
}

TEST_F(CudaClockTest, StreamOfAnotherGpuIsRefused) {
  fake_.device_count = 2;
  const Gpu gpu(0, libraries_);
  void* other = fake_.make_stream(1);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { CudaClock(gpu, {.stream = reinterpret_cast<StreamHandle>(other)}); }),
                  "the stream belongs to GPU 1, expected one of GPU 0"));
  fake_.free_stream(other);
}

TEST_F(CudaClockTest, ThrottlingIsSeenBeforeAndAfter) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(false));
  fake_.clock_reasons = 0x1;
  (void)sample(clock);
  EXPECT_TRUE(clock.throttle_reasons().empty());
  fake_.clock_reasons = 0x4;
  EXPECT_EQ(clock.throttle_reasons(), (std::vector<std::string>{"power cap"}));
  fake_.clock_reasons = 0;
  EXPECT_EQ(clock.throttle_reasons(), (std::vector<std::string>{"power cap"})) << "it was throttled once";
}

TEST_F(CudaClockTest, ThrottlingIsUnknownWithoutNvml) {
  const Gpu gpu(0, {kFakeDriver, kNoLibrary});
  fake_.clock_reasons = 0x4;
  CudaClock clock(gpu, options(false));
  (void)sample(clock);
  EXPECT_TRUE(clock.throttle_reasons().empty());
}

TEST_F(CudaClockTest, MeasureTakesItsMedian) {
  const Gpu gpu(0, libraries_);
  CudaClock clock(gpu, options(true));
  Protocol protocol;
  protocol.warm_up = 2;
  protocol.min_samples = 10;
  const Measurement measured = measure([&] { run_kernels(stream_); }, protocol, clock);
  EXPECT_NEAR(measured.latency_s, kKernels * kKernel_s, 1e-9);
  EXPECT_EQ(measured.device_fingerprint, gpu.facts().fingerprint);
  EXPECT_TRUE(measured.is_stable);
}

TEST_F(CudaClockTest, OutOfMemorySaysWhatToDo) {
  fake_.memory_bytes = 1 << 20;
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { CudaClock(gpu, options(false, true)); }),
                  "cuMemAlloc_v2 failed with CUDA_ERROR_OUT_OF_MEMORY (2): a text of the driver; free memory"));
}

}  // namespace
}  // namespace latpred
