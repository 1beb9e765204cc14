#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "latpred/dtype.h"
#include "readers/torch/aten_operators.h"

// Views of a whole tensor in another shape or order.
namespace latpred::readers {
namespace {

// In torch's shapes 0 is a size, where ONNX copies the input's.
void append_reshape(const AtenCall& call, VariableId x, const AtenIntegers& target) {
  Statement statement = call.statement(OperatorId::reshape, {x});
  call.set_list(statement, "shape", target, 1);
  statement.attributes.set("allowzero", std::int64_t{1});
  call.append(std::move(statement));
}

template <const char* kTarget>
void reshape(const AtenCall& call) {
  append_reshape(call, call.required("self"), call.list(kTarget));
}

constexpr char kSize[] = "size";
constexpr char kShape[] = "shape";

// The dimensions before `first` and from `last` on as they are, `middle` between them.
void reshape_around(const AtenCall& call, VariableId x, std::size_t first, std::size_t last, AtenIntegers middle) {
  const std::size_t rank = call.rank(x);
  bool is_known = true;
  for (std::size_t axis = last; axis < rank; ++axis) is_known = is_known && call.size(x, axis) > 0;
  if (is_known) {  // what stands before keeps its place, which 0 says at any batch
    AtenIntegers target(first, aten_integer(0));
    target.insert(target.end(), middle.begin(), middle.end());
    for (std::size_t axis = last; axis < rank; ++axis) target.push_back(aten_integer(call.size(x, axis)));
    Statement statement = call.statement(OperatorId::reshape, {x});
    call.set_list(statement, "shape", target, 1);
    return call.append(std::move(statement));
  }
  const VariableId shape = call.shape_of(x);
  const auto piece = [&](std::size_t start, std::size_t end) {
    return call.host(OperatorId::slice, {shape},
                     attributes_of({{"starts", Shape{static_cast<std::int64_t>(start)}},
                                    {"ends", Shape{static_cast<std::int64_t>(end)}},
                                    {"axes", Shape{0}}}));
  };
  const VariableId target = call.host(OperatorId::concat, {piece(0, first), call.size_list(middle), piece(last, rank)},
                                      attributes_of({{"axis", std::int64_t{0}}}));
  Statement statement = call.statement(OperatorId::reshape, {x, target});
  statement.attributes.set("allowzero", std::int64_t{1});
  call.append(std::move(statement));
}

void flatten(const AtenCall& call) {
  const VariableId x = call.required("self");
  const std::size_t rank = call.rank(x);
  if (rank == 0) return append_reshape(call, x, {aten_integer(-1)});
  reshape_around(call, x, call.axis("start_dim", rank), call.axis("end_dim", rank) + 1, {aten_integer(-1)});
}

void ravel(const AtenCall& call) { append_reshape(call, call.required("self"), {aten_integer(-1)}); }

void unflatten(const AtenCall& call) {
  const VariableId x = call.required("self");
  const std::size_t axis = call.axis("dim", call.rank(x));
  reshape_around(call, x, axis, axis + 1, call.list("sizes"));
}

// To the shape of another tensor.
template <OperatorId kOp>
void like_other(const AtenCall& call) {
  Statement statement = call.statement(kOp, {call.required("self"), call.shape_of(call.required("other"))});
  if (kOp == OperatorId::reshape) statement.attributes.set("allowzero", std::int64_t{1});
  call.append(std::move(statement));
}

// The same bits as another type.
void view_dtype(const AtenCall& call) {
  const VariableId x = call.required("self");
  const DType to = call.dtype(call.output());
  const bool is_as_wide = dtype_row(to).size_bits == dtype_row(call.dtype(x)).size_bits;
  Statement statement = call.statement(is_as_wide ? OperatorId::bit_cast : OperatorId::unknown, {x});
  statement.attributes.set("to", static_cast<std::int64_t>(to));
  call.append(std::move(statement));
}

void append_transpose(const AtenCall& call, VariableId x, const Shape& order) {
  Statement statement = call.statement(OperatorId::transpose, {x});
  statement.attributes.set("perm", order);
  call.append(std::move(statement));
}

void permute(const AtenCall& call) { append_transpose(call, call.required("self"), call.numbers("dims")); }

Shape in_order(std::size_t rank) {
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

template <const char* kFirst, const char* kSecond>
void transpose(const AtenCall& call) {
  const VariableId x = call.required("self");
  const std::size_t rank = call.rank(x);
  Shape order = in_order(rank);
  if (rank > 0) std::swap(order[call.axis(kFirst, rank)], order[call.axis(kSecond, rank)]);
  append_transpose(call, x, order);
}

constexpr char kDim0[] = "dim0";
constexpr char kDim1[] = "dim1";
constexpr char kAxis0[] = "axis0";
constexpr char kAxis1[] = "axis1";

// t, mT: the last two; numpy_T: all the other way round.
void matrix_transpose(const AtenCall& call) {
  const VariableId x = call.required("self");
  Shape order = in_order(call.rank(x));
  if (call.row().name == "numpy_T") {
    std::reverse(order.begin(), order.end());
  } else if (order.size() > 1) {
    std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  append_transpose(call, x, order);
}

void move_axes(const AtenCall& call) {
  const VariableId x = call.required("self");
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  Shape from = call.numbers("source");
  Shape to = call.numbers("destination");
  Shape order(static_cast<std::size_t>(rank), -1);
  std::vector<bool> is_moved(order.size());
  if (from.size() != to.size()) call.fail("moves dimensions to fewer places");
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::int64_t* axis : {&from[i], &to[i]}) {
      if (*axis < 0) *axis += rank;
      if (*axis < 0 || *axis >= rank) call.fail("moves a dimension that is not there");
    }
    order[static_cast<std::size_t>(to[i])] = from[i];
    is_moved[static_cast<std::size_t>(from[i])] = true;
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (is_moved.at(static_cast<std::size_t>(next))) ++next;
    axis = next++;
  }
  append_transpose(call, x, order);
}

// torch leaves dimensions alone that are not 1.
void squeeze(const AtenCall& call) {
  const VariableId x = call.required("self");
  const auto rank = static_cast<std::int64_t>(call.rank(x));
  Shape asked = call.numbers("dim");
  if (call.node().find("dim") == nullptr) asked = in_order(static_cast<std::size_t>(rank));
  Shape axes;
  for (std::int64_t axis : asked) {
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank && call.size(x, static_cast<std::size_t>(axis)) == 1) axes.push_back(axis);
  }
  if (axes.empty()) return call.append(call.statement(OperatorId::identity, {x}));
  Statement statement = call.statement(OperatorId::squeeze, {x});
  statement.attributes.set("axes", axes);
  call.append(std::move(statement));
}

void unsqueeze(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::unsqueeze, {call.required("self")});
  statement.attributes.set("axes", Shape{call.integer("dim")});
  call.append(std::move(statement));
}

