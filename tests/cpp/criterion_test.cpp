#include "latpred/criterion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

// How many times the criterion wants of those that `time` makes; 0: more than `most`.
int wanted(std::string_view name, double threshold, const std::function<double(int)>& time, int most = 5000) {
  const auto criterion = criterion_row(name).make(threshold);
  for (int count = 1; count <= most; ++count) {
    criterion->add(time(count - 1));
    if (criterion->is_satisfied()) return count;
  }
  return 0;
}

double constant(int /*i*/) { return 0.001; }
double alternating(int i) { return i % 2 == 0 ? 0.95 : 1.05; }  // 5 % around 1
double all_different(int i) { return std::pow(1.01, i % 3000); }

TEST(Criterion, count) {
  EXPECT_EQ(wanted("count", 5, constant), 5);
  EXPECT_EQ(wanted("count", 30, alternating), 30);
}

TEST(Criterion, relative_standard_deviation) {
  const std::string_view name = "relative_standard_deviation";
  EXPECT_EQ(wanted(name, 0.01, constant), 5);
  // NumPy: 0.0553 of the first 5; 0.05051 of the first 50, 0.05054 of 51, 0.05049 of 52.
  EXPECT_EQ(wanted(name, 0.06, alternating), 5);
  EXPECT_EQ(wanted(name, 0.0505, alternating), 52);
}

// It will never be 1 %, and more samples do not change that: after more than 64 spreads, the first of five samples, and
// then at every 16th sample.
TEST(Criterion, relative_standard_deviation_gives_up_where_the_spread_has_settled) {
  EXPECT_EQ(wanted("relative_standard_deviation", 0.01, alternating), 80);
  EXPECT_EQ(wanted("relative_standard_deviation", 0.01, [](int i) { return std::pow(1.5, i); }, 200), 0);
}

TEST(Criterion, entropy) {
  EXPECT_EQ(wanted("entropy", 0.048, constant), 10);
  // One bit, but for the first times, until they leave the window of 299; so does a Python program with NumPy's
  // polyfit.
  EXPECT_EQ(wanted("entropy", 0.048, [](int i) { return i % 2 == 0 ? 1.0 : 2.0; }), 300);
  // log2(n): its slope 1 / (n ln 2) is 0.048 degrees at n = 1722, the middle of the last 299.
  EXPECT_NEAR(wanted("entropy", 0.048, all_different), 1722 + 299 / 2, 5);
}

TEST(Criterion, entropy_takes_times_within_half_a_percent_for_one) {
  EXPECT_EQ(wanted("entropy", 0.048, [](int i) { return 1.0 + 1e-5 * i; }, 20), 10);
}

TEST(Criterion, unknown_name) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)criterion_row("entrpy"); }),
            "unknown stopping criterion 'entrpy'; did you mean 'entropy'? Valid: count, relative_standard_deviation, "
            "entropy");
}

}  // namespace
}  // namespace latpred
