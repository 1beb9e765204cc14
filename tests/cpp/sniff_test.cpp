#include "readers/sniff.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "onnx_writer.h"

namespace latpred::readers {
namespace {

using namespace std::string_literals;
using namespace latpred::testing;

// A zip archive of empty, stored entries.
std::string zip(const std::vector<std::string>& names) {
  std::string entries;
  std::string directory;
  for (const std::string& name : names) {
    const auto offset = static_cast<std::uint32_t>(entries.size());
    const auto size = static_cast<std::uint16_t>(name.size());
    entries += "PK\x03\x04" + std::string(22, '\0') + Proto().raw(size).raw(std::uint16_t{0}).text() + name;
    directory += "PK\x01\x02" + std::string(24, '\0') + Proto().raw(size).text() + std::string(12, '\0') +
                 Proto().raw(offset).text() + name;
  }
  return entries + directory + "PK\x05\x06" + std::string(8, '\0') +
         Proto()
             .raw(static_cast<std::uint32_t>(directory.size()))
             .raw(static_cast<std::uint32_t>(entries.size()))
             .raw(std::uint16_t{0})
             .text();
}

struct Sample {
  std::string kind;
  std::string content;
};

std::vector<Sample> samples() {
  const std::string header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  const Proto node_def = Proto().bytes(1, "x").bytes(2, "Placeholder");
  const Proto block_desc = Proto().varint(1, 0).varint(2, static_cast<std::uint64_t>(-1));
  return {
      {"onnx", model(relu_parts()).text()},
      {"git_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n"},
      {"html", "\n<!DOCTYPE html><html><body>Sign in</body></html>"},
      {"openvino", "<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\"></net>"},
      {"torch_export", zip({"model/archive_format", "model/data/weights/w"})},
      {"torch_export", zip({"serialized_exported_program.json", "version"})},
      {"torchscript", zip({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"})},
      {"torch_pickle", zip({"m/data.pkl", "m/data/0"})},
      {"keras", zip({"metadata.json", "config.json", "model.weights.h5"})},
      {"numpy_archive", zip({"a.npy", "b.npy"})},
      {"zipped_onnx", zip({"resnet/model.onnx"})},
      {"zip", zip({"a.txt"})},
      {"zip", "PK\x03\x04 cut off"},
      {"gzip", "\x1f\x8b\x08 packed"},
      {"tar", std::string(257, '\0') + "ustar" + std::string(250, '\0')},
      {"hdf5", "\x89HDF\r\n\x1a\n and more"},
      {"tflite", "\x1c\0\0\0TFL3 and more"s},
      {"ort", "\x1c\0\0\0ORTM and more"s},
      {"safetensors", Proto().raw(std::uint64_t{header.size()}).text() + header + "\0\0\0\0"s},
      {"gguf", "GGUF\x03\0\0\0"s},
      {"tensorrt", "ftrt\0\0\0\0"s},
      {"pickle", "\x80\x02}q\x01."},
      {"paddle_pir", R"({"base_code":{"magic":"pir","trainable":true,"version":4},"program":{}})"},
      {"json", R"({"a": 1})"},
      {"text", "hello\n"},
      {"saved_model", Proto().varint(1, 1).bytes(2, "\x0a\x02\x08\x01").text()},
      {"graph_def", Proto().message(1, node_def).message(1, node_def).text()},
      {"paddle_program", Proto().message(1, block_desc).text()},
      {"unrecognised", "\xde\xad\xbe\xef\0\0\0\0"s},
  };
}

TEST(Sniff, TellsEveryKindByItsContent) {
  for (const Sample& sample : samples()) EXPECT_EQ(sniff(sample.content).name, sample.kind);
}

TEST(Sniff, EveryRowHasASample) {
  std::set<std::string> sampled;
  for (const Sample& sample : samples()) sampled.insert(sample.kind);
  for (const FileKind& kind : file_kinds()) EXPECT_TRUE(sampled.contains(std::string(kind.name))) << kind.name;
}

TEST(Sniff, KnowsAnOnnxFileThatIsCutOff) {
  const std::string content = model(relu_parts()).text();
  EXPECT_EQ(sniff(std::string_view(content).substr(0, content.size() / 2)).name, "onnx");
}

TEST(Sniff, KnowsAnOnnxFileWithoutVersion) {
  EXPECT_EQ(sniff(Proto().message(7, graph(relu_parts())).message(8, opset(17)).text()).name, "onnx");
}

}  // namespace
}  // namespace latpred::readers
