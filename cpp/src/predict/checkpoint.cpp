#include "latpred/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/precision.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// A predictor that _core runs has some thousand numbers; a larger file is none of ours.
constexpr std::int64_t kMaxFileBytes = 64LL << 20;
constexpr std::int64_t kPrefixBytes = 8;  // safetensors: the header's length, little-endian
constexpr std::int64_t kValueBytes = sizeof(double);
static_assert(std::endian::native == std::endian::little, "checkpoints are read as they lie in the file");

std::string read_file(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw CheckpointError(concat("cannot be opened: ", error.message()));
  if (size > static_cast<std::uintmax_t>(kMaxFileBytes)) {
    throw CheckpointError(concat("has ", size, " bytes, more than a checkpoint's ", kMaxFileBytes));
  }
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (bytes.size() != size) throw CheckpointError(concat("gave ", bytes.size(), " of ", size, " bytes"));
  return bytes;
}

CheckpointArray read_array(const std::string& name, const Json& entry, std::string_view data) {
  if (entry.at("dtype").text() != "F64") {
    throw CheckpointError(concat("array '", name, "' has dtype ", entry.at("dtype").text(), ", expected F64"));
  }
  CheckpointArray array;
  const std::int64_t data_bytes = static_cast<std::int64_t>(data.size());
  std::int64_t num_values = 1;
  for (const Json& size : entry.at("shape").array()) {
    array.shape.push_back(size.integer());
    if (array.shape.back() < 0 || (array.shape.back() > 0 && num_values > data_bytes / array.shape.back())) {
      throw CheckpointError(concat("array '", name, "' has a shape that the file cannot hold: size ", size.integer()));
    }
    num_values *= array.shape.back();
  }
  const Json::Array& offsets = entry.at("data_offsets").array();
  if (offsets.size() != 2) throw CheckpointError(concat("array '", name, "' needs two data_offsets"));
  const std::int64_t first = offsets[0].integer();
  const std::int64_t last = offsets[1].integer();
  if (first < 0 || last < first || last > data_bytes || last - first != num_values * kValueBytes) {
    throw CheckpointError(concat("array '", name, "' of shape ", shape_text(array.shape), " stands at bytes ", first,
                                 " to ", last, " of ", data_bytes, ", expected ", num_values * kValueBytes, " bytes"));
  }
  array.values.resize(static_cast<std::size_t>(num_values));
  if (num_values > 0) {
    std::memcpy(array.values.data(), data.data() + first, static_cast<std::size_t>(last - first));
  }
  const auto odd = std::ranges::find_if_not(array.values, [](double value) { return std::isfinite(value); });
  if (odd != array.values.end()) throw CheckpointError(concat("array '", name, "' must be finite, holds ", *odd));
  return array;
}

// The names in `found` must be this build's, one for one: fitted tables are indexed by position.
void check_names(std::string_view what, const Json& found, const std::vector<std::string>& expected) {
  const Json::Array& names = found.array();
  for (std::size_t i = 0; i < std::max(names.size(), expected.size()); ++i) {
    const std::string ours = i < expected.size() ? expected[i] : "nothing";
    const std::string theirs = i < names.size() ? names[i].text() : "nothing";
    if (ours != theirs) {
      throw CheckpointError(concat(what, " ", i, " is '", theirs, "' in the file and '", ours,
                                   "' in this build; fit the predictor again with this version"));
    }
  }
}

void check_manifest(const Json& manifest, std::string_view predictor) {
  const std::int64_t version = manifest.at("format_version").integer();
  if (version != kCheckpointFormatVersion) {
    throw CheckpointError(concat("has format version ", version, ", this build reads ", kCheckpointFormatVersion));
  }
  const std::string& name = manifest.at("predictor").text();
  if (name != predictor) throw CheckpointError(concat("holds predictor '", name, "', expected '", predictor, "'"));
  std::vector<std::string> kinds;
  for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
    kinds.emplace_back(cost_kind_name(static_cast<CostKind>(kind)));
  }
  check_names("cost kind", manifest.at("cost_kinds"), kinds);
  std::vector<std::string> arithmetics;
  for (std::size_t arithmetic = 0; arithmetic < kNumArithmetics; ++arithmetic) {
    arithmetics.emplace_back(arithmetic_name(static_cast<Arithmetic>(arithmetic)));
  }
  check_names("arithmetic", manifest.at("arithmetics"), arithmetics);
}

Checkpoint parse(const std::string& path, std::string_view predictor) {
  const std::string bytes = read_file(path);
  const std::string_view file(bytes);
  std::uint64_t header_bytes = 0;
  if (file.size() >= kPrefixBytes) std::memcpy(&header_bytes, file.data(), kPrefixBytes);
  if (file.size() < kPrefixBytes || header_bytes > file.size() - kPrefixBytes) {
    throw CheckpointError(concat("has ", file.size(), " bytes, too few for a header of ", header_bytes));
  }
  const std::string_view data = file.substr(kPrefixBytes + header_bytes);
  const Json header = parse_json(file.substr(kPrefixBytes, header_bytes));
  Checkpoint checkpoint{path, parse_json(header.at("__metadata__").at("manifest").text()), {}};
  check_manifest(checkpoint.manifest, predictor);
  for (const auto& [name, entry] : header.object()) {
    if (name != "__metadata__") checkpoint.arrays[name] = read_array(name, entry, data);
  }
  return checkpoint;
}

}  // namespace

const std::vector<double>& Checkpoint::array(const std::string& name, const std::vector<std::int64_t>& shape) const {
  const auto found = arrays.find(name);
  if (found == arrays.end()) {
    throw CheckpointError(concat("checkpoint '", path, "' has no array '", name, "'"), {.path = path});
  }
  if (found->second.shape != shape) {
    throw CheckpointError(concat("checkpoint '", path, "': array '", name, "' has shape ",
                                 shape_text(found->second.shape), ", expected ", shape_text(shape)),
                          {.path = path});
  }
  return found->second.values;
}

const std::vector<double>& Checkpoint::array_from_zero(const std::string& name,
                                                       const std::vector<std::int64_t>& shape) const {
  const std::vector<double>& values = array(name, shape);
  const auto negative = std::ranges::find_if(values, [](double value) { return value < 0; });
  if (negative != values.end()) {
    throw CheckpointError(concat("checkpoint '", path, "': array '", name, "' must be >= 0, holds ", *negative),
                          {.path = path});
  }
  return values;
}

const std::vector<double>& Checkpoint::array_above_zero(const std::string& name,
                                                        const std::vector<std::int64_t>& shape) const {
  const std::vector<double>& values = array_from_zero(name, shape);
  if (std::ranges::find(values, 0.0) != values.end()) {
    throw CheckpointError(concat("checkpoint '", path, "': array '", name, "' must be > 0, holds 0"), {.path = path});
  }
  return values;
}

Checkpoint read_checkpoint(const std::string& path, std::string_view predictor) {
  return read_from(path, [&] { return parse(path, predictor); });
}

double positive_number(std::string_view what, const Json& number) {
  const double value = number.number();
  if (!std::isfinite(value) || value <= 0) throw CheckpointError(concat(what, " must be positive, is ", value));
  return value;
}

double positive_value(std::string_view what, const Json& term) { return positive_number(what, term.at("value")); }

}  // namespace latpred
