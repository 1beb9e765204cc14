#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace latpred::readers {

struct AtenEmptyList {};
struct AtenLastTwo {};  // [-2, -1]: the dimensions of a two-dimensional transform
// A list that repeats one number is that number.
using AtenDefaultValue = std::variant<AtenEmptyList, AtenLastTwo, bool, std::int64_t, double, std::string_view>;

struct AtenDefault {
  std::string_view target;  // "conv2d": of every overload; "stft.center": of this one
  std::string_view argument;
  AtenDefaultValue value;
};

// Every default of torch's schemas that a size or a cost can depend on, None excepted. Files leave out arguments that
// equal their default.
[[nodiscard]] std::span<const AtenDefault> aten_defaults();

// That of `target` ("aten.conv2d.default"); nullptr where it has none, or None.
[[nodiscard]] const AtenDefaultValue* aten_default(std::string_view target, std::string_view argument);

}  // namespace latpred::readers
