#include "readers/containers/flatbuffer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "flat_writer.h"
#include "latpred/error.h"
#include "message_of.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

std::string sample() {
  const Flat child = Flat().text(0, "child").number<std::int64_t>(1, -5);
  return Flat()
      .number<std::int32_t>(0, 7)
      .text(1, "name")
      .numbers<std::int32_t>(2, {1, -2, 3})
      .table(3, child)
      .tables(5, {child, Flat(), child})
      .file("TEST");
}

TEST(Flatbuffer, ReadsFieldsByNumber) {
  const std::string content = sample();
  const Source source{"m.bin", content};
  const Flatbuffer buffer(source);
  const FlatTable root = buffer.root();
  EXPECT_EQ(root.number<std::int32_t>(0, 0), 7);
  EXPECT_EQ(root.text(1), "name");
  EXPECT_EQ(root.numbers<std::int32_t>(2), (std::vector<std::int32_t>{1, -2, 3}));
  EXPECT_EQ(root.table(3)->text(0), "child");
  EXPECT_EQ(root.table(3)->number<std::int64_t>(1, 0), -5);
  EXPECT_EQ(root.tables(5).size(), 3U);
  EXPECT_EQ(root.tables(5).at(2).text(0), "child");
}

TEST(Flatbuffer, AbsentFieldsHaveTheirDefaults) {
  const std::string content = sample();
  const Source source{"m.bin", content};
  const Flatbuffer buffer(source);
  const FlatTable root = buffer.root();
  for (const int field : {4, 6, 1000}) {
    EXPECT_FALSE(root.has(field));
    EXPECT_EQ(root.number<std::int32_t>(field, 42), 42);
    EXPECT_EQ(root.text(field), "");
    EXPECT_TRUE(root.numbers<float>(field).empty());
    EXPECT_FALSE(root.table(field).has_value());
    EXPECT_EQ(root.tables(field).size(), 0U);
    EXPECT_NE(message_of<ModelFileError>([&] { (void)root.tables(field).at(0); }).find("entry 0 of a list of 0"),
              std::string::npos);
  }
}

void read_all(const std::string& content) {
  const Source source{"m.bin", content};
  const Flatbuffer buffer(source);
  const FlatTable root = buffer.root();
  (void)root.text(1);
  (void)root.numbers<std::int32_t>(2);
  (void)root.table(3).value().text(0);
  const FlatTables tables = root.tables(5);
  for (std::size_t i = 0; i < tables.size(); ++i) (void)tables.at(i).text(0);
}

TEST(Flatbuffer, EveryCutIsNoticed) {
  const std::string content = sample();
  read_all(content);
  for (std::size_t size = 0; size < content.size(); ++size) {
    const std::string message = message_of<ModelFileError>([&] { read_all(content.substr(0, size)); });
    EXPECT_TRUE(message.starts_with("'m.bin' is damaged: ")) << message;
  }
}

TEST(Flatbuffer, EveryByteMayBeWrong) {
  const std::string content = sample();
  for (std::size_t position = 0; position < content.size(); ++position) {
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string changed = content;
      changed[position] = byte;
      try {
        read_all(changed);
      } catch (const ModelFileError&) {
      } catch (const std::bad_optional_access&) {  // the child is gone: absent
      }
    }
  }
}

TEST(Flatbuffer, SaysWhereAnOffsetLeads) {
  std::string content = sample();
  content[0] = content[1] = content[2] = content[3] = '\x7f';
  EXPECT_EQ(message_of<ModelFileError>([&] { read_all(content); }),
            "'m.bin' is damaged: the offset at byte 0 leads 2139062143 bytes on, outside of the file");
}

TEST(Flatbuffer, TextMustBeUtf8) {
  EXPECT_NE(message_of<ModelFileError>([] { read_all(Flat().text(1, "\xff\xfe").file("TEST")); }).find("is not UTF-8"),
            std::string::npos);
}

// A thousand tables that are one, which points at a megabyte: a gigabyte to copy.
TEST(Flatbuffer, SharedPartsDoNotMultiply) {
  const std::string content = Flat().numbers<std::int32_t>(0, std::vector<std::int32_t>(100'000)).file("TEST");
  const Source source{"m.bin", content};
  const Flatbuffer buffer(source);
  EXPECT_EQ(message_of<ModelFileError>([&] {
              for (int i = 0; i < 1000; ++i) (void)buffer.root().numbers<std::int32_t>(0);
            }),
            "'m.bin' is damaged: its parts together are far larger than the file");
}

}  // namespace
}  // namespace latpred::readers
