#include <algorithm>

#include "latpred/text.h"
#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

using Numbers = std::vector<std::int64_t>;

void reshape(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"shape"}, "Shape", "ShapeTensor", 1), "shape", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

// Dimensions `start` to `stop` become one.
void flatten_range(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  std::int64_t start = lowering.integer({"start_axis"}, 1);
  std::int64_t stop = lowering.integer({"stop_axis"}, 1);
  const std::int64_t rank = lowering.rank(x);
  if (rank >= 0 && start < 0) start += rank;
  if (rank >= 0 && stop < 0) stop += rank;
  if (start < 0 || stop < start || stop > kMaxAxis) {
    lowering.fail(concat("cannot flatten dimensions ", start, " to ", stop));
  }
  if (stop == rank - 1 && start == 1) {
    return lowering.emit(OperatorId::flatten, {x}, {lowering.output()}, attributes_of({{"axis", std::int64_t{1}}}));
  }
  Numbers target(start, 0);
  target.push_back(-1);
  if (stop == rank - 1) return lowering.emit(op, {x}, {lowering.output()}, attributes_of({{"shape", target}}));
  const VariableId behind = lowering.make(OperatorId::shape, {x}, attributes_of({{"start", stop + 1}}));
  const VariableId sizes = lowering.make(OperatorId::concat, {lowering.integers_constant(target), behind},
                                         attributes_of({{"axis", std::int64_t{0}}}));
  lowering.emit(op, {x, sizes}, {lowering.output()});
}

void flatten(PaddleLowering& lowering, OperatorId op) {
  if (lowering.op().is_pir) return flatten_range(lowering, OperatorId::reshape);
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"axis", lowering.integer({"axis"}, 1)}}));
}

