#pragma once

#include <string_view>
#include <vector>

namespace latpred::readers {

// The names of a zip archive's entries, read from its directory at the end; empty where the directory is missing or
// broken. Contents are not touched.
[[nodiscard]] std::vector<std::string_view> zip_entries(std::string_view content);

}  // namespace latpred::readers
