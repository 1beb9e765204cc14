#include "readers/containers/wire.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"

namespace latpred::readers {
namespace {

using testing::message_of;
using testing::Proto;

// Reads every field of `content`.
std::vector<WireField> read_all(const std::string& content) {
  const Source source{"m.onnx", content};
  std::vector<WireField> fields;
  WireReader reader(source, source.content);
  for (WireField field; reader.next(field);) fields.push_back(field);
  return fields;
}
std::string damage(const std::string& content) {
  return message_of<ModelFileError>([&] { read_all(content); });
}

TEST(Wire, ReadsEveryWireType) {
  const std::string content = Proto().varint(1, 300).bytes(2, "abc").float32(3, 1.5F).put(4 << 3 | 1).raw(2.5).text();
  const std::vector<WireField> fields = read_all(content);
  ASSERT_EQ(fields.size(), 4U);
  EXPECT_EQ(fields[0].integer(), 300);
  EXPECT_EQ(fields[1].bytes, "abc");
  EXPECT_EQ(fields[1].offset, 3);
  EXPECT_EQ(fields[2].float32(), 1.5);
  EXPECT_EQ(fields[3].float64(), 2.5);
}

TEST(Wire, ReadsNegativeNumbersAsTenBytes) {
  EXPECT_EQ(read_all(Proto().varint(1, static_cast<std::uint64_t>(-1)).text()).at(0).integer(), -1);
}

TEST(Wire, LengthPastTheEndNamesFieldByteAndSizes) {
  const std::string content =
      Proto().varint(1, 8).text() + Proto().put(7 << 3 | 2).put(40960).text() + std::string(1203, 'x');
  EXPECT_EQ(damage(content), "'m.onnx' is damaged: field 7 at byte 2 says 40 960 bytes, 1 203 remain");
}

TEST(Wire, OffsetIsCarriedByTheError) {
  try {
    read_all(Proto().varint(1, 8).put(7 << 3 | 2).put(9).text());
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_EQ(error.data().offset, 2);
    EXPECT_EQ(error.data().path, "m.onnx");
  }
}

TEST(Wire, LengthOf64BitsDoesNotOverflow) {
  const std::string content = Proto().put(7 << 3 | 2).put(~std::uint64_t{0}).text();
  EXPECT_EQ(damage(content), "'m.onnx' is damaged: field 7 at byte 0 says 9 223 372 036 854 775 807 bytes, 0 remain");
}

TEST(Wire, VarintLongerThanTenBytesIsRefused) {
  EXPECT_EQ(damage("\x08" + std::string(11, '\x80')),
            "'m.onnx' is damaged: the number at byte 1 is longer than 10 bytes");
}

TEST(Wire, CutVarintIsRefused) {
  EXPECT_EQ(damage("\x08\x80"), "'m.onnx' is damaged: the number at byte 1 is cut off");
}

TEST(Wire, CutFixedValueIsRefused) {
  EXPECT_EQ(damage("\x15\x01"), "'m.onnx' is damaged: the value at byte 0 needs 4 bytes, 1 remain");
}

TEST(Wire, WireTypesThatDoNotExistAreRefused) {
  EXPECT_EQ(damage("\x0b"), "'m.onnx' is damaged: field 1 at byte 0 has wire type 3, which does not exist");
}

TEST(Wire, FieldNumberZeroIsRefused) {
  EXPECT_EQ(damage(Proto().put(0).put(1).text()),
            "'m.onnx' is damaged: byte 0 starts field number 0, which no message has");
}

TEST(Wire, FieldOfAnotherTypeIsRefused) {
  const std::string content = Proto().varint(7, 1).text();
  const Source source{"m.onnx", content};
  WireField field;
  WireReader(source, source.content).next(field);
  EXPECT_EQ(message_of<ModelFileError>([&] { static_cast<void>(bytes_of(source, field)); }),
            "'m.onnx' is damaged: field 7 at byte 0 has wire type 0, expected 2 (bytes)");
}

TEST(Wire, TextsMustBeUtf8) {
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_utf8("\xc3"));              // cut off
  EXPECT_FALSE(is_utf8("\xc0\xaf"));          // overlong
  EXPECT_FALSE(is_utf8("\xe0\x80\xaf"));      // overlong
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));  // past U+10FFFF
  EXPECT_FALSE(is_utf8("\xff"));
}

}  // namespace
}  // namespace latpred::readers
