#include "latpred/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"

namespace latpred {
namespace {

using namespace latpred::testing;

class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() : folder_(std::filesystem::path(::testing::TempDir()) / ("reader_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ReaderTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  template <typename ErrorType = ModelFileError>
  static std::string refusal(const std::string& path, std::string_view framework = "") {
    return message_of<ErrorType>([&] { static_cast<void>(read_program(path, framework)); });
  }

  std::filesystem::path folder_;
};

TEST_F(ReaderTest, ContentDecidesWhateverTheSuffix) {
  const std::string path = write("model.bin", model(relu_parts()).text());
  for (const std::string_view framework : {"", "onnx"}) {
    const Program program = read_program(path, framework);
    EXPECT_EQ(program.source.path, path);
    EXPECT_EQ(program.source.framework, "onnx");
    EXPECT_EQ(program.main.statements.size(), 1U);
  }
}

TEST_F(ReaderTest, ListsFrameworks) { EXPECT_EQ(frameworks(), std::vector<std::string>{"onnx"}); }

TEST_F(ReaderTest, MissingFile) { EXPECT_EQ(refusal("m.onnx"), "model file not found: 'm.onnx'"); }

TEST_F(ReaderTest, EmptyFile) {
  const std::string path = write("m.onnx", "");
  EXPECT_EQ(refusal(path), "model file '" + path + "' is empty");
}

TEST_F(ReaderTest, UnknownFrameworkNamesTheNearest) {
  EXPECT_EQ(refusal<InvalidArgumentError>("m.onnx", "onx"),
            "unknown framework 'onx'; did you mean 'onnx'? Valid: onnx");
}

TEST_F(ReaderTest, FrameworkOfALaterVersionIsRefusedWithAWayOut) {
  EXPECT_EQ(refusal<InvalidArgumentError>("m.pt", "pytorch"),
            "framework 'pytorch' is not read by this version, which reads onnx; export the network with "
            "torch.onnx.export(module, example_inputs, 'model.onnx', dynamo=True)");
}

TEST_F(ReaderTest, FrameworkThatContradictsTheContent) {
  const std::string path = write("m.onnx", "\x80\x02}q\x01.");
  EXPECT_EQ(refusal(path, "onnx"),
            "'" + path +
                "' is a Python pickle, not an ONNX model; this version reads ONNX files only: it has no graph: build "
                "the module, load these weights into it, then use torch.onnx.export");
}

TEST_F(ReaderTest, GitLfsPointer) {
  const std::string path = write("m.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n");
  EXPECT_EQ(refusal(path), "'" + path +
                               "' is a Git LFS pointer, not the model; this version reads ONNX files only: run 'git "
                               "lfs pull' in its repository");
}

TEST_F(ReaderTest, FolderNamesTheModelInIt) {
  EXPECT_EQ(refusal(folder_), "'" + folder_.string() + "' is a folder, not a model file; give the .onnx file in it");
  write("saved_model.pb", "x");
  EXPECT_EQ(refusal(folder_),
            "'" + folder_.string() +
                "' is a TensorFlow SavedModel folder; this version reads ONNX files only: convert it with tf2onnx: "
                "python -m tf2onnx.convert --help lists the option for this format");
  const std::string path = write("m.onnx", "x");
  EXPECT_EQ(refusal(folder_), "'" + folder_.string() + "' is a folder; did you mean '" + path + "'?");
}

TEST_F(ReaderTest, CutFileSaysWhereItEnds) {
  const std::string whole = model(relu_parts()).text();
  const std::string path = write("m.onnx", whole.substr(0, whole.size() - 20));
  EXPECT_EQ(refusal(path), "'" + path + "' is damaged: field 7 at byte 8 says 56 bytes, 40 remain");
}

TEST_F(ReaderTest, MissingWeightsBesideTheModelAreAWarning) {
  GraphParts parts = relu_parts();
  parts.initializers = {
      tensor("w", kFloat, {4, 4}).message(13, Proto().bytes(1, "location").bytes(2, "weights.bin")).varint(14, 1)};
  const std::string path = write("m.onnx", model(parts).text());
  EXPECT_EQ(read_program(path).warnings,
            std::vector<std::string>{
                "the file of weights 'weights.bin' is missing; their sizes are known from the model itself"});
  write("weights.bin", "x");
  EXPECT_TRUE(read_program(path).warnings.empty());
}

}  // namespace
}  // namespace latpred
