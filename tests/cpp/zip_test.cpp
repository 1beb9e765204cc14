#include "readers/containers/zip.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "latpred/error.h"
#include "message_of.h"
#include "zip_writer.h"

namespace latpred::readers {
namespace {

using testing::message_of;
using testing::zip_archive;
using testing::ZipItem;

// What reading the entry 'a' of `content` says.
std::string refusal(const std::string& content) {
  return message_of<ModelFileError>([&] {
    const Source source{"m.pt2", content};
    const ZipArchive archive(source);
    (void)archive.checked(*archive.find("a"));
  });
}

TEST(Zip, ChecksumIsThatOfTheSpecification) {
  EXPECT_EQ(crc32("123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32(""), 0U);
  std::string text;  // every length around the eight bytes that are taken at once
  std::uint32_t plain = 0xFFFFFFFF;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(crc32(text), ~plain);
    const auto byte = static_cast<unsigned char>(37 * i + 11);
    plain ^= byte;
    for (int bit = 0; bit < 8; ++bit) plain = (plain >> 1) ^ ((plain & 1) != 0 ? 0xEDB88320U : 0U);
    text.push_back(static_cast<char>(byte));
  }
}

TEST(Zip, GivesViewsOfStoredEntries) {
  for (const bool is_zip64 : {false, true}) {
    const std::string content = zip_archive({{.name = "root/a", .content = "first", .is_zip64 = is_zip64},
                                             {.name = "root/b/a", .content = "second", .is_zip64 = is_zip64},
                                             {.name = "aa", .content = "", .is_zip64 = is_zip64}},
                                            is_zip64);
    const Source source{"m.pt2", content};
    const ZipArchive archive(source);
    ASSERT_EQ(archive.entries().size(), 3U);
    EXPECT_EQ(archive.find("a"), nullptr);
    ASSERT_NE(archive.find("root/b/a"), nullptr);
    EXPECT_EQ(archive.checked(*archive.find("root/b/a")), "second");
    EXPECT_EQ(archive.checked(*archive.find("aa")), "");
    ASSERT_NE(archive.find_ending("a"), nullptr);
    EXPECT_EQ(archive.stored(*archive.find_ending("a")), "first");  // at a slash only
    const std::string_view view = archive.stored(*archive.find("root/a"));
    EXPECT_EQ(view.data(), content.data() + 30 + 6);
    EXPECT_EQ(zip_entries(content), (std::vector<std::string_view>{"root/a", "root/b/a", "aa"}));
  }
}

TEST(Zip, TakesAnArchiveWithAComment) {
  std::string content = zip_archive({{.name = "a", .content = "text"}});
  content[content.size() - 2] = 5;
  content += "hello";
  const Source source{"m.pt2", content};
  EXPECT_EQ(ZipArchive(source).entries().size(), 1U);
}

TEST(Zip, RefusesEntriesThatItCannotView) {
  EXPECT_EQ(refusal(zip_archive({{.name = "a", .content = "x", .method = 8}})),
            "'m.pt2': its entry 'a' is packed (zip method 8), which the framework itself does not do; unpack the "
            "archive and pack it again with zip -0");
  EXPECT_EQ(refusal(zip_archive({{.name = "a", .content = "x", .flags = 1}})),
            "'m.pt2': its entry 'a' is encrypted; unpack it and save it without a password");
  EXPECT_EQ(refusal(zip_archive({{.name = "a", .content = "x", .crc_xor = 1}})),
            "'m.pt2' is damaged: the checksum of the zip entry 'a' does not fit its content");
}

TEST(Zip, RefusesTwoEntriesOfOneName) {
  EXPECT_EQ(refusal(zip_archive({{.name = "a", .content = "x"}, {.name = "b", .content = ""}, {.name = "a"}})),
            "'m.pt2' is damaged: the zip archive has two entries 'a'");
}

// How a bomb of a few kilobytes claims to hold terabytes: many entries, the same bytes.
TEST(Zip, RefusesEntriesOverOneAnother) {
  const std::string content = zip_archive({{.name = "a", .content = "12345678"}, {.name = "b", .offset = 4}});
  EXPECT_EQ(refusal(content), "'m.pt2' is damaged: the zip entries 'a' and 'b' lie over one another");
}

TEST(Zip, RefusesSizesThatDoNotFit) {
  EXPECT_NE(refusal(zip_archive({{.name = "a", .content = "x", .size = 4000}})).find("says that 'a' has 4000 bytes"),
            std::string::npos);
  for (const std::int64_t huge : {std::int64_t{1} << 40, INT64_MAX}) {
    EXPECT_NE(refusal(zip_archive({{.name = "a", .is_zip64 = true, .size = huge}}, true)).find("the entries end at"),
              std::string::npos);
    EXPECT_NE(refusal(zip_archive({{.name = "a", .is_zip64 = true, .offset = huge}}, true)).find("the entries end at"),
              std::string::npos);
  }
}

TEST(Zip, RefusesEveryArchiveThatIsCutOff) {
  for (const bool is_zip64 : {false, true}) {
    const std::string content = zip_archive(
        {{.name = "a", .content = "text", .is_zip64 = is_zip64}, {.name = "b", .is_zip64 = is_zip64}}, is_zip64);
    for (std::size_t size = 0; size < content.size(); ++size) {
      EXPECT_NE(refusal(content.substr(0, size)).find("is damaged: "), std::string::npos) << size;
    }
  }
}

TEST(Zip, RefusesOrReadsEveryArchiveWithAFlippedByte) {
  const std::string content =
      zip_archive({{.name = "a", .content = "text", .is_zip64 = true}, {.name = "b", .content = "more"}}, true);
  for (std::size_t i = 0; i < content.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      const Source source{"m.pt2", damaged};
      try {
        const ZipArchive archive(source);
        for (const ZipEntry& entry : archive.entries()) (void)archive.checked(entry);
      } catch (const ModelFileError&) {
        // Said what is wrong: as good as an answer.
      }
    }
  }
}

}  // namespace
}  // namespace latpred::readers
