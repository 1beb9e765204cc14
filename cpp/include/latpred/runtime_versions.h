#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace latpred {

// Versions of a runtime, or a stack that runs it: "torch 2.4.0", "paddle inference, tensorrt 8.0.3.4"; NVIDIA's
// containers are named by year and month: "tensorrt 22.06".

// The numbers of a version, the oldest first when sorted: "torch 2.10" is newer than "torch 2.9.1". Those of a
// container begin with 0: none is newer than the newest named version.
[[nodiscard]] std::vector<std::int64_t> version_age(std::string_view version);

// What stands before the numbers: "paddle inference" of "paddle inference, tensorrt 8.0.3.4".
[[nodiscard]] std::string_view version_stack(std::string_view version);

// Which of `measured`, the oldest first, stands for a version that is none of them: of those of its stack whose first
// number is the same (or which are containers too) the newest that is no newer, else the oldest. Empty: there is none.
[[nodiscard]] std::string_view version_standing_for(std::string_view asked, const std::vector<std::string>& measured);

}  // namespace latpred
