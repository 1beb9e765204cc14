#include "latpred/runtime_versions.h"

#include <gtest/gtest.h>

#include <limits>

namespace latpred {
namespace {

using Age = std::vector<std::int64_t>;

TEST(RuntimeVersions, AreOrderedByNumberContainersFirst) {
  EXPECT_LT(version_age("torch 2.9.1"), version_age("torch 2.10.0"));
  EXPECT_LT(version_age("torch 2.9"), version_age("torch 2.9.1"));
  EXPECT_LT(version_age("tensorrt 22.06"), version_age("tensorrt 7.2.1"));
  EXPECT_LT(version_age("tensorrt 21.12"), version_age("tensorrt 22.06"));
  EXPECT_EQ(version_age("paddle inference, tensorrt 8.0.3.4"), (Age{8, 0, 3, 4}));
  EXPECT_EQ(version_age("trtllm 1.3.0rc10"), (Age{1, 3, 0, 10}));
  EXPECT_EQ(version_age("torchscript"), Age{});
  EXPECT_EQ(version_age("99999999999999999999"), (Age{0, std::numeric_limits<std::int64_t>::max()}));
}

TEST(RuntimeVersions, OfOneStackAreNamedAlike) {
  EXPECT_EQ(version_stack("torch 2.4.0"), "torch");
  EXPECT_EQ(version_stack("paddle inference, tensorrt 8.0.3.4"), "paddle inference");
  EXPECT_EQ(version_stack("paddle inference"), "paddle inference");
  EXPECT_EQ(version_stack("2.4"), "");
  EXPECT_EQ(version_stack(""), "");
}

TEST(RuntimeVersions, TheNewestMeasuredOneBeforeStandsForOthersOfTheSameFirstNumber) {
  const std::vector<std::string> measured{"torchscript", "torch 1.13", "torch 2.4.0", "torch 2.11.0"};
  EXPECT_EQ(version_standing_for("torch 2.6", measured), "torch 2.4.0");
  EXPECT_EQ(version_standing_for("torch 2.12.1", measured), "torch 2.11.0");
  EXPECT_EQ(version_standing_for("torch 1.12", measured), "torch 1.13");  // none is older
  EXPECT_EQ(version_standing_for("torch 2.0.1", measured), "torch 2.4.0");
  EXPECT_EQ(version_standing_for("torch 3.0", measured), "");
  EXPECT_EQ(version_standing_for("tensorflow 2.6", measured), "");
  EXPECT_EQ(version_standing_for("torch", measured), "");
  EXPECT_EQ(version_standing_for("", measured), "");
}

TEST(RuntimeVersions, ContainersStandForContainersAlone) {
  const std::vector<std::string> measured{"tensorrt 22.06", "tensorrt 23.01", "tensorrt 7.2.1"};
  EXPECT_EQ(version_standing_for("tensorrt 22.12", measured), "tensorrt 22.06");
  EXPECT_EQ(version_standing_for("tensorrt 7.1", measured), "tensorrt 7.2.1");
  EXPECT_EQ(version_standing_for("tensorrt 22.12", {"tensorrt 7.2.1"}), "");
}

}  // namespace
}  // namespace latpred