void expand(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::expand, {call.required("self")});
  call.set_list(statement, "shape", call.list("size"), 1);
  call.append(std::move(statement));
}

void view_as_real(const AtenCall& call) {
  const VariableId x = call.required("self");
  const std::size_t rank = call.rank(x);
  const VariableId pair = call.part(OperatorId::unsqueeze, {x}, call.dtype(call.output()),
                                    attributes_of({{"axes", Shape{static_cast<std::int64_t>(rank)}}}));
  Shape target(rank, -1);
  target.push_back(2);
  Statement statement = call.statement(OperatorId::expand, {pair});
  statement.attributes.set("shape", target);
  call.append(std::move(statement));
}

// Each input along a dimension of its own, repeated along the others.
void meshgrid(const AtenCall& call) {
  const std::vector<VariableId> inputs = call.tensors("tensors");
  const std::size_t count = inputs.size();
  constexpr std::size_t kMostDimensions = 64;
  if (count > kMostDimensions) call.fail("makes a grid of too many dimensions");
  const bool swaps = call.text("indexing") == "xy" && count > 1;
  std::vector<VariableId> lengths;
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::size_t from = swaps && axis < 2 ? 1 - axis : axis;
    lengths.push_back(call.shape_of(inputs[from]));
  }
  const VariableId shape = call.host(OperatorId::concat, lengths, attributes_of({{"axis", std::int64_t{0}}}));
  for (std::size_t i = 0; i < count && i < call.node().outputs.size(); ++i) {
    Shape target(count, 1);
    target[swaps && i < 2 ? 1 - i : i] = -1;
    const VariableId placed =
        call.part(OperatorId::reshape, {inputs[i]}, call.dtype(inputs[i]), attributes_of({{"shape", target}}));
    Statement statement = call.statement(OperatorId::expand, {placed, shape}, {call.node().outputs[i]});
    if (i == 0) {
      call.append(std::move(statement));
    } else {
      statement.name += "/" + std::to_string(i);
      call.assembly().append_part(std::move(statement));
    }
  }
}

void unchanged(const AtenCall& call) { call.append(call.statement(OperatorId::identity, {call.required("self")})); }

using Op = OperatorId;

constexpr AtenRow kViews[] = {
    {"view", Op::reshape, reshape<kSize>, true},
    {"view.dtype", Op::bit_cast, view_dtype, true},
    {"_unsafe_view", Op::reshape, reshape<kSize>, true},
    {"_reshape_alias", Op::reshape, reshape<kSize>, true},
    {"_reshape_copy", Op::reshape, reshape<kSize>},
    {"reshape", Op::reshape, reshape<kShape>, true},
    {"view_as", Op::reshape, like_other<Op::reshape>, true},
    {"reshape_as", Op::reshape, like_other<Op::reshape>, true},
    {"expand_as", Op::expand, like_other<Op::expand>, true},
    {"flatten", Op::reshape, flatten, true},
    {"ravel", Op::reshape, ravel, true},
    {"unflatten", Op::reshape, unflatten, true},
    {"permute", Op::transpose, permute, true},
    {"transpose", Op::transpose, transpose<kDim0, kDim1>, true},
    {"swapdims", Op::transpose, transpose<kDim0, kDim1>, true},
    {"swapaxes", Op::transpose, transpose<kAxis0, kAxis1>, true},
    {"t", Op::transpose, matrix_transpose, true},
    {"numpy_T", Op::transpose, matrix_transpose, true},
    {"mT", Op::transpose, matrix_transpose, true},
    {"movedim", Op::transpose, move_axes, true},
    {"moveaxis", Op::transpose, move_axes, true},
    {"squeeze", Op::squeeze, squeeze, true},
    {"unsqueeze", Op::unsqueeze, unsqueeze, true},
    {"expand", Op::expand, expand, true},
    {"broadcast_to", Op::expand, expand, true},
    {"view_as_real", Op::expand, view_as_real, true},
    {"meshgrid", Op::expand, meshgrid},
    {"alias", Op::identity, unchanged, true},
    {"detach", Op::identity, unchanged, true},
    {"lift_fresh", Op::identity, unchanged, true},
    {"conj", Op::identity, unchanged, true},
    {"_conj", Op::identity, unchanged, true},
    {"resolve_conj", Op::identity, unchanged, true},
    {"resolve_neg", Op::identity, unchanged, true},
    {"positive", Op::identity, unchanged, true},
};

}  // namespace

std::span<const AtenRow> aten_views() { return kViews; }

}  // namespace latpred::readers
