#include <string>
#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

void linear(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::linear, {call.required("input"), call.required("weight")});
  if (call.has("bias")) statement.inputs.push_back(call.tensor("bias"));
  call.append(std::move(statement));
}

template <const char* kLeft, const char* kRight>
void matmul(const AtenCall& call) {
  call.append(call.statement(OperatorId::matmul, {call.required(kLeft), call.required(kRight)}));
}

constexpr char kSelf[] = "self";
constexpr char kMat2[] = "mat2";
constexpr char kOther[] = "other";
constexpr char kTensor[] = "tensor";
constexpr char kVec[] = "vec";

// beta * self + alpha * mat1 x mat2
void addmm(const AtenCall& call) {
  Statement statement =
      call.statement(OperatorId::gemm, {call.required("mat1"), call.required("mat2"), call.required("self")});
  statement.attributes.set("alpha", call.real("alpha"));
  statement.attributes.set("beta", call.real("beta"));
  call.append(std::move(statement));
}

// The same of other ranks: a product whose library call adds `self` on the way.
template <const char* kLeft, const char* kRight>
void product_and_sum(const AtenCall& call) {
  const VariableId left = call.required(kLeft);
  const VariableId product = call.part(OperatorId::matmul, {left, call.required(kRight)}, call.dtype(left));
  call.append(call.statement(OperatorId::add, {product, call.required("self")}));
}

constexpr char kBatch1[] = "batch1";
constexpr char kBatch2[] = "batch2";
constexpr char kMat[] = "mat";

void einsum(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::einsum, call.tensors("tensors"));
  statement.attributes.set("equation", call.text("equation"));
  call.append(std::move(statement));
}

void outer(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::einsum, {call.required("self"), call.required("vec2")});
  statement.attributes.set("equation", std::string("i,j->ij"));
  call.append(std::move(statement));
}

void bilinear(const AtenCall& call) {
  Statement statement =
      call.statement(OperatorId::einsum, {call.required("input1"), call.required("weight"), call.required("input2")});
  statement.attributes.set("equation", std::string("...i,oij,...j->...o"));
  if (!call.has("bias")) return call.append(std::move(statement));
  const VariableId product =
      call.part(OperatorId::einsum, statement.inputs, call.dtype(statement.inputs[0]), statement.attributes);
  call.append(call.statement(OperatorId::add, {product, call.tensor("bias")}));
}

// The dimensions of the first operand are a, b, ..; those of the second that are summed over have the same letters.
void tensordot(const AtenCall& call) {
  const VariableId left = call.required("self");
  const VariableId right = call.required("other");
  const Shape left_axes = call.numbers("dims_self");
  const Shape right_axes = call.numbers("dims_other");
  const std::size_t left_rank = call.rank(left);
  const std::size_t right_rank = call.rank(right);
  constexpr std::size_t kLetters = 26;
  if (left_axes.size() != right_axes.size() || left_rank + right_rank > kLetters) call.fail("has no such product");
  const auto place = [&](std::int64_t axis, std::size_t rank) {
    const std::int64_t found = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
    if (found < 0 || found >= static_cast<std::int64_t>(rank)) call.fail("sums over a dimension that is not there");
    return static_cast<std::size_t>(found);
  };
  std::string first;
  for (std::size_t i = 0; i < left_rank; ++i) first += static_cast<char>('a' + i);
  std::string second;
  for (std::size_t i = 0; i < right_rank; ++i) second += static_cast<char>('a' + left_rank + i);
  std::string result = first + second;
  for (std::size_t i = 0; i < left_axes.size(); ++i) {
    const char letter = first[place(left_axes[i], left_rank)];
    char& other = second[place(right_axes[i], right_rank)];
    std::erase(result, letter);
    std::erase(result, other);
    other = letter;
  }
  Statement statement = call.statement(OperatorId::einsum, {left, right});
  statement.attributes.set("equation", first + "," + second + "->" + result);
  call.append(std::move(statement));
}

void grouped_matmul(const AtenCall& call, const char* left, const char* right) {
  Statement statement = call.statement(OperatorId::grouped_matmul, {call.required(left), call.required(right)});
  if (call.has("offs")) statement.inputs.push_back(call.tensor("offs"));
  call.append(std::move(statement));
}

