#include "readers/paddle/paddle_operators.h"

#include <unordered_map>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

using RowTable = const std::vector<PaddleRow>& (*)();

constexpr RowTable kFamilies[] = {
    paddle_creation_rows, paddle_elementwise_rows, paddle_index_rows, paddle_layer_rows,
    paddle_product_rows,  paddle_recurrent_rows,   paddle_view_rows,
};

using Rows = std::unordered_map<std::string_view, const PaddleRow*>;

const Rows& rows_of(bool is_pir) {
  static const auto* const by_format = [] {
    auto* both = new Rows[2];
    for (const RowTable family : kFamilies) {
      for (const PaddleRow& row : family()) {
        if (row.format != PaddleFormat::pir) both[0].emplace(row.name, &row);
        if (row.format != PaddleFormat::program) both[1].emplace(row.name, &row);
      }
    }
    return both;
  }();
  return by_format[is_pir ? 1 : 0];
}

struct TypeRow {
  std::string_view name;
  std::int64_t code;  // VarType.Type of framework.proto
  DType dtype;
};

constexpr TypeRow kTypes[] = {
    {"bool", 0, DType::boolean},
    {"int16", 1, DType::int16},
    {"int32", 2, DType::int32},
    {"int64", 3, DType::int64},
    {"float16", 4, DType::float16},
    {"float32", 5, DType::float32},
    {"float64", 6, DType::float64},
    {"uint8", 20, DType::uint8},
    {"int8", 21, DType::int8},
    {"bfloat16", 22, DType::bfloat16},
    {"complex64", 23, DType::complex64},
    {"complex128", 24, DType::complex128},
    {"float8_e4m3fn", 32, DType::float8e4m3fn},
    {"float8_e5m2", 33, DType::float8e5m2},
    {"uint16", 36, DType::uint16},
    {"uint32", 37, DType::uint32},
    {"uint64", 38, DType::uint64},
    {"size_t", 19, DType::uint64},
    {"pstring", 29, DType::string},
    {"string", 25, DType::string},
};

}  // namespace

void count_paddle(Assembly& assembly, const std::string& name) {
  ++assembly.program().source.num_nodes;
  ++assembly.program().source.operator_counts[name];
}

void lower_paddle(Assembly& assembly, const PaddleOperator& op) {
  PaddleLowering lowering(assembly, op);
  const Rows& rows = rows_of(op.is_pir);
  const auto found = rows.find(op.name);
  if (found == rows.end()) {
    lowering.emit_unknown();
  } else {
    found->second->lower(lowering, found->second->op);
  }
}

std::string shortened(const std::string& name) {
  constexpr std::size_t kMaxName = 256;
  if (name.size() <= kMaxName) return name;
  std::size_t start = name.size() - kMaxName;
  const auto is_inside_character = [&] { return (static_cast<unsigned char>(name[start]) & 0xc0) == 0x80; };
  while (start < name.size() && is_inside_character()) ++start;
  return name.substr(start);
}

DType paddle_dtype(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.dtype;
  }
  return DType::undefined;
}

DType paddle_dtype(std::int64_t code) {
  for (const TypeRow& row : kTypes) {
    if (row.code == code) return row.dtype;
  }
  return DType::undefined;
}

std::vector<Dimension> paddle_dimensions(const std::vector<std::int64_t>& sizes, bool is_input) {
  std::vector<Dimension> result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool is_open = sizes[axis] < 0;
    result.push_back(
        {.size = is_open ? kUnknownSize : sizes[axis], .symbol = is_open && is_input && axis == 0 ? "batch" : ""});
  }
  return result;
}

}  // namespace latpred::readers
