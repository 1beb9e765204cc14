#include <gtest/gtest.h>

#include <set>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"

namespace latpred {
namespace {

// Everything that the profiler does with the driver, once.
void do_everything(FakeDriver& fake, void* stream) {
  const CudaLibraries libraries{kFakeDriver, kFakeDriver};
  const auto handle = reinterpret_cast<StreamHandle>(stream);
  (void)gpu_facts(libraries);
  const Gpu gpu(0, libraries);
  (void)gpu.memory();
  CudaClock clock(gpu, {.stream = handle, .flush_l2 = true, .block_stream = true, .block_timeout_s = 0.01});
  for (int i = 0; i < 2; ++i) {
    clock.start();
    fake.enqueue(stream, 1e-6);
    (void)clock.stop();
  }
  const CudaGraph graph(gpu, handle, [&] { fake.enqueue(stream, 1e-6); });
  graph.launch(handle);
  gpu.synchronize(handle);
  const std::vector<SmPartition> parts = gpu.partitions(16, 2);
  CudaClock of_part(gpu, {.stream = parts[1].stream()});
  of_part.start();
  (void)of_part.stop();
}

// Releases, and what they call: their failure has nobody to hear it.
const std::set<std::string> kMayFail = {"cuDevicePrimaryCtxRelease_v2", "cuCtxPopCurrent_v2", "cuEventDestroy_v2",
                                        "cuStreamDestroy_v2",           "cuMemFree_v2",       "cuGraphDestroy",
                                        "cuGraphExecDestroy",           "cuGreenCtxDestroy",  "cuCtxPushCurrent_v2"};

// Each call of the driver fails in its turn: either an error says so, or it may be passed over; and whatever was made
// before is given back.
TEST(DriverFailure, OfEachCallIsReportedAndLeavesNothing) {
  FakeDriver& fake = fake_of(kFakeDriver);
  fake.reset();
  void* stream = fake.make_stream(0);
  do_everything(fake, stream);
  const int num_calls = fake.num_calls();
  std::vector<std::string> names;
  for (int i = 0; i < num_calls; ++i) names.emplace_back(fake.call_name(i));
  fake.free_stream(stream);
  ASSERT_GT(num_calls, 80);

  int reported = 0;
  for (int i = 0; i < num_calls; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i)];
    if (name.rfind("cu", 0) != 0) continue;
    SCOPED_TRACE(::testing::Message() << "call " << i << ", " << name);
    fake.reset();
    fake.fail_call(i, 700);
    stream = fake.make_stream(0);
    try {
      do_everything(fake, stream);
      EXPECT_EQ(kMayFail.count(name), 1U) << "its failure was passed over";
    } catch (const ProfilerError& error) {
      ++reported;
      EXPECT_TRUE(has(error.what(), name + " failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
      EXPECT_TRUE(has(error.what(), "start a new process"));
    }
    fake.free_stream(stream);
    // The memory of a context that cannot be entered any more goes with the context.
    if (name == "cuCtxPushCurrent_v2") fake.allocations = 0;
    expect_nothing_left(fake, name);
  }
  EXPECT_GT(reported, 60);
}

}  // namespace
}  // namespace latpred
