#include "readers/sniff.h"

#include <algorithm>

#include "latpred/text.h"
#include "readers/containers/zip.h"
#include "readers/protobuf_kinds.h"
#include "readers/weight_files.h"

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

bool json_with(std::string_view content, std::string_view key) {
  return is_json(content) && content.substr(0, kJsonProbe).find(key) != std::string_view::npos;
}

// A flatbuffer says what it is in bytes 4 to 8, if at all.
bool has_identifier(std::string_view content, std::string_view identifier) {
  return content.size() > 8 && content.substr(4, identifier.size()) == identifier;
}

bool is_model_json(std::string_view name) {
  const std::size_t folder = name.find("models/");
  return folder != std::string_view::npos && (folder == 0 || name[folder - 1] == '/') && name.ends_with(".json");
}

// torch.export's archives: today's layout, and the flat one before torch 2.8.
bool is_exported_program(std::string_view content) {
  return any_entry(content, is_model_json) || has_entry_ending(content, "serialized_exported_program.json");
}

constexpr std::string_view kFromTorch =
    "export the network with torch.export.export and save it with torch.export.save, or as ONNX";
constexpr std::string_view kFromWeights = "pass the nn.Module, or save with torch.export.save";
constexpr std::string_view kFromModule = "export it to .pt2, or pass allow_pickle=True if you trust it";
constexpr std::string_view kFromKeras = "save the network itself with model.save('model.keras')";
constexpr std::string_view kFromTensorFlow = "save the network with tf.saved_model.save";
constexpr std::string_view kFromOnnx = "use the ONNX file that it was made from";
constexpr std::string_view kFromSource = "use the network that it was converted from";
constexpr std::string_view kDownloadAgain =
    "download the model itself; what came instead is often a login or error page";
constexpr std::string_view kWhole = "check that it is the model and that it is whole";
constexpr std::string_view kUnpack = "unpack it and give the model file in it";

