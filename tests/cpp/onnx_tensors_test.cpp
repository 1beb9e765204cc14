#include "readers/onnx/onnx_tensors.h"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

std::shared_ptr<const Value> decode(const Proto& proto) {
  const Source source{"m.onnx", proto.text()};
  return decode_value(source, parse_tensor(source, source.content));
}
std::string refusal(const Proto& proto) {
  return message_of<ModelFileError>([&] { static_cast<void>(decode(proto)); });
}
constexpr auto number(DType dtype) { return static_cast<int>(dtype); }

TEST(OnnxTensors, DecodesRawContent) {
  EXPECT_EQ(decode(int64_tensor("a", {1, -2}))->integers, (Shape{1, -2}));
  EXPECT_EQ(decode(tensor("a", kFloat, {2}).bytes(9, Proto().raw(1.5F).raw(-2.0F).text()))->reals,
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(decode(tensor("a", number(DType::int8), {2}).bytes(9, "\xff\x7f"))->integers, (Shape{-1, 127}));
  EXPECT_EQ(decode(tensor("a", kUint8, {2}).bytes(9, "\xff\x7f"))->integers, (Shape{255, 127}));
  EXPECT_EQ(decode(tensor("a", kBool, {1}).bytes(9, "\x01"))->integers, Shape{1});
  // 1, -2, the smallest subnormal, the largest number
  const std::string halves = Proto()
                                 .raw<std::uint16_t>(0x3c00)
                                 .raw<std::uint16_t>(0xc000)
                                 .raw<std::uint16_t>(1)
                                 .raw<std::uint16_t>(0x7bff)
                                 .text();
  EXPECT_EQ(decode(tensor("a", kFloat16, {4}).bytes(9, halves))->reals,
            (std::vector<double>{1, -2, 5.9604644775390625e-08, 65504}));
  EXPECT_EQ(
      decode(tensor("a", number(DType::bfloat16), {1}).bytes(9, Proto().raw<std::uint16_t>(0x4049).text()))->reals,
      std::vector<double>{3.140625});
  EXPECT_EQ(decode(tensor("a", number(DType::int4), {3}).bytes(9, "\xf1\x07"))->integers, (Shape{1, -1, 7}));
  EXPECT_EQ(decode(tensor("a", number(DType::uint4), {3}).bytes(9, "\xf1\x07"))->integers, (Shape{1, 15, 7}));
  EXPECT_EQ(decode(tensor("a", number(DType::uint2), {5}).bytes(9, "\xe4\x03"))->integers, (Shape{0, 1, 2, 3, 3}));
}

TEST(OnnxTensors, DecodesTypedFieldsPackedAndNot) {
  EXPECT_EQ(decode(tensor("a", kInt64, {2}).varint(7, 3).varint(7, static_cast<std::uint64_t>(-1)))->integers,
            (Shape{3, -1}));
  EXPECT_EQ(decode(tensor("a", kInt64, {3}).bytes(7, Proto().put(1).put(300).put(2).text()))->integers,
            (Shape{1, 300, 2}));
  EXPECT_EQ(decode(tensor("a", kFloat, {1}).float32(4, 2.5F))->reals, std::vector<double>{2.5});
  EXPECT_EQ(decode(tensor("a", number(DType::float64), {1}).bytes(10, Proto().raw(0.1).text()))->reals,
            std::vector<double>{0.1});
  EXPECT_EQ(decode(tensor("a", kFloat16, {1}).varint(5, 0x3c00))->reals, std::vector<double>{1});
  EXPECT_EQ(decode(tensor("a", number(DType::int32), {1}).varint(5, static_cast<std::uint64_t>(-5)))->integers,
            Shape{-5});
  EXPECT_EQ(decode(tensor("a", number(DType::uint32), {1}).varint(11, 0xffffffffU))->integers, Shape{0xffffffff});
}

TEST(OnnxTensors, EmptyTensorsHaveContent) {
  EXPECT_TRUE(decode(tensor("a", kInt64, {0}))->integers.empty());
  EXPECT_EQ(decode(tensor("a", kInt64, {0, 1'000'000'000'000, 1'000'000'000'000}))->shape.size(), 3U);
}

TEST(OnnxTensors, ContentThatIsLargeMissingOrNoNumberIsLeft) {
  EXPECT_EQ(decode(tensor("a", kFloat, {kMaxFoldedElements + 1})), nullptr);
  EXPECT_EQ(decode(tensor("a", kFloat, {4})), nullptr);
  EXPECT_EQ(decode(tensor("a", kString, {1}).bytes(6, "text")), nullptr);
  EXPECT_EQ(decode(tensor("a", number(DType::uint64), {1}).varint(11, ~std::uint64_t{0})), nullptr);
  EXPECT_EQ(decode(tensor("a", kInt64, {1}).bytes(9, "").varint(14, 1)), nullptr);
}

TEST(OnnxTensors, BytesOfSeveralElementsAreUnpackedOnce) {
  const auto unpacked = [](const Proto& proto, std::int64_t bits) {
    const Source source{"m.onnx", proto.text()};
    Variable variable;
    store(source, parse_tensor(source, source.content), variable);
    unpack(variable, bits);
    unpack(variable, bits);
    Shape sizes;
    for (const Dimension& dimension : variable.dimensions) sizes.push_back(dimension.size);
    return std::tuple(variable.dtype, sizes, variable.value != nullptr);
  };
  const Proto bytes = tensor("a", kUint8, {2, 3}).bytes(9, "abcdef");
  EXPECT_EQ(unpacked(bytes, 4), std::tuple(DType::uint4, Shape({2, 6}), false));
  EXPECT_EQ(unpacked(bytes, 2), std::tuple(DType::uint2, Shape({2, 12}), false));
  EXPECT_EQ(unpacked(bytes, 8), std::tuple(DType::uint8, Shape({2, 3}), true));
  EXPECT_EQ(unpacked(bytes, 3), std::tuple(DType::uint8, Shape({2, 3}), true));
  EXPECT_EQ(unpacked(int64_tensor("a", {1, 2}), 4), std::tuple(DType::int64, Shape({2}), true));
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(unpacked(tensor("a", kUint8, {0, kLargest}), 4), std::tuple(DType::uint8, Shape({0, kLargest}), true));
}

TEST(OnnxTensorsRefuse, ContentOfAnotherLength) {
  EXPECT_EQ(refusal(tensor("w", kFloat, {64, 3}).bytes(9, "123456789012")),
            "'m.onnx' is damaged: tensor 'w' of size [64, 3] float32 needs 768 bytes, holds 12");
  EXPECT_EQ(refusal(tensor("w", kInt64, {3}).varint(7, 1)),
            "'m.onnx' is damaged: tensor 'w' of size [3] has 3 elements, holds fewer");
  EXPECT_EQ(refusal(tensor("w", kInt64, {1}).bytes(7, Proto().put(1).put(2).put(3).text())),
            "'m.onnx' is damaged: tensor 'w' of size [1] has 1 elements, holds more");
}

TEST(OnnxTensorsRefuse, SizesThatCannotBe) {
  EXPECT_EQ(refusal(tensor("w", kFloat, {2, -3})), "'m.onnx': tensor 'w' has the size [2, -3]");
  EXPECT_EQ(refusal(tensor("w", kFloat, {1LL << 40, 1LL << 40})),
            "'m.onnx': tensor 'w' of size [1099511627776, 1099511627776] has more elements than any machine can hold");
}

TEST(OnnxTensorsRefuse, ElementTypesThatAreMissingOrUnknown) {
  EXPECT_EQ(refusal(tensor("w", 0, {2})), "'m.onnx': tensor 'w' states no element type");
  EXPECT_EQ(refusal(tensor("w", 99, {2})),
            "'m.onnx': element type 99 at byte 2 is unknown to this version, which reads 0 to 26 (int2)");
}

TEST(OnnxTensorsRefuse, ExternalContentOutsideTheFolder) {
  const auto external = [](const std::string& location) {
    return tensor("w", kFloat, {2}).message(13, Proto().bytes(1, "location").bytes(2, location)).varint(14, 1);
  };
  for (const std::string location : {"../w.bin", "a/../../w.bin", "/etc/passwd", "C:\\w.bin", "a\\..\\w.bin"}) {
    EXPECT_EQ(refusal(external(location)), "'m.onnx': tensor 'w' keeps its content in '" + location +
                                               "', outside the model's folder; only files beside the model are "
                                               "accepted");
  }
  for (const std::string location : {"w.bin", "weights/..w.bin", "a/b..c"}) {
    EXPECT_EQ(decode(external(location)), nullptr);
  }
}

}  // namespace
}  // namespace latpred::readers
