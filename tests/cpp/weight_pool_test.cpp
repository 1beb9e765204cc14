#include "workloads/weight_pool.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
using testing::message_of;

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

std::int64_t offset_of(const at::Tensor& tensor) { return tensor.storage_offset(); }

TEST(WeightPool, HandsOutConsecutiveCacheLines) {
  WeightPool pool(kMebibyte);
  const at::Tensor first = pool.take({3, 7});
  const at::Tensor second = pool.take({16});
  const at::Tensor third = pool.take({1});
  EXPECT_EQ(first.sizes(), at::IntArrayRef({3, 7}));
  EXPECT_TRUE(first.is_contiguous());
  EXPECT_EQ(offset_of(first), 0);
  EXPECT_EQ(offset_of(second), 32) << "21 numbers end inside of the second line of 16";
  EXPECT_EQ(offset_of(third), 48);
  EXPECT_EQ(first.storage().data(), third.storage().data()) << "one block";
}

TEST(WeightPool, StartsAgainAtTheBeginWhereATensorDoesNotFit) {
  WeightPool pool(1024 * 4);
  EXPECT_EQ(offset_of(pool.take({1000})), 0);
  EXPECT_EQ(offset_of(pool.take({17})), 0);
  EXPECT_EQ(offset_of(pool.take({992})), 32) << "exactly to the end";
  EXPECT_EQ(offset_of(pool.take({1})), 0);
}

TEST(WeightPool, HoldsSmallNumbersEverywhere) {
  WeightPool pool(10 * kMebibyte);  // more than is drawn
  const at::Tensor all = pool.take({10 * kMebibyte / 4});
  EXPECT_TRUE(all.isfinite().all().item<bool>());
  EXPECT_LE(all.abs().max().item<float>(), 0.05F);
  EXPECT_NEAR(all.mean().item<float>(), 0.0F, 1e-3F);
  EXPECT_GT(all.narrow(0, all.numel() - 1000, 1000).std().item<float>(), 0.02F);
}

TEST(WeightPool, RefusesWhatDoesNotFit) {
  WeightPool pool(kMebibyte);
  EXPECT_EQ(pool.size_bytes(), kMebibyte);
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { static_cast<void>(pool.take({1024, 1024})); }),
            "a weight of shape [1024, 1024] does not fit into the pool of 1 048 576 bytes; ask for a larger pool");
  EXPECT_THROW(WeightPool(3), InvalidArgumentError);
  EXPECT_NE(message_of<InvalidArgumentError>([] {
              static_cast<void>(WeightPool(std::int64_t{1} << 50));
            }).find("this machine has"),
            std::string::npos);
}

TEST(WeightPool, RefusesNetsThatWouldMeetTheirOwnWeights) {
  const WeightPool pool(kMebibyte);
  pool.check_fits(kMebibyte / 2, kMebibyte / 2);
  EXPECT_THROW(pool.check_fits(kMebibyte, kMebibyte / 2), InvalidArgumentError);
}

}  // namespace
}  // namespace latpred
