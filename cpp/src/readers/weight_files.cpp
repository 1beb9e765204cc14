#include "readers/weight_files.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "readers/containers/pickle.h"
#include "readers/containers/zip.h"
#include "readers/source.h"

namespace latpred::readers {
namespace {

constexpr std::size_t kShownClasses = 3;

std::string weights_text(std::int64_t num_tensors) {
  return concat("holds weights only (", num_tensors, num_tensors == 1 ? " tensor" : " tensors", "), no graph");
}

std::string pickle_text(const PickleSummary& summary) {
  if (!summary.is_whole && summary.classes.empty()) return "holds a pickle that is cut off or broken";
  if (summary.classes.empty()) return weights_text(summary.num_tensors);
  const std::size_t count = std::min(summary.classes.size(), kShownClasses);
  const std::vector<std::string> shown(summary.classes.begin(),
                                       summary.classes.begin() + static_cast<std::ptrdiff_t>(count));
  return concat("would execute code from: ", join(shown),
                count < summary.classes.size() ? concat(", ... (", summary.classes.size(), " names)") : "");
}

// The pickle of a zip archive of torch.save; nothing where it is no such archive.
std::optional<std::string_view> zipped_pickle(std::string_view content) {
  if (!content.starts_with("PK\x03\x04")) return std::nullopt;
  const Source source{"", content};
  try {
    const ZipArchive archive(source);
    const ZipEntry* const entry = archive.find_ending("data.pkl");
    if (entry == nullptr) return std::nullopt;
    return entry->is_stored() ? archive.stored(*entry) : std::string_view();
  } catch (const ModelFileError&) {
    return std::nullopt;
  }
}

PickleSummary scan_torch_save(std::string_view content) {
  const std::optional<std::string_view> pickle = zipped_pickle(content);
  return pickle ? scan_pickle(*pickle) : scan_legacy_checkpoint(content);
}

template <typename T>
std::optional<T> take(std::string_view& rest) {
  if (rest.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, rest.data(), sizeof(T));
  rest.remove_prefix(sizeof(T));
  return value;
}

}  // namespace

// A length of eight bytes, then so many bytes of JSON, then the tensors.
bool is_safetensors(std::string_view content) {
  if (content.size() < 10 || content[8] != '{') return false;
  std::string_view rest = content;
  const std::uint64_t header_size = take<std::uint64_t>(rest).value_or(0);
  return header_size <= rest.size();
}

std::string describe_safetensors(std::string_view content) {
  std::string_view rest = content;
  const std::uint64_t header_size = take<std::uint64_t>(rest).value_or(0);
  try {
    const Json header = parse_json(rest.substr(0, header_size));
    const Json::Object& members = header.object();
    return weights_text(std::count_if(members.begin(), members.end(),
                                      [](const auto& member) { return member.first != "__metadata__"; }));
  } catch (const ModelFileError&) {
    return "is a safetensors file, weights only, whose list of tensors is damaged";
  }
}

// A LoDTensor of Paddle: version 0, its levels of detail (none in weights), version 0, the size of its description,
// which starts with the field that says its type.
bool is_paddle_parameters(std::string_view content) {
  constexpr std::int32_t kMaxDescription = 4096;
  constexpr char kTypeTag = '\x08';
  const auto version = take<std::uint32_t>(content);
  const auto levels = take<std::uint64_t>(content);
  const auto tensor_version = take<std::uint32_t>(content);
  const auto size = take<std::int32_t>(content);
  return version == 0U && levels == 0U && tensor_version == 0U && size > 1 && size <= kMaxDescription &&
         content.starts_with(kTypeTag);
}

std::string describe_paddle_parameters(std::string_view) { return "holds weights only, no graph"; }

bool is_torch_save(std::string_view content) { return is_legacy_checkpoint(content) || zipped_pickle(content); }

bool is_torch_weights(std::string_view content) {
  return is_torch_save(content) && scan_torch_save(content).is_weights_only();
}

std::string describe_torch_save(std::string_view content) { return pickle_text(scan_torch_save(content)); }

bool is_pickle(std::string_view content) {
  constexpr char kMaxProtocol = 5;
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= kMaxProtocol;
}

bool is_paddle_pickle(std::string_view content) { return is_pickle(content) && scan_pickle(content).is_paddle; }

std::string describe_pickle(std::string_view content) { return pickle_text(scan_pickle(content)); }

}  // namespace latpred::readers
