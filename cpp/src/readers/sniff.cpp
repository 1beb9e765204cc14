#include "readers/sniff.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/wire.h"
#include "readers/zip.h"

namespace latpred::readers {
namespace {

using namespace std::string_view_literals;

// Text is told from binary by its first bytes; JSON keys that say what it is stand near the start.
constexpr std::size_t kTextProbe = 512;
constexpr std::size_t kJsonProbe = 4096;

template <typename Predicate>
bool any_entry(std::string_view content, Predicate predicate) {
  if (!content.starts_with("PK\x03\x04")) return false;
  const std::vector<std::string_view> names = zip_entries(content);
  return std::any_of(names.begin(), names.end(), predicate);
}

bool has_entry_ending(std::string_view content, std::string_view ending) {
  return any_entry(content, [&](std::string_view name) {
    return name == ending || (name.ends_with(ending) && name[name.size() - ending.size() - 1] == '/');
  });
}

std::string_view without_leading_space(std::string_view content) {
  if (content.starts_with("\xef\xbb\xbf")) content.remove_prefix(3);  // byte order mark
  const std::size_t start = content.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? ""sv : content.substr(start);
}

bool is_text(std::string_view content) {
  const std::string_view probe = content.substr(0, kTextProbe);
  return std::all_of(probe.begin(), probe.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

bool is_json(std::string_view content) {
  const std::string_view start = without_leading_space(content);
  return is_text(content) && (start.starts_with('{') || start.starts_with('['));
}

bool is_safetensors(std::string_view content) {
  if (content.size() < 10 || content[8] != '{') return false;
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, content.data(), sizeof(header_size));
  return header_size <= content.size() - 8;
}

// The leading fields of a protobuf message, as far as they can be followed: enough to tell one schema from another.
struct Outline {
  bool is_valid = false;     // at least one whole field, and nothing that no message can hold
  bool is_complete = false;  // followed to the end of the file
  std::uint64_t seen = 0;    // bit n: field n, for n < 64
  WireField first;
};

Outline outline(std::string_view content) {
  constexpr int kMaxFields = 4096;
  const Source source{"", content};
  Outline result;
  WireReader reader(source, content);
  try {
    int count = 0;
    for (WireField field; count < kMaxFields; ++count) {
      if (!reader.next(field)) {
        result.is_complete = true;
        break;
      }
      if (count == 0) result.first = field;
      if (field.number >= 64) return {};
      result.seen |= std::uint64_t{1} << field.number;
      result.is_valid = true;
    }
  } catch (const ModelFileError&) {
    // Cut off or another format: what was seen so far decides.
  }
  return result;
}

constexpr std::uint64_t bits(std::initializer_list<int> numbers) {
  std::uint64_t result = 0;
  for (const int number : numbers) result |= std::uint64_t{1} << number;
  return result;
}

// ModelProto's fields; `graph` is 7 and `opset_import` 8. IR versions are small numbers.
bool is_onnx(std::string_view content) {
  constexpr std::uint64_t kFields = bits({1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26});
  constexpr std::uint64_t kMaxIrVersion = 1000;
  const Outline found = outline(content);
  const bool starts_with_version =
      found.first.number == 1 && found.first.type == WireType::varint && found.first.bits <= kMaxIrVersion;
  const bool has_own_field = (found.seen & bits({7, 8})) != 0;
  if (found.is_complete)
    return (found.seen & ~kFields) == 0 && has_own_field && (starts_with_version || found.first.number != 1);
  // A file that was cut off: its start must be beyond doubt.
  return found.is_valid && starts_with_version && (found.seen & ~kFields) == 0;
}

bool is_saved_model(std::string_view content) {
  const Outline found = outline(content);
  return found.is_valid && found.first.number == 1 && found.first.type == WireType::varint &&
         found.seen == bits({1, 2});
}

bool starts_with_message(std::string_view content, WireType first_type) {
  const Outline found = outline(content);
  if (!found.is_valid || found.first.number != 1 || found.first.type != WireType::length_delimited) return false;
  const Outline inner = outline(found.first.bytes);
  return inner.is_valid && inner.first.number == 1 && inner.first.type == first_type;
}

// GraphDef starts with a NodeDef, which starts with its name; ProgramDesc with a BlockDesc, which starts with its
// index.
bool is_graph_def(std::string_view content) { return starts_with_message(content, WireType::length_delimited); }
bool is_program_desc(std::string_view content) { return starts_with_message(content, WireType::varint); }

constexpr std::string_view kFromTorch =
    "export the network with torch.onnx.export(module, example_inputs, 'model.onnx', dynamo=True)";
constexpr std::string_view kFromWeights =
    "it has no graph: build the module, load these weights into it, then use torch.onnx.export";
constexpr std::string_view kFromTensorFlow =
    "convert it with tf2onnx: python -m tf2onnx.convert --help lists the option for this format";
constexpr std::string_view kFromKeras = "load it with Keras, then use model.export('model.onnx', format='onnx')";
constexpr std::string_view kFromPaddle = "convert it with paddle2onnx";
constexpr std::string_view kDownloadAgain =
    "download the model itself; what came instead is often a login or error page";

const std::vector<FileKind> kKinds{
    {"git_lfs", "", "a Git LFS pointer, not the model", "run 'git lfs pull' in its repository",
     [](std::string_view content) { return content.starts_with("version https://git-lfs"); }},
    {"openvino", "openvino", "an OpenVINO network in XML", "use the ONNX file that it was converted from",
     [](std::string_view content) {
       return is_text(content) && content.substr(0, kJsonProbe).find("<net ") != std::string_view::npos;
     }},
    {"html", "", "an HTML or XML page, not a model", kDownloadAgain,
     [](std::string_view content) {
       return is_text(content) && without_leading_space(content).starts_with('<') &&
              !without_leading_space(content).starts_with("<ir_version");
     }},
    {"torch_export", "pytorch", "a torch.export archive", kFromTorch,
     [](std::string_view content) {
       return has_entry_ending(content, "archive_format") ||
              has_entry_ending(content, "serialized_exported_program.json") ||
              has_entry_ending(content, "models/model.json");
     }},
    {"torchscript", "pytorch", "a TorchScript archive", kFromTorch,
     [](std::string_view content) { return has_entry_ending(content, "constants.pkl"); }},
    {"torch_pickle", "pytorch", "a file of torch.save: weights or a pickled module", kFromWeights,
     [](std::string_view content) { return has_entry_ending(content, "data.pkl"); }},
    {"keras", "keras", "a Keras archive", kFromKeras,
     [](std::string_view content) {
       return has_entry_ending(content, "config.json") && has_entry_ending(content, "metadata.json");
     }},
    {"numpy_archive", "", "an archive of NumPy arrays", "it has no graph",
     [](std::string_view content) {
       return any_entry(content, [](std::string_view name) { return name.ends_with(".npy"); });
     }},
    {"zipped_onnx", "onnx", "a zip archive with an ONNX model in it", "unzip it and use the .onnx file",
     [](std::string_view content) {
       return any_entry(content, [](std::string_view name) { return name.ends_with(".onnx"); });
     }},
    {"zip", "", "a zip archive of no kind that is known here", "unzip it, or download it again where it is cut off",
     [](std::string_view content) { return content.starts_with("PK\x03\x04") || content.starts_with("PK\x05\x06"); }},
    {"gzip", "", "a gzip archive", "unpack it first",
     [](std::string_view content) { return content.starts_with("\x1f\x8b"); }},
    {"tar", "", "a tar archive", "unpack it first",
     [](std::string_view content) { return content.size() > 262 && content.substr(257, 5) == "ustar"; }},
    {"hdf5", "keras", "an HDF5 file, as Keras wrote before version 3", kFromKeras,
     [](std::string_view content) { return content.starts_with("\x89HDF\r\n\x1a\n"); }},
    {"tflite", "tensorflow", "a TensorFlow Lite model", "convert it: python -m tf2onnx.convert --tflite model.tflite",
     [](std::string_view content) { return content.size() > 8 && content.substr(4, 4) == "TFL3"; }},
    {"ort", "onnx", "a model in ONNX Runtime's own .ort format", "use the ONNX file that it was made from",
     [](std::string_view content) { return content.size() > 8 && content.substr(4, 4) == "ORTM"; }},
    {"safetensors", "", "a safetensors file: weights only", kFromWeights, is_safetensors},
    {"gguf", "", "a GGUF file: weights of a language model", "it has no graph",
     [](std::string_view content) { return content.starts_with("GGUF"); }},
    {"tensorrt", "", "a TensorRT engine", "use the ONNX file that it was built from",
     [](std::string_view content) { return content.starts_with("ftrt"); }},
    {"pickle", "pytorch", "a Python pickle", kFromWeights,
     [](std::string_view content) {
       return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5;
     }},
    {"paddle_pir", "paddle", "a Paddle program in PIR JSON", kFromPaddle,
     [](std::string_view content) {
       return is_json(content) && content.substr(0, kJsonProbe).find("\"base_code\"") != std::string_view::npos;
     }},
    {"json", "", "a JSON file, not a model", "give the model file itself", is_json},
    {"text", "", "a text file, not a model", "give the model file itself; ONNX in text form is not read", is_text},
    {"onnx", "onnx", "an ONNX model", "", is_onnx},
    {"saved_model", "tensorflow", "a TensorFlow SavedModel", kFromTensorFlow, is_saved_model},
    {"paddle_program", "paddle", "a Paddle program", kFromPaddle, is_program_desc},
    {"graph_def", "tensorflow", "a frozen TensorFlow graph", kFromTensorFlow, is_graph_def},
    {"unrecognised", "", "of no format that is known here", "check that it is the model and that it is whole",
     [](std::string_view) { return true; }},
};

}  // namespace

const std::vector<FileKind>& file_kinds() { return kKinds; }

const FileKind& sniff(std::string_view content) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const FileKind& kind) { return kind.matches(content); });
}

std::string describe_folder(const std::string& path) {
  struct FolderRow {
    std::string_view file;
    std::string_view what;
    std::string_view advice;
  };
  constexpr FolderRow kRows[] = {
      {"saved_model.pb", "a TensorFlow SavedModel folder", kFromTensorFlow},
      {"inference.pdmodel", "a Paddle inference folder", kFromPaddle},
      {"inference.json", "a Paddle inference folder", kFromPaddle},
      {"__model__", "a Paddle inference folder", kFromPaddle},
      {"config.json", "a folder of a pretrained model", "export it with optimum-cli export onnx"},
  };
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".onnx") {
      return concat("'", path, "' is a folder; did you mean '", entry.path().string(), "'?");
    }
  }
  for (const FolderRow& row : kRows) {
    if (fs::exists(fs::path(path) / row.file, ignored)) {
      return concat("'", path, "' is ", row.what, "; this version reads ONNX files only: ", row.advice);
    }
  }
  return concat("'", path, "' is a folder, not a model file; give the .onnx file in it");
}

}  // namespace latpred::readers
