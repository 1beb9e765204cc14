#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "latpred/autocast.h"
#include "latpred/dtype.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

void append_copy(const AtenCall& call, VariableId x) {
  Statement statement = call.statement(OperatorId::identity, {x});
  statement.attributes.set("copy", std::int64_t{1});
  call.append(std::move(statement));
}

void clone(const AtenCall& call) { append_copy(call, call.required("self")); }

void contiguous(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::identity, {call.required("self")});
  statement.attributes.set("contiguous", std::int64_t{1});
  call.append(std::move(statement));
}

void append_cast(const AtenCall& call, VariableId x) {
  Statement statement = call.statement(OperatorId::cast, {x});
  statement.attributes.set("to", static_cast<std::int64_t>(call.dtype(call.output())));
  call.append(std::move(statement));
}

// To another type, or to another device or layout, which is none here. Code that asks for a type which the tensor has
// may ask for another one under autocast.
void to(const AtenCall& call) {
  const VariableId x = call.required("self");
  if (call.dtype(x) != call.dtype(call.output())) return append_cast(call, x);
  if (call.flag("copy")) return append_copy(call, x);
  Statement statement = call.statement(OperatorId::identity, {x});
  const bool names_type = call.has("other") || (call.has("dtype") && !call.has("device"));
  if (names_type) statement.attributes.set(std::string(kConverts), std::vector<std::int64_t>{0});
  call.append(std::move(statement));
}

// In evaluation; torch.export writes whether it trains.
void dropout(const AtenCall& call) {
  const std::vector<VariableId> tensors = call.all_tensors();
  if (tensors.empty()) call.fail("has no tensor");
  const VariableId x = tensors[0];
  const bool trains = call.flag("train");
  Statement statement = call.statement(trains ? OperatorId::dropout : OperatorId::identity, {x});
  call.append(std::move(statement));
}

// self <- src, which may be smaller or of another type.
void copy(const AtenCall& call) {
  const VariableId to = call.required("self");
  const VariableId from = call.required("src");
  const VariableId shape = call.shape_of(to);
  const VariableId spread = call.part(OperatorId::expand, {from, shape}, call.dtype(from));
  if (call.dtype(from) != call.dtype(to)) return append_cast(call, spread);
  append_copy(call, spread);
}

// [batch, channels, ...]: torch.nn.functional.pad counts from the last dimension.
void append_pad(const AtenCall& call, std::string mode) {
  const VariableId x = call.required("self");
  const std::size_t rank = call.rank(x);
  const AtenIntegers given = call.list(call.node().find("pad") != nullptr ? "pad" : "padding");
  if (given.size() % 2 != 0 || given.size() / 2 > rank) call.fail("has pads that do not fit its input");
  const std::size_t count = given.size() / 2;
  AtenIntegers pads;
  Shape axes;
  for (const std::size_t side : {0, 1}) {
    for (std::size_t i = 0; i < count; ++i) pads.push_back(given[2 * i + side]);
  }
  for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(rank - 1 - i));
  Statement statement = call.statement(OperatorId::pad, {x});
  call.set_list(statement, "pads", pads, 1);
  statement.attributes.set("axes", axes);
  statement.attributes.set("mode", std::move(mode));
  call.append(std::move(statement));
}

// ONNX's names of torch's modes.
std::string pad_mode(std::string mode) {
  if (mode == "replicate") return "edge";
  if (mode == "circular") return "wrap";
  return mode;
}

void pad(const AtenCall& call) { append_pad(call, pad_mode(call.text("mode"))); }

template <const char* kMode>
void pad_as(const AtenCall& call) {
  append_pad(call, kMode);
}

constexpr char kConstant[] = "constant";
constexpr char kReflect[] = "reflect";
constexpr char kEdge[] = "edge";

void roll(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::roll, {call.required("self")});
  statement.attributes.set("axes", call.numbers("dims"));
  call.append(std::move(statement));
}

void flip(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::flip, {call.required("self")});
  statement.attributes.set("axes", call.numbers("dims"));
  call.append(std::move(statement));
}

template <const char* kRepeats>
void repeat(const AtenCall& call) {
  const VariableId x = call.required("self");
  AtenIntegers repeats = call.list(kRepeats);
  while (repeats.size() < call.rank(x)) repeats.insert(repeats.begin(), {.number = 1});
  Statement statement = call.statement(OperatorId::tile, {x});
  call.set_list(statement, "repeats", repeats, 1);
  call.append(std::move(statement));
}

