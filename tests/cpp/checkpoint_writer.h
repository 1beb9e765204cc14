#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/checkpoint.h"
#include "latpred/operators.h"
#include "latpred/precision.h"
#include "latpred/text.h"

namespace latpred::testing {

// The manifest of a predictor fitted on nothing but what `evidence` says.
inline std::string manifest_text(std::string_view predictor, std::string_view evidence = R"("rows": {})",
                                 std::string_view more = "") {
  const auto quoted = [](const std::vector<std::string>& names) { return "\"" + join(names, "\", \"") + "\""; };
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < kNumCostKinds; ++i) kinds.emplace_back(cost_kind_name(static_cast<CostKind>(i)));
  std::vector<std::string> arithmetics;
  for (std::size_t i = 0; i < kNumArithmetics; ++i) {
    arithmetics.emplace_back(arithmetic_name(static_cast<Arithmetic>(i)));
  }
  return concat(R"({"format_version": 1, "predictor": ")", predictor, R"(", "cost_kinds": [)", quoted(kinds),
                R"(], "arithmetics": [)", quoted(arithmetics), R"(], "evidence": {"is_fitted": true, "devices": )",
                R"(["A100-SXM4-40GB"], "runtimes": ["eager"], "precisions": ["fp32"], "smallest_batch": 2, )",
                R"("largest_batch": 64, )", evidence, R"(}, "interval_terms": {"log_bias": {"value": 0}, )",
                R"("known_device": {"value": 0.1}, "unknown_device": {"value": 0.2}, "device_sd": {"value": 0.15}, )",
                R"("runtime_sd": {"value": 0.12}, "kind_sd": {"value": 0.3}, "host_sd": {"value": 0.35}})", more, "}");
}

// A string inside a JSON document.
inline std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

// A folder of this process alone, gone with it: CTest runs every test in its own, several at once.
struct TemporaryFolder {
  TemporaryFolder() : path(std::filesystem::temp_directory_path() / concat("latpred_test_", getpid())) {
    std::filesystem::create_directory(path);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path;
};

inline std::string temporary_path(std::string_view name) {
  static const TemporaryFolder folder;
  return (folder.path / name).string();
}

// A file of raw bytes: header length, header, data.
inline std::string write_checkpoint_bytes(std::string_view name, std::string_view header, std::string_view data = "") {
  const std::string path = temporary_path(name);
  const std::uint64_t size = header.size();
  std::string prefix(sizeof(size), '\0');
  std::memcpy(prefix.data(), &size, sizeof(size));
  std::ofstream(path, std::ios::binary) << prefix << header << data;
  return path;
}

inline std::string write_checkpoint(std::string_view name, const std::string& manifest,
                                    const std::map<std::string, CheckpointArray>& arrays = {}) {
  std::string header = concat(R"({"__metadata__": {"manifest": )", json_text(manifest), "}");
  std::string data;
  for (const auto& [array_name, array] : arrays) {
    const std::size_t first = data.size();
    data.append(reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(double));
    header += concat(R"(, ")", array_name, R"(": {"dtype": "F64", "shape": )", shape_text(array.shape),
                     R"(, "data_offsets": [)", first, ", ", data.size(), "]}");
  }
  return write_checkpoint_bytes(name, header + "}", data);
}

// What a checkpoint says of alike networks: one point for each of `signatures`, all of one call on `place`.
inline std::string alike_entry(std::size_t points, std::string_view place, std::string_view width = "0.06") {
  return concat(R"("alike_networks": {"width": )", width, R"(, "shrinkage": 5, "shrinkage_there": 0.5, )",
                R"("places": [{"place": ")", place, R"(", "points": )", points, "}]}");
}
inline CheckpointArray alike_array(const std::vector<std::vector<double>>& signatures, double off = 0,
                                   double rest = 0) {
  const std::size_t points = signatures.size();
  CheckpointArray array{{static_cast<std::int64_t>(kNumCostKinds) + 3, static_cast<std::int64_t>(points)},
                        std::vector<double>((kNumCostKinds + 3) * points)};
  for (std::size_t p = 0; p < points; ++p) {
    for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) array.values[kind * points + p] = signatures[p][kind];
    array.values[kNumCostKinds * points + p] = 1;
    array.values[(kNumCostKinds + 1) * points + p] = off;
    array.values[(kNumCostKinds + 2) * points + p] = rest;
  }
  return array;
}

}  // namespace latpred::testing