const std::vector<FileKind> kKinds{
    {"git_lfs", "", false, "a Git LFS pointer, not the model", "run 'git lfs pull' in its repository",
     [](std::string_view content) { return content.starts_with("version https://git-lfs"); }},
    {"openvino", "", false, "an OpenVINO network in XML", kFromSource,
     [](std::string_view content) {
       return is_text(content) && content.substr(0, kJsonProbe).find("<net ") != std::string_view::npos;
     }},
    {"html", "", false, "an HTML or XML page, not a model", kDownloadAgain,
     [](std::string_view content) { return is_text(content) && without_leading_space(content).starts_with('<'); }},
    {"exported_program", "pytorch", true, "a torch.export archive", kFromTorch, is_exported_program},
    {"aot_inductor", "pytorch", false, "compiled by AOTInductor: machine code, no graph", kFromTorch,
     [](std::string_view content) {
       return any_entry(content,
                        [](std::string_view name) { return name.find("data/aotinductor/") != std::string_view::npos; });
     }},
    {"torchscript", "pytorch", true, "a TorchScript archive", "it is read with torch, by latpred.load in Python",
     [](std::string_view content) { return has_entry_ending(content, "constants.pkl"); }},
    {"torch_weights", "pytorch", false, "a file of weights", kFromWeights, is_torch_weights, describe_torch_save},
    {"torch_module", "pytorch", true, "a pickled PyTorch object", kFromModule, is_torch_save, describe_torch_save},
    {"torch_archive", "pytorch", false, "an archive of torch.export without a network in it", kFromTorch,
     [](std::string_view content) { return has_entry_ending(content, "archive_format"); }},
    {"keras", "keras", true, "a Keras archive", kFromKeras,
     [](std::string_view content) {
       return has_entry_ending(content, "config.json") && has_entry_ending(content, "metadata.json");
     }},
    {"numpy_archive", "", false, "an archive of NumPy arrays: weights only, no graph",
     "give the file of the network itself",
     [](std::string_view content) {
       return any_entry(content, [](std::string_view name) { return name.ends_with(".npy"); });
     }},
    {"zipped_model", "", false, "a zip archive with a model in it", kUnpack,
     [](std::string_view content) {
       return any_entry(content, [](std::string_view name) {
         return name.ends_with(".onnx") || name.ends_with(".pb") || name.ends_with(".tflite") ||
                name.ends_with(".pdmodel");
       });
     }},
    {"zip", "", false, "a zip archive of no kind that is known here", kUnpack,
     [](std::string_view content) {
       return content.starts_with("PK\x05\x06") || any_entry(content, [](std::string_view) { return true; });
     }},
    {"cut_zip", "", false, "a zip archive that is cut off: the directory at its end is missing",
     "download or copy it again", [](std::string_view content) { return content.starts_with("PK\x03\x04"); }},
    {"packed", "", false, "a compressed archive", kUnpack,
     [](std::string_view content) {
       constexpr std::string_view kSignatures[] = {"\x1f\x8b"sv,
                                                   "BZh"sv,
                                                   "\xfd"
                                                   "7zXZ\0"sv,
                                                   "7z\xbc\xaf"sv,
                                                   "\x28\xb5\x2f\xfd"sv,
                                                   "Rar!"sv};
       return std::any_of(std::begin(kSignatures), std::end(kSignatures),
                          [&](std::string_view signature) { return content.starts_with(signature); });
     }},
    {"tar", "", false, "a tar archive", kUnpack,
     [](std::string_view content) { return content.size() > 262 && content.substr(257, 5) == "ustar"; }},
    {"hdf5", "keras", true, "an HDF5 file, as Keras wrote before version 3", kFromKeras,
     [](std::string_view content) { return content.starts_with("\x89HDF\r\n\x1a\n"); }},
    {"tflite", "tensorflow", true, "a TensorFlow Lite model", kFromTensorFlow,
     [](std::string_view content) { return has_identifier(content, "TFL3"); }},
    {"executorch", "pytorch", false, "an ExecuTorch program, compiled for a device", kFromTorch,
     [](std::string_view content) { return has_identifier(content, "ET1"); }},
    {"ort", "onnx", false, "a model in ONNX Runtime's own .ort format", kFromOnnx,
     [](std::string_view content) { return has_identifier(content, "ORTM"); }},
    {"safetensors", "", false, "a safetensors file", kFromWeights, is_safetensors, describe_safetensors},
    {"gguf", "", false, "a GGUF file: weights of a language model, no graph",
     "give the folder with the config.json of the network that it was made from",
     [](std::string_view content) { return content.starts_with("GGUF"); }},
    {"tensorrt", "", false, "a TensorRT engine, compiled for one GPU", kFromOnnx,
     [](std::string_view content) { return content.starts_with("ftrt") || content.starts_with("ptrt"); }},
    {"numpy", "", false, "a NumPy array, not a model", "give the file of the network itself",
     [](std::string_view content) { return content.starts_with("\x93NUMPY"); }},
    {"paddle_pickle", "paddle", false, "a file of paddle.save",
     "save the network with paddle.jit.save, which writes .json or .pdmodel", is_paddle_pickle, describe_pickle},
    {"pickle", "", false, "a Python pickle", "save the network in a format of its framework, such as ONNX or .pt2",
     is_pickle, describe_pickle},
    {"paddle_pir", "paddle", true, "a Paddle program in PIR JSON", "",
     [](std::string_view content) { return json_with(content, "\"base_code\""); }},
    {"hf_folder", "pytorch", true, "the configuration of a Hugging Face model",
     "it is read with transformers, by latpred.load in Python",
     [](std::string_view content) {
       return json_with(content, "\"model_type\"") || json_with(content, "\"architectures\"");
     }},
    {"keras_config", "keras", false, "the configuration of a Keras model, without the archive around it", kFromKeras,
     [](std::string_view content) { return json_with(content, "\"class_name\"") && json_with(content, "\"config\""); }},
    {"weights_index", "", false, "a list of files of weights, no graph", "give the folder, with its config.json",
     [](std::string_view content) { return json_with(content, "\"weight_map\""); }},
    {"json", "", false, "a JSON file, not a model", "give the model file itself", is_json},
    {"tf_checkpoint", "", false, "the list of a TensorFlow checkpoint: weights only, no graph", kFromTensorFlow,
     [](std::string_view content) { return content.starts_with("model_checkpoint_path:"); }},
    {"text", "", false, "a text file, not a model", "give the model file itself; models in text form are not read",
     is_text},
    {"onnx", "onnx", true, "an ONNX model", "", is_onnx},
    {"core_ml", "", false, "a Core ML model", kFromSource, is_core_ml},
    {"saved_model", "tensorflow", true, "a TensorFlow SavedModel", "", is_saved_model},
    {"meta_graph", "", false, "the .meta file of a TensorFlow 1 checkpoint", kFromTensorFlow, is_meta_graph},
    {"paddle_program", "paddle", true, "a Paddle program", "", is_program_desc},
    {"graph_def", "tensorflow", true, "a frozen TensorFlow graph", "", is_graph_def},
    {"paddle_parameters", "", false, "a file of Paddle's parameters", "give the .json or .pdmodel file beside it",
     is_paddle_parameters, describe_paddle_parameters},
    {"tf_checkpoint_index", "", false, "the index of a TensorFlow checkpoint: weights only, no graph", kFromTensorFlow,
     [](std::string_view content) {
       // The end of a table of LevelDB.
       return content.ends_with("\x57\xfb\x80\x8b\x24\x75\x47\xdb"sv);
     }},
    {"unrecognised", "", false, "of no format that is known here", kWhole, [](std::string_view) { return true; }},
};

}  // namespace

const std::vector<FileKind>& file_kinds() { return kKinds; }

const FileKind& sniff(std::string_view content) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const FileKind& kind) { return kind.matches(content); });
}

std::string describe(const FileKind& kind, std::string_view content) {
  return kind.describe != nullptr ? kind.describe(content) : concat("is ", kind.what);
}

}  // namespace latpred::readers
