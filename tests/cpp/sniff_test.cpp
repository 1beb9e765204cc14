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

// A zip archive of stored entries, all with the same content.
std::string zip(const std::vector<std::string>& names, const std::string& content = "") {
  std::string entries;
  std::string directory;
  const std::string sizes =
      Proto().raw(static_cast<std::uint32_t>(content.size())).raw(static_cast<std::uint32_t>(content.size())).text();
  for (const std::string& name : names) {
    const auto offset = static_cast<std::uint32_t>(entries.size());
    const auto size = static_cast<std::uint16_t>(name.size());
    entries +=
        "PK\x03\x04" + std::string(14, '\0') + sizes + Proto().raw(size).raw(std::uint16_t{0}).text() + name + content;
    directory += "PK\x01\x02" + std::string(16, '\0') + sizes + Proto().raw(size).text() + std::string(12, '\0') +
                 Proto().raw(offset).text() + name;
  }
  const auto count = static_cast<std::uint16_t>(names.size());
  return entries + directory + "PK\x05\x06" + std::string(4, '\0') +
         Proto()
             .raw(count)
             .raw(count)
             .raw(static_cast<std::uint32_t>(directory.size()))
             .raw(static_cast<std::uint32_t>(entries.size()))
             .raw(std::uint16_t{0})
             .text();
}

struct Sample {
  std::string kind;
  std::string content;
};

// The object of torch.save in a pickle, and the magic number with which older versions start.
const std::string kEmptyDict = "\x80\x02}q\x01.";
const std::string kForeignClass =
    "\x80\x02"
    "cmodels.yolo\nModel\nq\x01)\x81.";
const std::string kMagic = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."s;

std::vector<Sample> samples() {
  const std::string header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
  const Proto node_def = Proto().bytes(1, "x").bytes(2, "Placeholder");
  const Proto block_desc = Proto().varint(1, 0).varint(2, static_cast<std::uint64_t>(-1));
  const Proto meta_info = Proto().message(2, Proto().bytes(1, "ops")).bytes(5, "2.21.0");
  const Proto tensor_desc = Proto().varint(1, 5).varint(2, 3);
  return {
      {"onnx", model(relu_parts()).text()},
      {"git_lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n"},
      {"html", "\n<!DOCTYPE html><html><body>Sign in</body></html>"},
      {"openvino", "<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\"></net>"},
      {"exported_program", zip({"model/archive_format", "model/models/model.json", "model/data/weights/w"})},
      {"exported_program", zip({"serialized_exported_program.json", "version"})},
      {"aot_inductor", zip({"model/archive_format", "model/data/aotinductor/model/wrapper.so"})},
      {"torch_archive", zip({"model/archive_format", "model/version"})},
      {"torchscript", zip({"m/data.pkl", "m/code/__torch__.py", "m/constants.pkl"})},
      {"torch_weights", zip({"m/data.pkl", "m/data/0"}, kEmptyDict)},
      {"torch_weights", kMagic + kEmptyDict + kEmptyDict + kEmptyDict + kEmptyDict + "raw"},
      {"torch_module", zip({"m/data.pkl", "m/data/0"}, kForeignClass)},
      {"torch_module", kMagic + kEmptyDict + kEmptyDict + kForeignClass + kEmptyDict + "raw"},
      {"keras", zip({"metadata.json", "config.json", "model.weights.h5"})},
      {"numpy_archive", zip({"a.npy", "b.npy"})},
      {"zipped_model", zip({"resnet/model.onnx"})},
      {"zip", zip({"a.txt"})},
      {"cut_zip", "PK\x03\x04 cut off"},
      {"packed", "\x1f\x8b\x08 packed"},
      {"packed", "\x28\xb5\x2f\xfd packed"},
      {"tar", std::string(257, '\0') + "ustar" + std::string(250, '\0')},
      {"hdf5", "\x89HDF\r\n\x1a\n and more"},
      {"tflite", "\x1c\0\0\0TFL3 and more"s},
      {"executorch", "\x1c\0\0\0ET12 and more"s},
      {"ort", "\x1c\0\0\0ORTM and more"s},
      {"safetensors", Proto().raw(std::uint64_t{header.size()}).text() + header + "\0\0\0\0"s},
      {"gguf", "GGUF\x03\0\0\0"s},
      {"tensorrt", "ftrt\0\0\0\0"s},
      {"numpy", "\x93NUMPY\x01\0"s},
      {"pickle", kEmptyDict},
      {"paddle_pickle", "\x80\x02}X\x1b\0\0\0StructuredToParameterName@@}s."s},
      {"paddle_parameters", std::string(16, '\0') +
                                Proto().raw(static_cast<std::int32_t>(tensor_desc.text().size())).text() +
                                tensor_desc.text() + std::string(12, '\0')},
      {"paddle_pir", R"({"base_code":{"magic":"pir","trainable":true,"version":4},"program":{}})"},
      {"hf_folder", R"({"architectures": ["BertModel"], "hidden_size": 768})"},
      {"keras_config", R"({"class_name": "Functional", "config": {"name": "m"}})"},
      {"weights_index", R"({"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}})"},
      {"json", R"({"a": 1})"},
      {"tf_checkpoint", "model_checkpoint_path: \"model.ckpt-1\"\n"},
      {"tf_checkpoint_index", "\0\1table\x57\xfb\x80\x8b\x24\x75\x47\xdb"s},
      {"text", "hello\n"},
      {"core_ml", Proto().varint(1, 4).message(2, Proto().bytes(1, "x")).message(500, Proto().bytes(1, "x")).text()},
      {"saved_model", Proto().varint(1, 1).message(2, Proto().message(1, meta_info)).text()},
      {"meta_graph", Proto().message(1, meta_info).message(2, Proto().message(1, node_def)).text()},
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

// What each kind is called stands after the file's name, and some files say more than their kind.
TEST(Sniff, DescribesTheFileItself) {
  const std::string content = zip({"m/data.pkl"}, kForeignClass);
  EXPECT_EQ(describe(sniff(content), content), "would execute code from: models.yolo.Model");
  EXPECT_EQ(describe(sniff("hello"), "hello"), "is a text file, not a model");
}

TEST(Sniff, KnowsAnOnnxFileThatIsCutOff) {
  const std::string content = model(relu_parts()).text();
  EXPECT_EQ(sniff(std::string_view(content).substr(0, content.size() / 2)).name, "onnx");
}

TEST(Sniff, KnowsASavedModelThatIsCutOff) {
  const Proto node_def = Proto().bytes(1, "x").bytes(2, "Placeholder");
  const Proto graph = Proto().message(1, Proto().message(2, node_def)).message(2, Proto().message(1, node_def));
  const std::string content = Proto().varint(1, 1).message(2, graph).text();
  EXPECT_EQ(sniff(std::string_view(content).substr(0, content.size() - 10)).name, "saved_model");
}

TEST(Sniff, KnowsAnOnnxFileWithoutVersion) {
  EXPECT_EQ(sniff(Proto().message(7, graph(relu_parts())).message(8, opset(17)).text()).name, "onnx");
}

}  // namespace
}  // namespace latpred::readers
