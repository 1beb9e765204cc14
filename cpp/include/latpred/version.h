#pragma once

#include <string_view>

namespace latpred {

// "0.1.0", as the file VERSION says.
[[nodiscard]] std::string_view version();

}  // namespace latpred
