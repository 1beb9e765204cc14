#include <gtest/gtest.h>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"

namespace latpred {
namespace {

using CudaGraphTest = FakeStreamTest;

TEST_F(CudaGraphTest, ReplaysWhatWasQueued) {
  const Gpu gpu(0, libraries_);
  const CudaGraph graph(gpu, handle(), [&] {
    for (int i = 0; i < 5; ++i) fake_.enqueue(stream_, 2e-6);
  });
  EXPECT_EQ(graph.nodes(), 5);
  CudaClock clock(gpu, {.stream = handle(), .block_stream = true});
  clock.start();
  graph.launch(handle());
  EXPECT_NEAR(clock.stop().wall_s, 10e-6, 1e-9);
}

TEST_F(CudaGraphTest, OutlivesTheGpuThatMadeIt) {
  auto gpu = std::make_unique<Gpu>(0, libraries_);
  const CudaGraph graph(*gpu, handle(), [&] { fake_.enqueue(stream_, 1e-6); });
  gpu.reset();
  EXPECT_EQ(fake_.contexts, 1);
  graph.launch(handle());
}

TEST_F(CudaGraphTest, ErrorOfTheWorkEndsTheCapture) {
  const Gpu gpu(0, libraries_);
  EXPECT_THROW(CudaGraph(gpu, handle(), [] { throw std::out_of_range("of the work"); }), std::out_of_range);
  const CudaGraph again(gpu, handle(), [&] { fake_.enqueue(stream_, 1e-6); });
  EXPECT_EQ(again.nodes(), 1);
}

TEST_F(CudaGraphTest, WaitingInsideTheCaptureIsExplained) {
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { CudaGraph(gpu, handle(), [&] { gpu.synchronize(handle()); }); }),
                  "cuStreamSynchronize failed with CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"));
  // Work that swallows its error still finds the capture broken.
  const std::string message = message_of<ProfilerError>([&] {
    CudaGraph(gpu, handle(), [&] {
      try {
        gpu.synchronize(handle());
      } catch (const ProfilerError&) {
      }
    });
  });
  EXPECT_TRUE(has(message, "cuStreamEndCapture failed with CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"));
  EXPECT_TRUE(has(message, "something was called during capture that a graph cannot hold"));
}

TEST_F(CudaGraphTest, DefaultStreamCannotBeCaptured) {
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { CudaGraph(gpu, 0, [] {}); }), "or on the default stream"));
}

TEST_F(CudaGraphTest, NothingCapturedIsAnError) {
  const Gpu gpu(0, libraries_);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { CudaGraph(gpu, handle(), [] {}); }), "nothing was captured"));
}

}  // namespace
}  // namespace latpred
