#include "predictors/packed_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace latpred {
namespace {

constexpr double kShare = 0.2;

std::vector<float> drawn(std::size_t count) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = draw(random);
  return values;
}

// All sets of loops drop the same values, lengths that are no whole vectors included.
TEST(PackedKernels, ARectifierDropsByPosition) {
  for (const std::size_t size : {1, 16, 37, 4099}) {
    const std::vector<float> x = drawn(size);
    std::vector<float> first;
    for (const PackedKernels* kernels : packed_kernels()) {
      if (!kernels->is_supported()) continue;
      SCOPED_TRACE(std::string(kernels->name) + ", " + std::to_string(size));
      std::vector<float> out(size);
      kernels->rectify(x.data(), dropout_of(kShare, 11), static_cast<std::int64_t>(size), out.data());
      for (std::size_t i = 0; i < size; ++i) {
        const bool is_kept = out[i] != 0;
        EXPECT_FLOAT_EQ(out[i], is_kept ? x[i] / static_cast<float>(1 - kShare) : 0);
        EXPECT_TRUE(x[i] > 0 || !is_kept);
      }
      if (first.empty()) first = out;
      EXPECT_EQ(out, first);
    }
  }
}

TEST(PackedKernels, ARectifierDropsItsShareAndOthersByAnotherKey) {
  const std::vector<float> ones(100'000, 1);
  const auto dropped = [&](std::uint32_t key) {
    std::vector<float> out(ones.size());
    fastest_packed_kernels().rectify(ones.data(), dropout_of(kShare, key), static_cast<std::int64_t>(out.size()),
                                     out.data());
    return out;
  };
  const auto zeros = static_cast<double>(std::ranges::count(dropped(1), 0.0F));
  EXPECT_NEAR(zeros / static_cast<double>(ones.size()), kShare, 0.005);  // four standard deviations
  EXPECT_NE(dropped(1), dropped(2));
}

TEST(PackedKernels, ARectifierWithoutDropoutKeepsAllThatIsPositive) {
  const std::vector<float> x{-1, 0, 2, 3.5F};
  std::vector<float> out(x.size());
  for (const PackedKernels* kernels : packed_kernels()) {
    if (!kernels->is_supported()) continue;
    kernels->rectify(x.data(), {}, 4, out.data());
    EXPECT_EQ(out, (std::vector<float>{0, 0, 2, 3.5F}));
  }
}

TEST(PackedKernels, SlopesPassWhereARectifierGaveSomething) {
  const std::vector<float> out{0, 1, 0, 2, 3};
  const std::vector<float> d_out{1, 2, 3, 4, 5};
  for (const PackedKernels* kernels : packed_kernels()) {
    if (!kernels->is_supported()) continue;
    std::vector<float> d_x(out.size());
    kernels->rectify_backward(d_out.data(), out.data(), 1.25F, 5, d_x.data());
    EXPECT_EQ(d_x, (std::vector<float>{0, 2.5F, 0, 5, 6.25F}));
  }
}

}  // namespace
}  // namespace latpred