constexpr char kRepeatsName[] = "repeats";
constexpr char kDims[] = "dims";

void triangle(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::trilu, {call.required("self")});
  statement.attributes.set("upper", static_cast<std::int64_t>(call.row().name == "triu"));
  call.append(std::move(statement));
}

void cat(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::concat, call.tensors("tensors"));
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

void stack(const AtenCall& call) {
  const std::int64_t axis = call.integer("dim");
  std::vector<VariableId> inputs = call.tensors("tensors");
  for (VariableId& x : inputs) {
    x = call.part(OperatorId::unsqueeze, {x}, call.dtype(x), attributes_of({{"axes", Shape{axis}}}));
  }
  Statement statement = call.statement(OperatorId::concat, std::move(inputs));
  statement.attributes.set("axis", axis);
  call.append(std::move(statement));
}

// x[1:] - x[:-1] along an axis, n times, after putting what is given before and behind.
void diff(const AtenCall& call) {
  VariableId x = call.required("self");
  const DType dtype = call.dtype(x);
  const auto axis = static_cast<std::int64_t>(call.axis("dim", call.rank(x)));
  std::vector<VariableId> joined{x};
  if (call.has("prepend")) joined.insert(joined.begin(), call.tensor("prepend"));
  if (call.has("append")) joined.push_back(call.tensor("append"));
  if (joined.size() > 1) x = call.part(OperatorId::concat, joined, dtype, attributes_of({{"axis", axis}}));
  constexpr std::int64_t kEnd = std::int64_t{1} << 62;
  const OperatorId op = dtype == DType::boolean ? OperatorId::logical_xor : OperatorId::sub;
  const std::int64_t times = call.integer("n");
  constexpr std::int64_t kMostTimes = 64;
  if (times < 1 || times > kMostTimes) call.fail("takes too many differences");
  for (std::int64_t i = 0; i < times; ++i) {
    const auto piece = [&](std::int64_t start, std::int64_t end) {
      return call.part(OperatorId::slice, {x}, dtype,
                       attributes_of({{"starts", Shape{start}}, {"ends", Shape{end}}, {"axes", Shape{axis}}}));
    };
    const std::vector<VariableId> pair{piece(1, kEnd), piece(0, -1)};
    if (i + 1 == times) return call.append(call.statement(op, pair));
    x = call.part(op, pair, dtype);
  }
}

using Op = OperatorId;

constexpr AtenRow kCopies[] = {
    {"clone", Op::identity, clone},
    {"lift_fresh_copy", Op::identity, clone},
    {"alias_copy", Op::identity, clone},
    {"detach_copy", Op::identity, clone},
    {"contiguous", Op::identity, contiguous, true},
    {"to", Op::cast, to, true},
    {"_to_copy", Op::cast, to},
    {"type_as", Op::cast, to, true},
    {"copy", Op::identity, copy},
    {"dropout", Op::identity, dropout, true},
    {"native_dropout", Op::identity, dropout, true},
    {"alpha_dropout", Op::identity, dropout, true},
    {"feature_dropout", Op::identity, dropout, true},
    {"feature_alpha_dropout", Op::identity, dropout, true},
    {"pad", Op::pad, pad},
    {"constant_pad_nd", Op::pad, pad_as<kConstant>},
    {"reflection_pad1d", Op::pad, pad_as<kReflect>},
    {"reflection_pad2d", Op::pad, pad_as<kReflect>},
    {"reflection_pad3d", Op::pad, pad_as<kReflect>},
    {"replication_pad1d", Op::pad, pad_as<kEdge>},
    {"replication_pad2d", Op::pad, pad_as<kEdge>},
    {"replication_pad3d", Op::pad, pad_as<kEdge>},
    {"roll", Op::roll, roll},
    {"flip", Op::flip, flip},
    {"repeat", Op::tile, repeat<kRepeatsName>},
    {"tile", Op::tile, repeat<kDims>},
    {"tril", Op::trilu, triangle},
    {"triu", Op::trilu, triangle},
    {"cat", Op::concat, cat},
    {"concat", Op::concat, cat},
    {"concatenate", Op::concat, cat},
    {"stack", Op::concat, stack},
    {"diff", Op::sub, diff},
};

}  // namespace

std::span<const AtenRow> aten_copies() { return kCopies; }

}  // namespace latpred::readers
