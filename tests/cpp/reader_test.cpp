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

TEST_F(ReaderTest, ListsFrameworks) {
  EXPECT_EQ(frameworks(), (std::vector<std::string>{"onnx", "pytorch", "paddle", "tensorflow", "keras"}));
}

TEST_F(ReaderTest, MissingFile) { EXPECT_EQ(refusal("m.onnx"), "model file not found: 'm.onnx'"); }

TEST_F(ReaderTest, EmptyFile) {
  const std::string path = write("m.onnx", "");
  EXPECT_EQ(refusal(path), "model file '" + path + "' is empty");
}

TEST_F(ReaderTest, UnknownFrameworkNamesTheNearest) {
  EXPECT_EQ(refusal<InvalidArgumentError>("m.onnx", "onx"),
            "unknown framework 'onx'; did you mean 'onnx'? Valid: onnx, pytorch, paddle, tensorflow, keras");
}

TEST_F(ReaderTest, FrameworkThatContradictsTheContent) {
  const std::string path = write("m.pt", model(relu_parts()).text());
  EXPECT_EQ(refusal(path, "pytorch"), "'" + path + "' is an ONNX model, not a PyTorch model; use framework=\"onnx\"");
  EXPECT_EQ(refusal(path, "keras"), "'" + path + "' is an ONNX model, not a Keras model; use framework=\"onnx\"");
}

TEST_F(ReaderTest, WhatIsNoModelIsNoMatterOfTheFramework) {
  const std::string path = write("m.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n");
  const std::string expected =
      "'" + path + "' is a Git LFS pointer, not the model; run 'git lfs pull' in its repository";
  EXPECT_EQ(refusal(path), expected);
  EXPECT_EQ(refusal(path, "onnx"), expected);
}

TEST_F(ReaderTest, SniffsAPath) {
  const std::string path = write("m.onnx", "hello");
  const SniffedFile text = sniff_path(path);
  EXPECT_EQ(text.kind, "text");
  EXPECT_EQ(text.what, "is a text file, not a model");
  EXPECT_EQ(text.message, "'" + path + "' " + text.what + "; " + text.advice);
  EXPECT_FALSE(text.is_native);
  write("m.onnx", model(relu_parts()).text());
  EXPECT_TRUE(sniff_path(path, "onnx").is_native);
  EXPECT_EQ(message_of<ModelFileError>([&] { static_cast<void>(sniff_path(path, "paddle")); }),
            "'" + path + "' is an ONNX model, not a Paddle program; use framework=\"onnx\"");
}

TEST_F(ReaderTest, FolderStandsForTheModelInIt) {
  EXPECT_EQ(refusal(folder_), "'" + folder_.string() + "' is an empty folder");
  write("notes.txt", "x");
  EXPECT_EQ(refusal(folder_),
            "'" + folder_.string() + "' is a folder without a model of a known name; give the model file itself");
  const std::string path = write("m.onnx", model(relu_parts()).text());
  EXPECT_EQ(read_program(folder_).source.framework, "onnx");
  EXPECT_EQ(read_program(folder_).source.path, folder_.string());
  EXPECT_EQ(sniff_path(folder_).path, path);
  const std::string second = write("n.onnx", "x");
  EXPECT_EQ(refusal(folder_),
            "'" + folder_.string() + "' is a folder with 2 models; give one of them: '" + path + "', '" + second + "'");
  write("tfhub_module.pb", "x");
  EXPECT_EQ(refusal(folder_), "'" + folder_.string() +
                                  "' is a TensorFlow Hub module of TensorFlow 1; load it with tensorflow_hub and save "
                                  "it with tf.saved_model.save");
}

TEST_F(ReaderTest, FolderOfAHuggingFaceModelStaysAFolder) {
  write("config.json", R"({"model_type": "bert", "hidden_size": 768})");
  write("model.safetensors", "x");
  const SniffedFile found = sniff_path(folder_);
  EXPECT_EQ(found.kind, "hf_folder");
  EXPECT_EQ(found.path, folder_.string());
  EXPECT_EQ(found.framework, "pytorch");
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
