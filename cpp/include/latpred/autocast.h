#pragma once

#include <string_view>

namespace latpred {

// An attribute of statements that the network itself takes out of torch.autocast's lists: "half" where it computes them
// in autocast's half type, as with timm's fast norms.
inline constexpr std::string_view kAutocast = "autocast";
inline constexpr std::string_view kAutocastHalf = "half";

}  // namespace latpred
