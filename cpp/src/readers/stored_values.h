#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "latpred/program.h"

namespace latpred::readers {

// Bits of one element in packed content; 0 for types that take no part in shape arithmetic (complex numbers, texts, the
// 8- and 4-bit floating types): no size is ever computed from them.
[[nodiscard]] int bits_of_element(DType dtype);

// Little-endian packed content as one word for each element, for each byte where elements are smaller.
[[nodiscard]] std::vector<std::uint64_t> packed_words(DType dtype, std::string_view content);

// The words of packed_words, or of a list that has a word for each element, as numbers. nullptr where their count is
// not that of `shape`, or the type is none of bits_of_element's.
[[nodiscard]] std::shared_ptr<const Value> value_of_words(DType dtype, const Shape& shape,
                                                          const std::vector<std::uint64_t>& words);

}  // namespace latpred::readers
