#include "latpred/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace latpred {
namespace {

TEST(Text, concat_takes_anything_printable) {
  EXPECT_EQ(concat("batch must be >= ", 1, ", got ", -2.5), "batch must be >= 1, got -2.5");
}

TEST(Text, join) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a", "b"}, "->"), "a->b");
}

TEST(Text, shapes) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text({1, 3, 224, 224}), "[1, 3, 224, 224]");
}

TEST(Text, grouped_digits) {
  EXPECT_EQ(grouped_digits(0), "0");
  EXPECT_EQ(grouped_digits(999), "999");
  EXPECT_EQ(grouped_digits(1000), "1 000");
  EXPECT_EQ(grouped_digits(-1234567), "-1 234 567");
  EXPECT_EQ(grouped_digits(std::numeric_limits<std::int64_t>::min()), "-9 223 372 036 854 775 808");
}

TEST(Text, nearest_finds_typing_errors_and_beginnings) {
  const std::vector<std::string> names{"A100-SXM4-40GB", "V100-SXM2-16GB", "tensorrt", "eager"};
  EXPECT_EQ(nearest("tensort", names), "tensorrt");
  EXPECT_EQ(nearest("TensorRT", names), "tensorrt");
  EXPECT_EQ(nearest("a100", names), "A100-SXM4-40GB");
  EXPECT_EQ(nearest("aeger", names), "eager");  // neighbours swapped
  EXPECT_EQ(nearest("angry", names), "");       // too far to suggest
  EXPECT_EQ(nearest("onnxruntime", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Text, unknown_names_get_a_suggestion_and_the_list) {
  EXPECT_EQ(unknown_name_message("runtime", "eagr", {"eager", "compiled"}),
            "unknown runtime 'eagr'; did you mean 'eager'? Valid: eager, compiled");
  EXPECT_EQ(unknown_name_message("runtime", "zzz", {"eager", "compiled"}),
            "unknown runtime 'zzz'; valid: eager, compiled");
}

}  // namespace
}  // namespace latpred
