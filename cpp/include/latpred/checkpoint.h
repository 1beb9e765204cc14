#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"

namespace latpred {

// A fitted array: row-major float64.
struct CheckpointArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

// A predictor's fitted numbers and what they come from, as one file: safetensors layout, manifest in its metadata.
struct Checkpoint {
  std::string path;
  Json manifest;
  std::map<std::string, CheckpointArray> arrays;

  // Throws CheckpointError with what was found where `name` is missing or has another shape.
  [[nodiscard]] const std::vector<double>& array(const std::string& name, const std::vector<std::int64_t>& shape) const;
  // The same, and CheckpointError where a value is negative, or not positive.
  [[nodiscard]] const std::vector<double>& array_from_zero(const std::string& name,
                                                           const std::vector<std::int64_t>& shape) const;
  [[nodiscard]] const std::vector<double>& array_above_zero(const std::string& name,
                                                            const std::vector<std::int64_t>& shape) const;
};

inline constexpr std::int64_t kCheckpointFormatVersion = 1;

// A number of the manifest. Throws CheckpointError in the words of `what` where it is not positive.
[[nodiscard]] double positive_number(std::string_view what, const Json& number);
// The value of a term of the manifest. Throws CheckpointError in the words of `what` where it is not positive.
[[nodiscard]] double positive_value(std::string_view what, const Json& term);

// What `read` makes of a checkpoint. Errors that name no file, of JSON and look-ups too, become one about this one.
template <typename Read>
auto read_from(const std::string& path, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const Error& error) {
    if (!error.data().path.empty()) throw;
    throw CheckpointError(concat("checkpoint '", path, "': ", error.what()),
                          {.path = path, .offset = error.data().offset});
  }
}

// Reads the file and compares its manifest with this build: format version, predictor, cost kinds, arithmetics.
// Throws CheckpointError naming the difference, or an array that holds something else than finite numbers.
[[nodiscard]] Checkpoint read_checkpoint(const std::string& path, std::string_view predictor);

}  // namespace latpred