// Paddle passes over axes whose size is not 1.
void squeeze(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  std::vector<VariableId> inputs{x};
  PaddleIntegers axes = lowering.parameter({"axes", "axis"}, "AxesTensor", "AxesTensorList", 1);
  if (axes.numbers) {
    std::erase_if(*axes.numbers, [&](std::int64_t axis) {
      const std::int64_t size = lowering.declared_size(x, axis);
      return size != kUnknownSize && size != 1;
    });
    if (axes.numbers->empty() && lowering.integers({"axes", "axis"}).value_or(Numbers{}).empty()) axes = {};
  }
  Attributes attributes;
  place(axes, "axes", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void unsqueeze(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"axes", "axis"}, "AxesTensor", "AxesTensorList", 1), "axes", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void expand(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  place(lowering.parameter({"shape"}, "Shape", "expand_shapes_tensor", 1), "shape", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void expand_as(PaddleLowering& lowering, OperatorId op) {
  const VariableId like = lowering.input("Y", 1);
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  if (like != kAbsent) {
    inputs.push_back(lowering.make(OperatorId::shape, {like}));
  } else {
    attributes.set("shape", lowering.integers({"target_shape"}).value_or(Numbers{}));
  }
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void tile(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  const bool is_old = lowering.op().name == "expand";
  place(lowering.parameter({"repeat_times", "expand_times"}, is_old ? "ExpandTimes" : "RepeatTimes",
                           is_old ? "expand_times_tensor" : "repeat_times_tensor", 1),
        "repeats", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void transpose(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()},
                attributes_of({{"perm", lowering.integers({"axis", "perm"}).value_or(Numbers{})}}));
}

// Up to version 2.4 a result without dimensions was stored with one.
void slice(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("Input", 0);
  const VariableId output = lowering.output();
  std::vector<VariableId> inputs{x};
  Attributes attributes;
  if (const auto axes = lowering.integers({"axes"})) attributes.set("axes", *axes);
  place(lowering.parameter({"starts"}, "StartsTensor", "StartsTensorList", 1), "starts", 1, inputs, attributes);
  place(lowering.parameter({"ends"}, "EndsTensor", "EndsTensorList", 2), "ends", 2, inputs, attributes);
  if (lowering.op().name == "strided_slice") {
    place(lowering.parameter({"strides"}, "StridesTensor", "StridesTensorList", 3), "steps", 4, inputs, attributes);
  }
  Numbers dropped = lowering.integers({"decrease_axis"}).value_or(Numbers{});
  const std::int64_t rank = lowering.rank(x);
  const bool drops_all = rank > 0 && static_cast<std::int64_t>(dropped.size()) == rank;
  if (drops_all && lowering.rank(output) == 1) dropped.pop_back();
  if (dropped.empty()) return lowering.emit(op, std::move(inputs), {output}, std::move(attributes));
  const VariableId value = lowering.make(op, std::move(inputs), std::move(attributes));
  lowering.emit(OperatorId::squeeze, {value}, {output}, attributes_of({{"axes", dropped}}));
}

void select(PaddleLowering& lowering, VariableId x, std::int64_t axis, const std::vector<VariableId>& outputs) {
  std::vector<VariableId> parts;
  for (std::size_t i = 0; i < outputs.size(); ++i) parts.push_back(lowering.temporary());
  lowering.emit(OperatorId::split, {x}, parts, attributes_of({{"axis", axis}}));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    lowering.emit(OperatorId::squeeze, {parts[i]}, {outputs[i]}, attributes_of({{"axes", Numbers{axis}}}));
  }
}

void unbind(PaddleLowering& lowering, OperatorId) {
  const std::vector<VariableId> outputs = lowering.outputs(lowering.op().name == "unstack" ? "Y" : "Out", 0);
  select(lowering, lowering.needed("X", 0), lowering.integer({"axis"}, 0), outputs);
}

std::int64_t axis_of(PaddleLowering& lowering, std::size_t position) {
  const PaddleIntegers axis = lowering.parameter({"axis"}, "AxisTensor", "", position);
  if (axis.variable != kAbsent) lowering.fail("its axis is computed, so that no size can be known before it runs");
  return axis.numbers && axis.numbers->size() == 1 ? axis.numbers->front() : 0;
}

void join(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, lowering.inputs("X", 0), {lowering.output()}, attributes_of({{"axis", axis_of(lowering, 1)}}));
}

void stack(PaddleLowering& lowering, OperatorId op) {
  const std::int64_t axis = lowering.integer({"axis"}, 0);
  std::vector<VariableId> parts;
  for (const VariableId id : lowering.inputs("X", 0)) {
    parts.push_back(lowering.make(OperatorId::unsqueeze, {id}, attributes_of({{"axes", Numbers{axis}}})));
  }
  lowering.emit(op, std::move(parts), {lowering.output("Y", 0)}, attributes_of({{"axis", axis}}));
}

// One part may be open (-1): it takes what remains.
void split(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const bool is_counted = lowering.op().name == "split_with_num";
  const std::int64_t axis = axis_of(lowering, is_counted ? 1 : 2);
  std::vector<VariableId> outputs = lowering.outputs("Out", 0);
  Attributes attributes = attributes_of({{"axis", axis}});
  std::vector<VariableId> inputs{x};
  PaddleIntegers parts;
  if (!is_counted) parts = lowering.parameter({"sections"}, "", "SectionsTensorList", 1);
  if (parts.numbers) {
    const auto open = std::find(parts.numbers->begin(), parts.numbers->end(), -1);
    const std::int64_t size = lowering.declared_size(x, axis);
    if (open != parts.numbers->end()) {
      if (size == kUnknownSize) lowering.fail("one part is open and so is the dimension that it splits");
      std::int64_t rest = size;
      for (const std::int64_t part : *parts.numbers) rest -= part == -1 ? 0 : std::clamp<std::int64_t>(part, 0, size);
      *open = rest;
    }
    if (parts.numbers->empty()) parts = {};  // equal parts
  }
  place(parts, "split", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), std::move(outputs), std::move(attributes));
}

// `pad` has begin and end of every dimension; `pad3d` those of the spatial ones, the last one first; `pad2d` top,
// bottom, left, right.
void pad(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  const std::string_view name = lowering.op().name;
  const PaddleIntegers given = name == "pad" ? PaddleIntegers{lowering.integers({"paddings"}), kAbsent}
                                             : lowering.parameter({"paddings"}, "Paddings", "", 1);
  if (!given.numbers) lowering.fail("its paddings are missing or computed, which is not read");
  const Numbers& pairs = *given.numbers;
  if (pairs.size() % 2 != 0 || pairs.size() > 2 * kMaxAxis) {
    lowering.fail(concat("its paddings ", shape_text(pairs), " are no pairs"));
  }
  const auto count = static_cast<std::int64_t>(pairs.size() / 2);
  Numbers axes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = lowering.is_channels_last() ? 1 : 2;
    axes.push_back(name == "pad" ? i : name == "pad3d" ? first + count - 1 - i : first + i);
  }
  Numbers pads;
  for (std::int64_t i = 0; i < count; ++i) pads.push_back(pairs[2 * i]);
  for (std::int64_t i = 0; i < count; ++i) pads.push_back(pairs[2 * i + 1]);
  lowering.emit(op, {x}, {lowering.output()}, attributes_of({{"pads", pads}, {"axes", axes}}));
}

