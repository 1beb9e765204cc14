#include <cmath>
#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// No `dim`, an empty one or None: all dimensions.
void set_axes(const AtenCall& call, Statement& statement) {
  const Shape axes = call.numbers("dim");
  if (!axes.empty()) statement.attributes.set("axes", axes);
  statement.attributes.set("keepdims", static_cast<std::int64_t>(call.flag("keepdim")));
}

// values, and where they stood
template <std::size_t kNumOutputs>
void reduce(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("self")}, call.outputs(kNumOutputs));
  set_axes(call, statement);
  call.append(std::move(statement));
}

OperatorId norm_operator(double order) {
  if (order == 1) return OperatorId::reduce_l1;
  if (std::isinf(order)) return order > 0 ? OperatorId::reduce_max : OperatorId::reduce_min;
  return OperatorId::reduce_l2;
}

template <const char* kOrder>
void norm(const AtenCall& call) {
  constexpr double kEuclid = 2;
  Statement statement =
      call.statement(norm_operator(call.has(kOrder) ? call.real(kOrder) : kEuclid), {call.required("self")});
  set_axes(call, statement);
  call.append(std::move(statement));
}

constexpr char kOrd[] = "ord";
constexpr char kP[] = "p";

// Without a dimension: of the flattened tensor.
void arg_reduce(const AtenCall& call) {
  VariableId x = call.required("self");
  const bool has_axis = call.has("dim");
  if (!has_axis) x = call.part(OperatorId::reshape, {x}, call.dtype(x), attributes_of({{"shape", Shape{-1}}}));
  Statement statement = call.statement(call.row().op, {x});
  statement.attributes.set("axis", has_axis ? call.integer("dim") : 0);
  statement.attributes.set("keepdims", static_cast<std::int64_t>(call.flag("keepdim")));
  call.append(std::move(statement));
}

template <std::size_t kNumOutputs>
void along_axis(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("self")}, call.outputs(kNumOutputs));
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

// Sorts and throws the values away.
void arg_sort(const AtenCall& call) {
  const VariableId x = call.required("self");
  Statement statement = call.statement(OperatorId::sort, {x}, {call.between(call.dtype(x)), call.output()});
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

void top_k(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::top_k, {call.required("self")}, call.outputs(2));
  call.set_list(statement, "k", call.list("k"), 1);
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

void histc(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::histogram, {call.required("self")});
  statement.attributes.set("bins", call.integer("bins"));
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kReductions[] = {
    {"sum", Op::reduce_sum, reduce<1>},
    {"nansum", Op::reduce_sum, reduce<1>},
    {"count_nonzero", Op::reduce_sum, reduce<1>},
    {"mean", Op::reduce_mean, reduce<1>},
    {"nanmean", Op::reduce_mean, reduce<1>},
    {"amax", Op::reduce_max, reduce<1>},
    {"amin", Op::reduce_min, reduce<1>},
    {"max", Op::reduce_max, reduce<2>},
    {"min", Op::reduce_min, reduce<2>},
    {"aminmax", Op::reduce_max, reduce<2>},
    {"prod", Op::reduce_prod, reduce<1>},
    {"any", Op::reduce_any, reduce<1>},
    {"all", Op::reduce_all, reduce<1>},
    {"var", Op::reduce_variance, reduce<1>},
    {"std", Op::reduce_variance, reduce<1>},
    {"var_mean", Op::reduce_variance, reduce<2>},
    {"std_mean", Op::reduce_variance, reduce<2>},
    {"logsumexp", Op::reduce_log_sum_exp, reduce<1>},
    {"norm", Op::reduce_l2, norm<kP>},
    {"linalg_vector_norm", Op::reduce_l2, norm<kOrd>},
    {"linalg_norm", Op::reduce_l2, norm<kOrd>},
    {"argmax", Op::arg_max, arg_reduce},
    {"argmin", Op::arg_min, arg_reduce},
    {"cumsum", Op::cum_sum, along_axis<1>},
    {"logcumsumexp", Op::cum_sum, along_axis<1>},
    {"cumprod", Op::cum_prod, along_axis<1>},
    {"sort", Op::sort, along_axis<2>},
    {"argsort", Op::sort, arg_sort},
    {"topk", Op::top_k, top_k},
    {"histc", Op::histogram, histc},
};

}  // namespace

std::span<const AtenRow> aten_reductions() { return kReductions; }

}  // namespace latpred::readers
