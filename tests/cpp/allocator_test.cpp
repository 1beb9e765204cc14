#include "memory/allocator.h"

#include <gtest/gtest.h>

namespace latpred {
namespace {

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMib = 1024 * kKib;

TEST(CachingAllocator, RoundsRequestsTo512BytesAndReservesTwoMibForSmallOnes) {
  CachingAllocator allocator;
  (void)allocator.allocate(1);
  (void)allocator.allocate(513);
  EXPECT_EQ(allocator.allocated_bytes(), 512 + 1024);
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMib);
}

TEST(CachingAllocator, AnEmptyTensorTakesNothing) {
  CachingAllocator allocator;
  allocator.release(allocator.allocate(0));
  EXPECT_EQ(allocator.reserved_bytes(), 0);
}

TEST(CachingAllocator, OneMibIsSmallAndOneByteMoreIsNot) {
  CachingAllocator allocator;
  (void)allocator.allocate(kMib);
  (void)allocator.allocate(kMib);  // the rest of the first segment
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMib);
  (void)allocator.allocate(kMib + 1);  // from here on the large pool
  EXPECT_EQ(allocator.reserved_bytes(), 22 * kMib);
}

TEST(CachingAllocator, LargeRequestsShareTwentyMibAndHugeOnesGetTheirOwn) {
  CachingAllocator allocator;
  (void)allocator.allocate(9 * kMib);
  (void)allocator.allocate(9 * kMib);
  EXPECT_EQ(allocator.reserved_bytes(), 20 * kMib);
  (void)allocator.allocate(9 * kMib);  // 2 MiB are left: a second segment
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMib);
  (void)allocator.allocate(11 * kMib);  // 11 MiB are left there, and fit
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMib);
  (void)allocator.allocate(11 * kMib);  // rounded to 12 MiB, its own
  EXPECT_EQ(allocator.reserved_bytes(), 52 * kMib);
}

TEST(CachingAllocator, ALargeBlockIsSplitOnlyWhenMoreThanOneMibRemains) {
  CachingAllocator allocator;
  allocator.release(allocator.allocate(20 * kMib));
  const auto first = allocator.allocate(19 * kMib);  // 1 MiB would remain: it is given whole
  EXPECT_EQ(allocator.allocated_bytes(), 20 * kMib);
  allocator.release(first);
  (void)allocator.allocate(18 * kMib);
  EXPECT_EQ(allocator.allocated_bytes(), 18 * kMib);
  EXPECT_EQ(allocator.reserved_bytes(), 20 * kMib);
}

TEST(CachingAllocator, FreedNeighboursMergeAndServeALargerRequest) {
  CachingAllocator allocator;
  const auto a = allocator.allocate(6 * kMib);
  const auto b = allocator.allocate(6 * kMib);
  const auto c = allocator.allocate(6 * kMib);
  allocator.release(a);
  allocator.release(c);  // merges with the 2 MiB behind it: 6 and 8 MiB free, apart
  EXPECT_EQ(allocator.reserved_bytes(), 20 * kMib);
  const auto d = allocator.allocate(9 * kMib);  // fits neither
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMib);
  allocator.release(d);
  allocator.release(b);  // the whole first segment is free again
  (void)allocator.allocate(20 * kMib);
  EXPECT_EQ(allocator.reserved_bytes(), 40 * kMib);
}

TEST(CachingAllocator, TheSmallestBlockThatFitsIsTaken) {
  CachingAllocator allocator;
  const auto large = allocator.allocate(40 * kMib);
  const auto small = allocator.allocate(12 * kMib);
  allocator.release(large);
  allocator.release(small);
  (void)allocator.allocate(12 * kMib);  // best fit leaves the 40 MiB whole
  (void)allocator.allocate(40 * kMib);
  EXPECT_EQ(allocator.reserved_bytes(), 52 * kMib);
}

TEST(CachingAllocator, ManyRequestsInAnyOrderNeverLoseMemory) {
  CachingAllocator allocator;
  std::vector<CachingAllocator::Handle> handles;
  std::uint64_t random = 7;
  for (int round = 0; round < 2000; ++round) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    if (handles.size() > 50 || (!handles.empty() && (random >> 60) % 2 == 0)) {
      const std::size_t victim = (random >> 33) % handles.size();
      allocator.release(handles[victim]);
      handles.erase(handles.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      handles.push_back(allocator.allocate(static_cast<std::int64_t>((random >> 20) % (3 * kMib)) + 1));
    }
    ASSERT_LE(allocator.allocated_bytes(), allocator.reserved_bytes());
  }
  for (const auto handle : handles) allocator.release(handle);
  EXPECT_EQ(allocator.allocated_bytes(), 0);
  // Everything is merged again: one request as large as the largest segment is served without a new one.
  const std::int64_t before = allocator.reserved_bytes();
  (void)allocator.allocate(20 * kMib);
  EXPECT_EQ(allocator.reserved_bytes(), before);
}

TEST(CachingAllocator, AtItsLimitItHandsBackSegmentsThatNothingLivesIn) {
  CachingAllocator allocator(60 * kMib);
  const auto kept = allocator.allocate(20 * kMib);
  allocator.release(allocator.allocate(30 * kMib));
  EXPECT_EQ(allocator.reserved_bytes(), 50 * kMib);
  (void)allocator.allocate(40 * kMib);  // too large for the 30 MiB that are cached: they go
  EXPECT_EQ(allocator.reserved_bytes(), 60 * kMib);
  EXPECT_EQ(allocator.peak_reserved_bytes(), 60 * kMib);
  allocator.release(kept);
}

TEST(CachingAllocator, ASegmentThatIsPartlyUsedIsNotHandedBack) {
  CachingAllocator allocator(50 * kMib);
  const auto whole = allocator.allocate(30 * kMib);
  allocator.release(whole);
  (void)allocator.allocate(10 * kMib);  // the first third of that segment
  (void)allocator.allocate(25 * kMib);  // 26 MiB more than there are
  EXPECT_EQ(allocator.peak_reserved_bytes(), 56 * kMib);
}

}  // namespace
}  // namespace latpred
