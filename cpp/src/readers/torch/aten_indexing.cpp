#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// Along one axis, with indices of the result's shape.
template <const char* kIndices>
void gather_elements(const AtenCall& call) {
  VariableId x = call.required("self");
  const bool has_axis = call.has("dim");
  // Without one, of the flattened tensor.
  if (!has_axis) x = call.part(OperatorId::reshape, {x}, call.dtype(x), attributes_of({{"shape", Shape{-1}}}));
  Statement statement = call.statement(OperatorId::gather_elements, {x, call.required(kIndices)});
  statement.attributes.set("axis", has_axis ? call.integer("dim") : 0);
  call.append(std::move(statement));
}

constexpr char kIndex[] = "index";
constexpr char kIndices[] = "indices";

void index_select(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::gather, {call.required("self"), call.required("index")});
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

// A flat index into all elements.
void take(const AtenCall& call) {
  const VariableId x = call.required("self");
  const VariableId flat = call.part(OperatorId::reshape, {x}, call.dtype(x), attributes_of({{"shape", Shape{-1}}}));
  call.append(call.statement(OperatorId::gather, {flat, call.required("index")}));
}

void index(const AtenCall& call) {
  std::vector<VariableId> inputs = call.tensors("indices");
  inputs.insert(inputs.begin(), call.required("self"));
  call.append(call.statement(OperatorId::index, std::move(inputs)));
}

void index_put(const AtenCall& call) {
  std::vector<VariableId> inputs = call.tensors("indices");
  inputs.insert(inputs.begin(), {call.required("self"), call.required("values")});
  call.append(call.statement(OperatorId::index_put, std::move(inputs)));
}

// self with some elements replaced: self, where, by what.
template <const char* kWhere, const char* kWhat>
void scatter(const AtenCall& call) {
  const VariableId x = call.required("self");
  std::vector<VariableId> inputs{x};
  if (call.has(kWhere)) inputs.push_back(call.tensor(kWhere));
  inputs.push_back(call.operand(call.has(kWhat) ? kWhat : "value", call.dtype(x)));
  Statement statement = call.statement(call.row().op, std::move(inputs));
  if (call.node().find("dim") != nullptr) statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

constexpr char kSrc[] = "src";
constexpr char kSource[] = "source";
constexpr char kMask[] = "mask";
constexpr char kNowhere[] = "";

void masked_select(const AtenCall& call) {
  call.append(call.statement(OperatorId::compress, {call.required("self"), call.required("mask")}));
}

// torch gives [found, dimensions], ONNX the other way round.
void nonzero(const AtenCall& call) {
  const VariableId found = call.part(OperatorId::non_zero, {call.required("self")}, DType::int64);
  Statement statement = call.statement(OperatorId::transpose, {found});
  statement.attributes.set("perm", Shape{1, 0});
  call.append(std::move(statement));
}

// Values, where they come back to, how often: ONNX has where each stood first before them.
void unique(const AtenCall& call) {
  std::vector<VariableId> outputs = call.outputs(3);
  outputs.resize(3, kAbsent);
  outputs.insert(outputs.begin() + 1, kAbsent);
  call.append(call.statement(OperatorId::unique, {call.required("self")}, std::move(outputs)));
}

void one_hot(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::one_hot, {call.required("self")});
  statement.attributes.set("depth", static_cast<double>(call.integer("num_classes")));
  call.append(std::move(statement));
}

void embedding(const AtenCall& call) {
  call.append(call.statement(OperatorId::embedding, {call.required("weight"), call.required("indices")}));
}

void embedding_bag(const AtenCall& call) {
  Statement statement =
      call.statement(OperatorId::embedding_bag,
                     {call.required("weight"), call.required("indices"), call.tensor("offsets")}, call.outputs(4));
  if (call.has("per_sample_weights")) statement.inputs.push_back(call.tensor("per_sample_weights"));
  statement.attributes.set("mode", call.integer("mode"));
  statement.attributes.set("include_last_offset", static_cast<std::int64_t>(call.flag("include_last_offset")));
  call.append(std::move(statement));
}

