#pragma once

#include <string_view>

namespace latpred {

// An attribute of statements that the network itself takes out of torch.autocast's lists: "half" where it computes them
// in autocast's half type, as with timm's fast norms.
inline constexpr std::string_view kAutocast = "autocast";
inline constexpr std::string_view kAutocastHalf = "half";

// An attribute of nodes: the places of inputs that the network's code converts itself, to a type that it takes from
// elsewhere (x.float(), std.to(x.dtype)). Where it was recorded both types were float32; under autocast they differ.
inline constexpr std::string_view kConverts = "converts";

}  // namespace latpred
