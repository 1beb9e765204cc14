#include "latpred/statistics.h"

#include <gtest/gtest.h>

#include <limits>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

// Milliseconds of one read of 6 MB on a core with a busy neighbour, recorded; the expected numbers are NumPy's and
// SciPy's (quantile, std(ddof=1), median_abs_deviation(scale="normal")).
const std::vector<double> kRecorded{0.2089600, 0.1979740, 0.2171920, 0.2090300, 2.7643160, 0.1601880,
                                    0.1661270, 0.1659660, 0.1910840, 0.1848350, 0.2417290, 4.2972030,
                                    0.1856560, 0.2102720, 0.2036320, 0.1919050, 0.1998170, 0.2333870,
                                    0.2046940, 0.2194560, 0.1924850, 0.1878190, 0.1994060, 0.1929770};
constexpr double kTolerance = 1e-12;

TEST(Statistics, recorded_times) {
  const Statistics result = statistics(kRecorded);
  EXPECT_EQ(result.count, 24);
  EXPECT_EQ(result.min, 0.1601880);
  EXPECT_EQ(result.max, 4.2972030);
  EXPECT_NEAR(result.mean, 0.4760879166666667, kTolerance);
  EXPECT_NEAR(result.median, 0.1996115, kTolerance);
  EXPECT_NEAR(result.p05, 0.16599015, kTolerance);
  EXPECT_NEAR(result.p25, 0.19026775, kTolerance);
  EXPECT_NEAR(result.p75, 0.212002, kTolerance);
  EXPECT_NEAR(result.p95, 2.385927949999995, kTolerance);
  EXPECT_NEAR(result.median_absolute_deviation, 0.011226499999999986, kTolerance);
  EXPECT_NEAR(result.noise, 0.0833841427275138, kTolerance);
  EXPECT_NEAR(result.standard_deviation.value(), 0.9677846246858546, kTolerance);
  EXPECT_NEAR(result.coefficient_of_variation.value(), 2.0327855230223157, kTolerance);
  EXPECT_EQ(result.outliers, 2);
}

TEST(Statistics, outliers_are_the_two_that_were_interrupted) {
  const std::vector<bool> found = outliers(kRecorded);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], i == 4 || i == 11) << i;
}

// The median absolute deviation is 0: the mean one, 0.9 * sqrt(pi / 2), decides. 1 is within 3.5 of it, 9 is not.
TEST(Statistics, outliers_among_equal_times) {
  EXPECT_EQ(outliers({1, 1, 1, 1, 1, 1, 1, 1, 1, 10}),
            (std::vector<bool>{false, false, false, false, false, false, false, false, false, true}));
  EXPECT_EQ(outliers({2, 2, 2}), (std::vector<bool>{false, false, false}));
}

TEST(Statistics, what_a_single_time_does_not_say_is_unknown) {
  const Statistics result = statistics({0.5});
  EXPECT_EQ(result.median, 0.5);
  EXPECT_EQ(result.p95, 0.5);
  EXPECT_EQ(result.noise, 0);
  EXPECT_EQ(result.standard_deviation, std::nullopt);
  EXPECT_EQ(result.coefficient_of_variation, std::nullopt);
}

TEST(Statistics, quantile_is_linear_between_two_values) {
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0), 1);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.3), 13);
}

TEST(Statistics, refusals) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)mean({}); }), "statistics need at least one time, got none");
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)statistics({1, std::numeric_limits<double>::infinity()}); }),
            "statistics need finite times; time 1 is inf");
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)quantile({1}, 95); }), "a quantile's share is 0 to 1, got 95");
}

}  // namespace
}  // namespace latpred