void same(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output()});
}

}  // namespace

const std::vector<PaddleRow>& paddle_view_rows() {
  static const std::vector<PaddleRow> rows{
      {"reshape", kBoth, reshape, OperatorId::reshape},
      {"reshape2", kProgram, reshape, OperatorId::reshape},
      {"flatten", kBoth, flatten, OperatorId::flatten},
      {"flatten2", kProgram, flatten, OperatorId::flatten},
      {"flatten_contiguous_range", kProgram, flatten_range, OperatorId::reshape},
      {"squeeze", kBoth, squeeze, OperatorId::squeeze},
      {"squeeze2", kProgram, squeeze, OperatorId::squeeze},
      {"unsqueeze", kBoth, unsqueeze, OperatorId::unsqueeze},
      {"unsqueeze2", kProgram, unsqueeze, OperatorId::unsqueeze},
      {"expand", kPir, expand, OperatorId::expand},
      {"expand_v2", kProgram, expand, OperatorId::expand},
      {"expand", kProgram, tile, OperatorId::tile},
      {"expand_as", kBoth, expand_as, OperatorId::expand},
      {"expand_as_v2", kProgram, expand_as, OperatorId::expand},
      {"tile", kBoth, tile, OperatorId::tile},
      {"transpose", kBoth, transpose, OperatorId::transpose},
      {"transpose2", kProgram, transpose, OperatorId::transpose},
      {"slice", kBoth, slice, OperatorId::slice},
      {"strided_slice", kBoth, slice, OperatorId::slice},
      {"unbind", kBoth, unbind, OperatorId::split},
      {"unstack", kBoth, unbind, OperatorId::split},
      {"concat", kBoth, join, OperatorId::concat},
      {"stack", kBoth, stack, OperatorId::concat},
      {"split", kBoth, split, OperatorId::split},
      {"split_with_num", kPir, split, OperatorId::split},
      {"pad", kBoth, pad, OperatorId::pad},
      {"pad2d", kProgram, pad, OperatorId::pad},
      {"pad3d", kBoth, pad, OperatorId::pad},
      {"roll", kBoth, same, OperatorId::roll},
      {"flip", kBoth, same, OperatorId::flip},
      {"tril", kBoth, same, OperatorId::trilu},
      {"triu", kBoth, same, OperatorId::trilu},
      {"tril_triu", kProgram, same, OperatorId::trilu},
  };
  return rows;
}

}  // namespace latpred::readers
