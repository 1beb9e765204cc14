#include "latpred/dtype.h"

#include <array>
#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::array<DTypeRow, 27> kDTypes{{
    {DType::undefined, "undefined", 0, false, false},
    {DType::float32, "float32", 32, false, true},
    {DType::uint8, "uint8", 8, true, false},
    {DType::int8, "int8", 8, true, false},
    {DType::uint16, "uint16", 16, true, false},
    {DType::int16, "int16", 16, true, false},
    {DType::int32, "int32", 32, true, false},
    {DType::int64, "int64", 64, true, false},
    {DType::string, "string", 0, false, false},
    {DType::boolean, "bool", 8, true, false},
    {DType::float16, "float16", 16, false, true},
    {DType::float64, "float64", 64, false, true},
    {DType::uint32, "uint32", 32, true, false},
    {DType::uint64, "uint64", 64, true, false},
    {DType::complex64, "complex64", 64, false, false},
    {DType::complex128, "complex128", 128, false, false},
    {DType::bfloat16, "bfloat16", 16, false, true},
    {DType::float8e4m3fn, "float8_e4m3fn", 8, false, true},
    {DType::float8e4m3fnuz, "float8_e4m3fnuz", 8, false, true},
    {DType::float8e5m2, "float8_e5m2", 8, false, true},
    {DType::float8e5m2fnuz, "float8_e5m2fnuz", 8, false, true},
    {DType::uint4, "uint4", 4, true, false},
    {DType::int4, "int4", 4, true, false},
    {DType::float4e2m1, "float4_e2m1fn", 4, false, true},
    {DType::float8e8m0, "float8_e8m0fnu", 8, false, true},
    {DType::uint2, "uint2", 2, true, false},
    {DType::int2, "int2", 2, true, false},
}};

constexpr bool rows_stand_at_their_value() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_value());

}  // namespace

const DTypeRow& dtype_row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= kDTypes.size()) {
    throw InvalidArgumentError(concat("unknown element type ", index, "; this build knows 0 to ", kDTypes.size() - 1));
  }
  return kDTypes[index];
}

DType dtype_from_name(std::string_view name) {
  std::vector<std::string> valid;
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("element type", name, valid), {.valid = valid});
}

std::int64_t packed_bytes(DType dtype, std::int64_t count) {
  const std::int64_t bits = dtype_row(dtype).size_bits;
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

}  // namespace latpred
