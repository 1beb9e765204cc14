#pragma once

#include <cstdint>
#include <string_view>

namespace latpred {

// Element types. Values are ONNX's TensorProto.DataType, so that files need no translation; append only.
enum class DType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

struct DTypeRow {
  DType dtype;
  std::string_view name;   // NumPy's / ml_dtypes' spelling
  std::uint8_t size_bits;  // 0: no fixed size (undefined, string)
  bool is_integer;         // signed or unsigned integer or boolean
  bool is_floating;
};

// The row of `dtype`; throws InvalidArgumentError for a value outside the table.
[[nodiscard]] const DTypeRow& dtype_row(DType dtype);
[[nodiscard]] DType dtype_from_name(std::string_view name);

// Bytes of `count` packed elements: three int4 elements take two bytes.
[[nodiscard]] std::int64_t packed_bytes(DType dtype, std::int64_t count);

}  // namespace latpred