void grouped_mm(const AtenCall& call) { grouped_matmul(call, "self", "mat2"); }
void grouped_mm_fallback(const AtenCall& call) { grouped_matmul(call, "input", "weight"); }

void cdist(const AtenCall& call) {
  call.append(call.statement(OperatorId::pairwise_distance, {call.required("x1"), call.required("x2")}));
}

void attention(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::scaled_dot_product_attention,
                                       {call.required("query"), call.required("key"), call.required("value")});
  for (const char* name : {"attn_mask", "attn_bias"}) {
    if (call.has(name)) statement.inputs.push_back(call.tensor(name));
  }
  statement.attributes.set("is_causal", static_cast<std::int64_t>(call.flag("is_causal")));
  if (call.has("scale")) statement.attributes.set("scale", call.real("scale"));
  if (call.flag("enable_gqa")) statement.attributes.set("enable_gqa", std::int64_t{1});
  call.append(std::move(statement));
}

// torch.nn.MultiheadAttention in one call: both projections and the attention between them.
void native_multi_head_attention(const AtenCall& call) {
  const VariableId query = call.required("query");
  const VariableId weight = call.required("qkv_weight");
  const DType dtype = call.dtype(query);
  if (call.required("key") != query || call.required("value") != query) call.fail("attends to another sequence");
  const VariableId joined = call.part(OperatorId::linear, {query, weight, call.tensor("qkv_bias")}, dtype);
  const std::vector<VariableId> parts{call.between(dtype), call.between(dtype), call.between(dtype)};
  Statement split = call.statement(OperatorId::split, {joined}, parts);
  split.attributes.set("axis", std::int64_t{-1});
  split.name += "/split";
  call.assembly().append_part(std::move(split));
  const VariableId attended = call.part(OperatorId::multi_head_attention, parts, dtype,
                                        attributes_of({{"num_heads", call.integer("num_head")}}));
  call.append(call.statement(OperatorId::linear, {attended, call.required("proj_weight"), call.tensor("proj_bias")}));
}

using Op = OperatorId;

constexpr AtenRow kProducts[] = {
    {"linear", Op::linear, linear},
    {"matmul", Op::matmul, matmul<kSelf, kOther>},
    {"mm", Op::matmul, matmul<kSelf, kMat2>},
    {"bmm", Op::matmul, matmul<kSelf, kMat2>},
    {"mv", Op::matmul, matmul<kSelf, kVec>},
    {"dot", Op::matmul, matmul<kSelf, kTensor>},
    {"vdot", Op::matmul, matmul<kSelf, kOther>},
    {"linalg_matmul", Op::matmul, matmul<kSelf, kOther>},
    {"addmm", Op::gemm, addmm},
    {"baddbmm", Op::matmul, product_and_sum<kBatch1, kBatch2>},
    {"addmv", Op::matmul, product_and_sum<kMat, kVec>},
    {"einsum", Op::einsum, einsum},
    {"outer", Op::einsum, outer},
    {"ger", Op::einsum, outer},
    {"tensordot", Op::einsum, tensordot},
    {"bilinear", Op::einsum, bilinear},
    {"_grouped_mm", Op::grouped_matmul, grouped_mm},
    {"transformers::grouped_mm_fallback", Op::grouped_matmul, grouped_mm_fallback},
    {"cdist", Op::pairwise_distance, cdist},
    {"_cdist_forward", Op::pairwise_distance, cdist},
    {"scaled_dot_product_attention", Op::scaled_dot_product_attention, attention},
    {"_scaled_dot_product_flash_attention", Op::scaled_dot_product_attention, attention},
    {"_scaled_dot_product_flash_attention_for_cpu", Op::scaled_dot_product_attention, attention},
    {"_scaled_dot_product_efficient_attention", Op::scaled_dot_product_attention, attention},
    {"_scaled_dot_product_cudnn_attention", Op::scaled_dot_product_attention, attention},
    {"_native_multi_head_attention", Op::multi_head_attention, native_multi_head_attention},
};

}  // namespace

std::span<const AtenRow> aten_products() { return kProducts; }

}  // namespace latpred::readers
