#include "readers/containers/hdf5.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

std::string little(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}
std::string padded(std::string bytes) {
  while (bytes.size() % 8 != 0) bytes += '\0';
  return bytes;
}

constexpr std::uint64_t kHeaderAt = 96;
constexpr std::uint64_t kBlockAt = 512;
constexpr std::uint64_t kHeapAt = 1024;

// Version 0 of everything, as h5py writes it: the root group's header at kHeaderAt.
std::string file(const std::string& header, const std::string& block = "", const std::string& heap = "") {
  std::string result = "\x89HDF\r\n\x1a\n" + std::string(5, '\0') + little(8, 1) + little(8, 1) + std::string(9, '\0');
  result += little(0, 8) + little(~0ULL, 8) + little(4096, 8) + little(~0ULL, 8) + little(0, 8) + little(kHeaderAt, 8);
  result.resize(kHeaderAt);
  result += header;
  result.resize(kBlockAt);
  result += block;
  result.resize(kHeapAt);
  return result + heap;
}
std::string header(const std::string& messages) {
  return little(1, 1) + little(0, 1) + little(1, 2) + little(1, 4) + little(messages.size(), 4) + little(0, 4) +
         messages;
}
std::string message(int type, const std::string& data) {
  return little(static_cast<std::uint64_t>(type), 2) + little(data.size(), 2) + little(0, 4) + data;
}
std::string fixed_text(std::size_t size) { return little(0x13, 1) + little(0, 3) + little(size, 4); }
std::string heap_text() { return little(0x19, 1) + little(1, 1) + little(0, 2) + little(16, 4) + fixed_text(1); }
std::string scalar() { return little(1, 1) + little(0, 1) + little(0, 6); }
std::string attribute(const std::string& name, const std::string& type, const std::string& data, int version = 1) {
  const std::string zero_ended = name + '\0';
  std::string result = little(static_cast<std::uint64_t>(version), 1) + little(0, 1) + little(zero_ended.size(), 2) +
                       little(type.size(), 2) + little(scalar().size(), 2);
  if (version == 3) return result + little(0, 1) + zero_ended + type + scalar() + data;
  if (version == 2) return result + zero_ended + type + scalar() + data;
  return result + padded(zero_ended) + padded(type) + padded(scalar()) + data;
}
std::string heap(const std::string& text, std::uint64_t index = 1) {
  const std::string object = little(index, 2) + little(1, 2) + little(0, 4) + little(text.size(), 8) + padded(text);
  return "GCOL" + little(1, 4) + little(16 + object.size(), 8) + object;
}
std::string heap_reference(std::uint64_t size) { return little(size, 4) + little(kHeapAt, 8) + little(1, 4); }

std::optional<std::string> text(const std::string& content, const std::string& name = "a") {
  const Source source{"m.h5", content};
  return Hdf5RootAttributes(source).text(name);
}
std::string refusal(const std::string& content) {
  return message_of<ModelFileError>([&] { static_cast<void>(text(content)); });
}

TEST(Hdf5, ReadsTextOfEveryVersionOfAttribute) {
  for (const int version : {1, 2, 3}) {
    SCOPED_TRACE(version);
    EXPECT_EQ(text(file(header(message(0x0C, attribute("a", fixed_text(5), "hello", version))))), "hello");
  }
  EXPECT_EQ(text(file(header(message(0x0C, attribute("b", fixed_text(5), "hello"))))), std::nullopt);
}

TEST(Hdf5, ReadsTextFromTheHeap) {
  EXPECT_EQ(text(file(header(message(0x0C, attribute("a", heap_text(), heap_reference(5)))), "", heap("hello"))),
            "hello");
}

TEST(Hdf5, FollowsTheContinuationOfAHeader) {
  const std::string block = message(0x0C, attribute("a", fixed_text(5), "hello"));
  EXPECT_EQ(text(file(header(message(0x10, little(kBlockAt, 8) + little(block.size(), 8))), block)), "hello");
}

TEST(Hdf5, ReadsTheNewerHeader) {
  const std::string data = attribute("a", fixed_text(5), "hello", 3);
  const std::string messages = little(0x0C, 1) + little(data.size(), 2) + little(0, 1) + data;
  std::string content = "\x89HDF\r\n\x1a\n" + little(2, 1) + little(8, 1) + little(8, 1) + little(0, 1) + little(0, 8) +
                        little(~0ULL, 8) + little(4096, 8) + little(48, 8) + little(0, 4);
  content += "OHDR" + little(2, 1) + little(0, 1) + little(messages.size(), 1) + messages + little(0, 4);
  EXPECT_EQ(text(content), "hello");
}

TEST(Hdf5, RefusesWhatIsBroken) {
  const std::string whole =
      file(header(message(0x0C, attribute("a", heap_text(), heap_reference(5)))), "", heap("hello"));
  // Cut off anywhere that is read: refused, never read past the end.
  for (std::size_t size = 0; size + 3 < whole.size(); ++size) {
    const std::string content = whole.substr(0, size);
    const Source source{"m.h5", content};
    EXPECT_THROW(static_cast<void>(Hdf5RootAttributes(source).text("a")), ModelFileError) << size;
  }
  struct Row {
    std::string content;
    std::string words;
  };
  const std::vector<Row> rows{
      {"hello", "signature is missing"},
      {file(header(message(0x0C, attribute("a", little(0x10, 1) + little(0, 3) + little(4, 4), "hell")))),
       "is no text"},
      {file(header(message(0x0C, attribute("a", fixed_text(5), "\xff\xff\xff\xff\xff")))), "is no UTF-8"},
      {file(header(message(0x0C, attribute("a", heap_text(), heap_reference(5)))), "", heap("hello", 2)),
       "object 1 is missing"},
      {file(header(message(0x10, little(kHeaderAt + 16, 8) + little(24, 8)))), "1 024 blocks"},
      {file(header(message(0x10, little(~0ULL - 8, 8) + little(24, 8)))), "is damaged"},
      {file(header(message(0x0C, attribute("a", fixed_text(5), "hello")).substr(0, 40))), "longer than"},
      {file(header(message(0x15, little(0, 2) + little(64, 8) + little(64, 8)))), "dense form"},
  };
  for (const Row& row : rows) {
    const std::string found = refusal(row.content);
    EXPECT_NE(found.find(row.words), std::string::npos) << found;
  }
}

// A node of a group's tree with `num_children` children, all of which are the node itself.
TEST(Hdf5, RefusesAGroupThatLeadsRoundInCircles) {
  constexpr std::uint64_t kNumChildren = 3;
  std::string node =
      "TREE" + little(0, 1) + little(0, 1) + little(kNumChildren, 2) + little(~0ULL, 8) + little(~0ULL, 8);
  for (std::uint64_t i = 0; i < kNumChildren; ++i) node += little(0, 8) + little(kBlockAt, 8);
  const std::string names = "HEAP" + little(0, 4) + little(64, 8) + little(0, 8) + little(kHeapAt, 8);
  const std::string content = file(header(message(0x11, little(kBlockAt, 8) + little(kHeapAt, 8))), node, names);
  const Source source{"m.h5", content};
  EXPECT_NE(message_of<ModelFileError>([&] {
              (void)Hdf5RootAttributes(source).num_members();
            }).find("more than 65 536 entries"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred::readers
