#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "readers/torch/aten_operators.h"

// Views of a part of a tensor.
namespace latpred::readers {
namespace {

void select(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::select, {call.required("self")});
  statement.attributes.set("axis", call.integer("dim"));
  const AtenIntegers index = call.list("index");
  if (index.size() == 1 && index[0].is_number()) {
    statement.attributes.set("index", index[0].number);
  } else {
    statement.inputs.push_back(call.required("index"));
  }
  call.append(std::move(statement));
}

void append_slice(const AtenCall& call, AtenInteger start, AtenInteger end, std::int64_t step) {
  Statement statement = call.statement(OperatorId::slice, {call.required("self")});
  call.set_list(statement, "starts", {start}, 1);
  call.set_list(statement, "ends", {end}, 2);
  statement.attributes.set("axes", Shape{call.integer("dim")});
  statement.attributes.set("steps", Shape{step});
  call.append(std::move(statement));
}

void slice(const AtenCall& call) {
  const AtenIntegers start = call.list("start");
  const AtenIntegers end = call.list("end");
  append_slice(call, start.empty() ? aten_integer(0) : start[0],
               end.empty() ? aten_integer(std::numeric_limits<std::int64_t>::max()) : end[0], call.integer("step"));
}

void narrow(const AtenCall& call) {
  const AtenIntegers start = call.list("start");
  const AtenIntegers length = call.list("length");
  if (start.size() != 1 || length.size() != 1) call.fail("needs a start and a length");
  if (start[0].is_number() && length[0].is_number()) {
    return append_slice(call, start[0], aten_integer(start[0].number + length[0].number), 1);
  }
  const VariableId end = call.host(OperatorId::add, {call.size_list(start), call.size_list(length)});
  Statement statement = call.statement(OperatorId::slice, {call.required("self"), call.size_list(start), end});
  statement.attributes.set("axes", Shape{call.integer("dim")});
  call.append(std::move(statement));
}

void append_split(const AtenCall& call, const AtenIntegers& sizes) {
  Statement statement = call.statement(OperatorId::split, {call.required("self")}, call.node().outputs);
  statement.attributes.set("axis", call.integer("dim"));
  if (!sizes.empty()) call.set_list(statement, "split", sizes, 1);
  call.append(std::move(statement));
}

// Parts of `part` elements, the last one what is left; equal parts where the size is symbolic.
AtenIntegers parts_of(const AtenCall& call, std::int64_t size, std::int64_t part) {
  AtenIntegers sizes;
  if (size <= 0 || part <= 0) return sizes;
  if (static_cast<std::size_t>((size - 1) / part) + 1 != call.node().outputs.size()) {
    call.fail("gives another number of parts than its size makes");
  }
  for (std::int64_t at = 0; at < size; at += part) sizes.push_back(aten_integer(std::min(part, size - at)));
  return sizes;
}

std::int64_t axis_size(const AtenCall& call) {
  const VariableId x = call.required("self");
  return call.size(x, call.axis("dim", call.rank(x)));
}

void split(const AtenCall& call) {
  const AtenIntegers given = call.list("split_size");
  const bool is_number = given.size() == 1 && given[0].is_number();
  append_split(call, is_number ? parts_of(call, axis_size(call), given[0].number) : AtenIntegers());
}

void split_with_sizes(const AtenCall& call) {
  const AtenIntegers sizes = call.list("split_sizes");
  append_split(call, sizes.empty() ? call.list("split_size") : sizes);
}

void chunk(const AtenCall& call) {
  const std::int64_t size = axis_size(call);
  const std::int64_t chunks = call.integer("chunks");
  if (chunks < 1) call.fail("needs at least one chunk");
  append_split(call, size > 0 ? parts_of(call, size, (size - 1) / chunks + 1) : AtenIntegers());
}

void tensor_split(const AtenCall& call) {
  const std::int64_t size = axis_size(call);
  AtenIntegers sizes;
  if (call.node().find("indices") != nullptr) {
    std::int64_t before = 0;
    for (std::int64_t index : call.numbers("indices")) {
      if (size < 0) call.fail("cuts a dimension of unknown size");
      if (index < 0) index += size;
      index = std::clamp<std::int64_t>(index, before, size);
      sizes.push_back(aten_integer(index - before));
      before = index;
    }
    sizes.push_back(aten_integer(size - before));
  } else if (size > 0) {
    const std::int64_t sections = call.integer("sections");
    if (sections != std::ssize(call.node().outputs)) call.fail("gives another number of parts than its sections");
    for (std::int64_t i = 0; i < sections; ++i) sizes.push_back(aten_integer(size / sections + (i < size % sections)));
  }
  append_split(call, sizes);
}

// One call for all: as many selects, which cost nothing.
void unbind(const AtenCall& call) {
  const VariableId x = call.required("self");
  const auto axis = static_cast<std::int64_t>(call.axis("dim", call.rank(x)));
  const std::vector<VariableId>& outputs = call.node().outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Statement statement = call.statement(OperatorId::select, {x}, {outputs[i]});
    statement.attributes = attributes_of({{"axis", axis}, {"index", static_cast<std::int64_t>(i)}});
    if (i == 0) {
      call.append(std::move(statement));
    } else {
      statement.name += "/" + std::to_string(i);
      call.assembly().append_part(std::move(statement));
    }
  }
}

void unfold(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::sliding_window, {call.required("self")});
  statement.attributes.set("axis", call.integer("dimension"));
  statement.attributes.set("size", call.integer("size"));
  statement.attributes.set("step", call.integer("step"));
  call.append(std::move(statement));
}

void as_strided(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::as_strided, {call.required("self")});
  call.set_list(statement, "size", call.list("size"), 1);
  call.set_list(statement, "stride", call.list("stride"), 2);
  call.append(std::move(statement));
}

// Real and imaginary part are the last dimension of the real tensor.
void view_as_complex(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::select, {call.required("self")});
  statement.attributes = attributes_of({{"axis", std::int64_t{-1}}, {"index", std::int64_t{0}}});
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kSlices[] = {
    {"select", Op::select, select, true},
    {"slice", Op::slice, slice, true},
    {"narrow", Op::slice, narrow, true},
    {"split", Op::split, split, true},
    {"split_with_sizes", Op::split, split_with_sizes, true},
    {"split.sizes", Op::split, split_with_sizes, true},
    {"chunk", Op::split, chunk, true},
    {"tensor_split", Op::split, tensor_split, true},
    {"unbind", Op::select, unbind, true},
    {"unfold", Op::sliding_window, unfold, true},
    {"as_strided", Op::as_strided, as_strided, true},
    {"view_as_complex", Op::select, view_as_complex, true},
};

}  // namespace

std::span<const AtenRow> aten_slices() { return kSlices; }

}  // namespace latpred::readers
