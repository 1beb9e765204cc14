#include "latpred/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest()
      : folder_(std::filesystem::path(::testing::TempDir()) / ("mapped_file_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  static std::string refusal(const std::string& path) {
    return message_of<ModelFileError>([&] { const MappedFile file(path); });
  }

  std::filesystem::path folder_;
};

TEST_F(MappedFileTest, ShowsTheContentAndMoves) {
  MappedFile file(write("a", "hello"));
  EXPECT_EQ(file.content(), "hello");
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.content(), "hello");
}

TEST_F(MappedFileTest, MissingFile) {
  const std::string path = folder_ / "nowhere.onnx";
  EXPECT_EQ(refusal(path), "model file not found: '" + path + "'");
  EXPECT_EQ(refusal(write("a", "x") + "/b"), "model file not found: '" + (folder_ / "a").string() + "/b'");
}

TEST_F(MappedFileTest, Folder) {
  EXPECT_EQ(refusal(folder_), "'" + folder_.string() + "' is a folder, not a model file");
}

TEST_F(MappedFileTest, EmptyFile) {
  const std::string path = write("empty.onnx", "");
  EXPECT_EQ(refusal(path), "model file '" + path + "' is empty");
}

TEST_F(MappedFileTest, DeviceInsteadOfFile) { EXPECT_EQ(refusal("/dev/null"), "'/dev/null' is no regular file"); }

TEST_F(MappedFileTest, NoPermission) {
  const std::string path = write("secret.onnx", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  // The superuser may read everything: be nobody for a moment.
  constexpr uid_t kNobody = 65534;
  const bool is_superuser = geteuid() == 0;
  if (is_superuser) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  EXPECT_EQ(refusal(path), "no permission to read model file '" + path + "'");
  if (is_superuser) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

}  // namespace
}  // namespace latpred
