#include <string>
#include <utility>

#include "latpred/dtype.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

void set_content(const AtenCall& call, Statement& statement) {
  statement.attributes.set("value_dtype", static_cast<std::int64_t>(call.dtype(call.output())));
}

// A new tensor of a size that is given, which may have the batch baked in; of `like`'s batch where that was the size of
// the file's (input 1).
void append_filled(const AtenCall& call, const AtenIntegers& size, VariableId like) {
  Statement statement = call.statement(OperatorId::constant_of_shape, {});
  call.set_list(statement, "shape", size, 0);
  statement.attributes.set("may_hold_batch", std::int64_t{1});
  if (like != kAbsent) {
    statement.inputs.resize(1, kAbsent);
    statement.inputs.push_back(like);
  }
  set_content(call, statement);
  call.append(std::move(statement));
}

void filled(const AtenCall& call) { append_filled(call, call.list("size"), kAbsent); }
void new_filled(const AtenCall& call) { append_filled(call, call.list("size"), call.tensor("self")); }
void one_number(const AtenCall& call) { append_filled(call, {}, kAbsent); }

void filled_like(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::constant_of_shape, {call.shape_of(call.required("self"))});
  set_content(call, statement);
  call.append(std::move(statement));
}

void eye(const AtenCall& call) {
  AtenIntegers size = call.list("n");
  const AtenIntegers columns = call.list(call.node().find("m") != nullptr ? "m" : "n");
  size.insert(size.end(), columns.begin(), columns.end());
  append_filled(call, size, kAbsent);
}

void linspace(const AtenCall& call) { append_filled(call, call.list("steps"), kAbsent); }

// The pairs of indices below or above a diagonal: as many as the file says.
void declared(const AtenCall& call) {
  AtenIntegers size;
  for (std::size_t axis = 0; axis < call.rank(call.output()); ++axis) {
    const std::int64_t extent = call.size(call.output(), axis);
    if (extent < 0) call.fail("has a size that the file does not tell");
    size.push_back({.number = extent});
  }
  append_filled(call, size, kAbsent);
}

void arange(const AtenCall& call) {
  constexpr DType kNumber = DType::float64;
  const auto bound = [&](std::string_view name, double fallback) {
    const AtenValue* given = call.node().find(name);
    if (given == nullptr) return call.scalar(kNumber, fallback);
    return call.operand(name, std::holds_alternative<AtenInteger>(*given) ? DType::int64 : kNumber);
  };
  Statement statement = call.statement(OperatorId::range, {bound("start", 0), bound("end", 0), bound("step", 1)});
  call.append(std::move(statement));
}

template <OperatorId kOp>
void random(const AtenCall& call) {
  Statement statement = call.statement(kOp, {});
  call.set_list(statement, "shape", call.list("size"), 0);
  statement.attributes.set("dtype", static_cast<std::int64_t>(call.dtype(call.output())));
  call.append(std::move(statement));
}

void random_like(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("self")});
  statement.attributes.set("dtype", static_cast<std::int64_t>(call.dtype(call.output())));
  call.append(std::move(statement));
}

void multinomial(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::multinomial, {call.required("self")});
  statement.attributes.set("sample_size", call.integer("num_samples"));
  statement.attributes.set("dtype", static_cast<std::int64_t>(DType::int64));
  call.append(std::move(statement));
}

void window(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {});
  statement.attributes.set("size", call.integer("window_length"));
  statement.attributes.set("output_datatype", static_cast<std::int64_t>(call.dtype(call.output())));
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kCreations[] = {
    {"zeros", Op::constant_of_shape, filled},
    {"ones", Op::constant_of_shape, filled},
    {"empty", Op::constant_of_shape, filled},
    {"empty_permuted", Op::constant_of_shape, filled},
    {"empty_strided", Op::constant_of_shape, filled},
    {"full", Op::constant_of_shape, filled},
    {"new_zeros", Op::constant_of_shape, new_filled},
    {"new_ones", Op::constant_of_shape, new_filled},
    {"new_empty", Op::constant_of_shape, new_filled},
    {"new_empty_strided", Op::constant_of_shape, new_filled},
    {"new_full", Op::constant_of_shape, new_filled},
    {"scalar_tensor", Op::constant_of_shape, one_number},
    {"zeros_like", Op::constant_of_shape, filled_like},
    {"ones_like", Op::constant_of_shape, filled_like},
    {"empty_like", Op::constant_of_shape, filled_like},
    {"full_like", Op::constant_of_shape, filled_like},
    {"fill", Op::constant_of_shape, filled_like},
    {"zero", Op::constant_of_shape, filled_like},
    {"eye", Op::constant_of_shape, eye},
    {"linspace", Op::constant_of_shape, linspace},
    {"logspace", Op::constant_of_shape, linspace},
    {"tril_indices", Op::constant_of_shape, declared},
    {"triu_indices", Op::constant_of_shape, declared},
    {"arange", Op::range, arange},
    {"rand", Op::random_uniform, random<Op::random_uniform>},
    {"randint", Op::random_uniform, random<Op::random_uniform>},
    {"randn", Op::random_normal, random<Op::random_normal>},
    {"rand_like", Op::random_uniform_like, random_like},
    {"randint_like", Op::random_uniform_like, random_like},
    {"uniform", Op::random_uniform_like, random_like},
    {"randn_like", Op::random_normal_like, random_like},
    {"normal", Op::random_normal_like, random_like},
    {"bernoulli", Op::bernoulli, random_like},
    {"multinomial", Op::multinomial, multinomial},
    {"hann_window", Op::hann_window, window},
    {"hamming_window", Op::hamming_window, window},
    {"blackman_window", Op::blackman_window, window},
};

}  // namespace

std::span<const AtenRow> aten_creations() { return kCreations; }

}  // namespace latpred::readers
