#include "latpred/precision.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/runtime.h"

namespace latpred {
namespace {

TEST(Precision, NamesTheNearestWhenUnknown) {
  try {
    (void)precision("fp61");
    FAIL() << "accepted";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown precision 'fp61'; did you mean 'fp16'? Valid: default, fp32, tf32, amp, fp16, bf16, int8");
  }
}

TEST(Precision, EveryRuntimeListsOnlyPrecisionsOfTheTable) {
  for (const Runtime& row : runtimes()) {
    for (const std::string_view name : row.precisions) EXPECT_NO_THROW((void)precision(name)) << row.name;
    EXPECT_FALSE(row.host_source.empty()) << row.name;
  }
}

TEST(Runtime, RefusesAPrecisionThatItDoesNotRun) {
  try {
    (void)precision_of(runtime("eager"), "int8");
    FAIL() << "accepted";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "runtime 'eager' does not run at precision 'int8'; it takes default, fp32, tf32, amp, fp16, bf16");
  }
}

}  // namespace
}  // namespace latpred
