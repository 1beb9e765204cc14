#include "latpred/dtype.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

TEST(DType, rows) {
  EXPECT_EQ(dtype_row(DType::bfloat16).name, "bfloat16");
  EXPECT_EQ(dtype_row(DType::bfloat16).size_bits, 16);
  EXPECT_TRUE(dtype_row(DType::boolean).is_integer);
  EXPECT_TRUE(dtype_row(DType::float8e5m2).is_floating);
  EXPECT_THROW((void)dtype_row(static_cast<DType>(200)), InvalidArgumentError);
}

TEST(DType, names) {
  EXPECT_EQ(dtype_from_name("float32"), DType::float32);
  EXPECT_EQ(dtype_from_name("bool"), DType::boolean);
  const std::string message = testing::message_of<InvalidArgumentError>([] { (void)dtype_from_name("flot32"); });
  EXPECT_NE(message.find("did you mean 'float32'?"), std::string::npos) << message;
}

TEST(DType, packed_bytes) {
  EXPECT_EQ(packed_bytes(DType::float64, 3), 24);
  EXPECT_EQ(packed_bytes(DType::int4, 3), 2);
  EXPECT_EQ(packed_bytes(DType::uint2, 5), 2);
  EXPECT_EQ(packed_bytes(DType::int4, 0), 0);
  EXPECT_EQ(packed_bytes(DType::string, 3), 0);
}

}  // namespace
}  // namespace latpred
