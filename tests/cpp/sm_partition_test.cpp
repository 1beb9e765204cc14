#include <gtest/gtest.h>

#include "fake_driver/fake_driver_test.h"
#include "latpred/error.h"

namespace latpred {
namespace {

class SmPartitionTest : public FakeDriverTest {};

TEST_F(SmPartitionTest, SizesAreTheDriversSteps) {
  const Gpu gpu(0, libraries_);
  EXPECT_EQ(gpu.partition_sizes(),
            (std::vector<int>{8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 132}));
}

TEST_F(SmPartitionTest, SizesFollowTheArchitectureWhereTheDriverIsSilent) {
  fake_.sm_step = 0;
  fake_.sms = 10;
  fake_.compute_capability = 86;
  EXPECT_EQ(Gpu(0, libraries_).partition_sizes(), (std::vector<int>{4, 6, 8, 10}));
  fake_.compute_capability = 75;
  EXPECT_EQ(Gpu(0, libraries_).partition_sizes(), (std::vector<int>{2, 4, 6, 8, 10}));
  fake_.compute_capability = 61;
  EXPECT_EQ(Gpu(0, libraries_).partition_sizes(), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  fake_.compute_capability = 120;
  EXPECT_EQ(Gpu(0, libraries_).partition_sizes(), (std::vector<int>{8, 10}));
}

TEST_F(SmPartitionTest, HasItsStreamWhoseWorkIsTimed) {
  const Gpu gpu(0, libraries_);
  const std::vector<SmPartition> parts = gpu.partitions(32);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].sms(), 32);
  ASSERT_NE(parts[0].stream(), 0U);
  // Events of another context would be refused on it.
  CudaClock clock(gpu, {.stream = parts[0].stream(), .block_stream = true});
  clock.start();
  fake_.enqueue(reinterpret_cast<void*>(parts[0].stream()), 3e-6);
  EXPECT_NEAR(clock.stop().wall_s, 3e-6, 1e-9);
}

TEST_F(SmPartitionTest, SeveralAtOnceAndTheWhole) {
  const Gpu gpu(0, libraries_);
  const std::vector<SmPartition> three = gpu.partitions(40, 3);
  ASSERT_EQ(three.size(), 3U);
  EXPECT_NE(three[0].stream(), three[1].stream());
  EXPECT_EQ(gpu.partitions(132).at(0).sms(), 132);
}

TEST_F(SmPartitionTest, ImpossibleSizesNameThePossible) {
  const Gpu gpu(0, libraries_);
  for (const int wrong : {-8, 0, 12, 131, 140}) {
    try {
      (void)gpu.partitions(wrong);
      FAIL() << wrong;
    } catch (const InvalidArgumentError& error) {
      EXPECT_TRUE(has(error.what(), "of 132 SMs cannot be made on NVIDIA Fake H200; sizes: 8, 16"));
      EXPECT_EQ(error.data().valid.size(), 17U);
    }
  }
  EXPECT_TRUE(has(message_of<InvalidArgumentError>([&] { (void)gpu.partitions(48, 3); }),
                  "3 partitions of 48 SMs do not fit into 132; count must be between 1 and 2"));
  EXPECT_THROW((void)gpu.partitions(8, 0), InvalidArgumentError);
}

TEST_F(SmPartitionTest, FewerThanAskedIsRefused) {
  const Gpu gpu(0, libraries_);
  fake_.short_split = 1;
  EXPECT_TRUE(
      has(message_of<InvalidArgumentError>([&] { (void)gpu.partitions(16, 2); }), "the driver made 1 of 2 partitions"));
  fake_.short_split = 0;
  fake_.short_grant = 1;
  EXPECT_TRUE(has(message_of<InvalidArgumentError>([&] { (void)gpu.partitions(16); }),
                  "asked for 16 SMs, the driver granted 14"));
}

TEST_F(SmPartitionTest, GpuThatCannotBeSplit) {
  const Gpu gpu(0, libraries_);
  fake_.fail("cuDeviceGetDevResource", 801, 1);
  EXPECT_TRUE(has(message_of<ProfilerError>([&] { (void)gpu.partitions(16); }),
                  "cuDeviceGetDevResource failed with CUDA_ERROR_NOT_SUPPORTED (801)"));
}

}  // namespace
}  // namespace latpred