void searchsorted(const AtenCall& call) {
  const VariableId sorted = call.required("sorted_sequence");
  Statement statement = call.statement(OperatorId::search_sorted, {sorted, call.operand("self", call.dtype(sorted))});
  statement.attributes.set("out_int32", static_cast<std::int64_t>(call.flag("out_int32")));
  call.append(std::move(statement));
}

void bucketize(const AtenCall& call) {
  const VariableId borders = call.required("boundaries");
  Statement statement = call.statement(OperatorId::search_sorted, {borders, call.operand("self", call.dtype(borders))});
  statement.attributes.set("out_int32", static_cast<std::int64_t>(call.flag("out_int32")));
  call.append(std::move(statement));
}

void repeat_interleave(const AtenCall& call) {
  if (!call.has("self")) call.fail("counts its result by the data");
  Statement statement = call.statement(OperatorId::repeat_interleave, {call.required("self")});
  const AtenValue* repeats = call.node().find("repeats");
  if (repeats != nullptr && std::holds_alternative<AtenTensor>(*repeats)) {
    statement.inputs.push_back(call.tensor("repeats"));
  } else {
    call.set_list(statement, "repeats", call.list("repeats"), 1);
  }
  if (call.has("dim")) statement.attributes.set("axis", call.integer("dim"));
  const auto size = call.optional_integer("output_size");
  if (size) statement.attributes.set("output_size", *size);
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kIndexing[] = {
    {"gather", Op::gather_elements, gather_elements<kIndex>},
    {"take_along_dim", Op::gather_elements, gather_elements<kIndices>},
    {"index_select", Op::gather, index_select},
    {"take", Op::gather, take},
    {"index", Op::index, index},
    {"_unsafe_index", Op::index, index},
    {"index_put", Op::index_put, index_put},
    {"_index_put_impl", Op::index_put, index_put},
    {"_unsafe_index_put", Op::index_put, index_put},
    {"scatter", Op::scatter_elements, scatter<kIndex, kSrc>},
    {"scatter_add", Op::scatter_elements, scatter<kIndex, kSrc>},
    {"scatter_reduce", Op::scatter_elements, scatter<kIndex, kSrc>},
    {"index_add", Op::scatter_elements, scatter<kIndex, kSource>},
    {"index_copy", Op::scatter_elements, scatter<kIndex, kSource>},
    {"index_fill", Op::scatter_elements, scatter<kIndex, kSource>},
    {"masked_scatter", Op::scatter_elements, scatter<kMask, kSource>},
    {"slice_scatter", Op::tensor_scatter, scatter<kNowhere, kSrc>},
    {"select_scatter", Op::tensor_scatter, scatter<kNowhere, kSrc>},
    {"masked_select", Op::compress, masked_select},
    {"nonzero", Op::non_zero, nonzero},
    {"argwhere", Op::non_zero, nonzero},
    {"_unique2", Op::unique, unique},
    {"unique_consecutive", Op::unique, unique},
    {"one_hot", Op::one_hot, one_hot},
    {"embedding", Op::embedding, embedding},
    {"embedding_bag", Op::embedding_bag, embedding_bag},
    {"_embedding_bag", Op::embedding_bag, embedding_bag},
    {"_embedding_bag_forward_only", Op::embedding_bag, embedding_bag},
    {"searchsorted", Op::search_sorted, searchsorted},
    {"bucketize", Op::search_sorted, bucketize},
    {"repeat_interleave.self_int", Op::repeat_interleave, repeat_interleave},
    {"repeat_interleave.self_Tensor", Op::repeat_interleave, repeat_interleave},
};

}  // namespace

std::span<const AtenRow> aten_indexing() { return kIndexing; }

}  // namespace latpred::readers
