#include <algorithm>

#include "latpred/text.h"
#include "readers/paddle/paddle_lowering.h"

namespace latpred::readers {
namespace {

std::int64_t one_number(PaddleLowering& lowering, const PaddleIntegers& given, std::int64_t fallback) {
  if (given.numbers && given.numbers->size() == 1) return given.numbers->front();
  if (given.is_given()) lowering.fail("its axis is computed, so that no size can be known before it runs");
  return fallback;
}

// The table is `W`, whose place differs between the formats and versions.
void embedding(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("W", 1), lowering.needed("Ids", 0)}, {lowering.output()});
}

// Before version 2 the ids had a last dimension of 1.
void lookup_table(PaddleLowering& lowering, OperatorId op) {
  const VariableId ids = lowering.needed("Ids", 1);
  const VariableId flat =
      lowering.make(OperatorId::squeeze, {ids}, attributes_of({{"axes", std::vector<std::int64_t>{-1}}}));
  lowering.emit(op, {lowering.needed("W", 0), flat}, {lowering.output()});
}

void gather(PaddleLowering& lowering, OperatorId op) {
  const VariableId x = lowering.needed("X", 0);
  VariableId index = lowering.needed("Index", 1);
  if (lowering.rank(index) == 2) {
    index = lowering.make(OperatorId::squeeze, {index}, attributes_of({{"axes", std::vector<std::int64_t>{1}}}));
  }
  const std::int64_t axis = one_number(lowering, lowering.parameter({"axis", "dim"}, "Axis", "", 2), 0);
  lowering.emit(op, {x, index}, {lowering.output()}, attributes_of({{"axis", axis}}));
}

void index_select(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Index", 1)}, {lowering.output()},
                attributes_of({{"axis", lowering.integer({"dim", "axis"}, 0)}}));
}

void gather_nd(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Index", 1)}, {lowering.output()});
}

void take_along_axis(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Input", 0), lowering.needed("Index", 1)}, {lowering.output("Result", 0)},
                attributes_of({{"axis", lowering.integer({"Axis", "axis"}, 0)}}));
}

void index_sample(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Index", 1)}, {lowering.output()},
                attributes_of({{"axis", std::int64_t{1}}}));
}

void put_along_axis(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Input", 0), lowering.needed("Index", 1), lowering.needed("Value", 2)},
                {lowering.output("Result", 0)}, attributes_of({{"axis", lowering.integer({"Axis", "axis"}, 0)}}));
}

// Rows of X are replaced or added to.
void scatter(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.input("Ids", 1), lowering.needed("Updates", 2)},
                {lowering.output()});
}

void scatter_nd_add(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0), lowering.needed("Index", 1), lowering.needed("Updates", 2)},
                {lowering.output()});
}

// Writes into a region of its input; a constant that it writes is an attribute.
void set_value(PaddleLowering& lowering, OperatorId op) {
  const std::string_view name = lowering.op().name;
  const VariableId value = name == "set_value_with_tensor" ? lowering.input("", 1)
                           : lowering.op().is_pir          ? kAbsent
                                                           : lowering.input("ValueTensor", 1);
  std::vector<VariableId> inputs{lowering.needed("Input", 0)};
  if (value != kAbsent) inputs.insert(inputs.end(), {kAbsent, value});
  lowering.emit(op, std::move(inputs), {lowering.output()});
}

void one_hot(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes;
  const PaddleIntegers depth = lowering.parameter({"depth"}, "depth_tensor", "", 1);
  if (!depth.is_given()) lowering.fail("its depth is missing");
  // The rule takes real numbers there.
  if (depth.numbers) {
    if (depth.numbers->size() != 1) lowering.fail("its depth must be one number");
    attributes.set("depth", static_cast<double>(depth.numbers->front()));
  } else {
    inputs.push_back(depth.variable);
  }
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void arg_extremum(PaddleLowering& lowering, OperatorId op) {
  VariableId x = lowering.needed("X", 0);
  const bool flattens = lowering.integer({"flatten"}, 0) != 0;
  if (flattens) {
    x = lowering.make(OperatorId::reshape, {x}, attributes_of({{"shape", std::vector<std::int64_t>{-1}}}));
  }
  const std::int64_t axis = one_number(lowering, lowering.parameter({"axis"}, "", "", 1), -1);
  lowering.emit(
      op, {x}, {lowering.output()},
      attributes_of({{"axis", flattens ? std::int64_t{0} : axis}, {"keepdims", lowering.integer({"keepdims"}, 0)}}));
}

void sort(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("X", 0)}, {lowering.output(), lowering.output("Indices", 1)},
                attributes_of({{"axis", lowering.integer({"axis"}, -1)}}));
}

void top_k(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes = attributes_of({{"axis", lowering.integer({"axis"}, -1)}});
  place(lowering.parameter({"k"}, "K", "", 1), "k", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output(), lowering.output("Indices", 1)}, std::move(attributes));
}

void cumulative(PaddleLowering& lowering, OperatorId op) {
  VariableId x = lowering.needed("X", 0);
  if (lowering.integer({"flatten"}, 0) != 0) {
    x = lowering.make(OperatorId::reshape, {x}, attributes_of({{"shape", std::vector<std::int64_t>{-1}}}));
  }
  lowering.emit(op, {x}, {lowering.output()});
}

// Axes in an attribute, or an input in PIR; none, or `reduce_all`: all of them.
void reduce(PaddleLowering& lowering, OperatorId op) {
  std::vector<VariableId> inputs{lowering.needed("X", 0)};
  Attributes attributes = attributes_of({{"keepdims", lowering.integer({"keepdim", "keep_dim"}, 0)}});
  const bool has_axes = lowering.integer({"reduce_all"}, 0) == 0 && lowering.op().name != "mean_all";
  if (has_axes) place(lowering.parameter({"axis", "dim"}, "", "", 1), "axes", 1, inputs, attributes);
  lowering.emit(op, std::move(inputs), {lowering.output()}, std::move(attributes));
}

void p_norm(PaddleLowering& lowering, OperatorId) {
  const double order = lowering.real({"porder"}, 2);
  Attributes attributes = attributes_of({{"keepdims", lowering.integer({"keepdim"}, 0)}});
  if (lowering.integer({"asvector"}, 0) == 0) {
    attributes.set("axes", std::vector<std::int64_t>{lowering.integer({"axis"}, -1)});
  }
  lowering.emit(order == 1 ? OperatorId::reduce_l1 : OperatorId::reduce_l2, {lowering.needed("X", 0)},
                {lowering.output()}, std::move(attributes));
}

void shape(PaddleLowering& lowering, OperatorId op) {
  lowering.emit(op, {lowering.needed("Input", 0)}, {lowering.output()});
}

void non_zero(PaddleLowering& lowering, OperatorId op) {
  // Ours has the coordinates in columns, as ONNX has.
  const VariableId found = lowering.make(op, {lowering.needed("Condition", 0)});
  lowering.emit(OperatorId::transpose, {found}, {lowering.output()},
                attributes_of({{"perm", std::vector<std::int64_t>{1, 0}}}));
}

// How many boxes remain depends on the data: at most `keep_top_k` for each image.
void multiclass_nms(PaddleLowering& lowering, OperatorId) {
  const std::int64_t most = lowering.integer({"keep_top_k"}, -1);
  const VariableId boxes = lowering.output();
  if (most > 0 && boxes != kAbsent) {
    const VariableId scores = lowering.input("Scores", 1);
    const std::int64_t batch = lowering.declared_size(scores, 0);
    for (const PaddleSlot& slot : lowering.op().outputs) {
      for (const VariableId id : slot.variables) {
        Variable& result = lowering.assembly().variable(id);
        if (result.dimensions.empty() || result.dimensions.front().size != kUnknownSize) continue;
        const bool is_count = result.dimensions.size() == 1;
        result.dimensions.front() =
            batch == kUnknownSize
                ? Dimension{.size = kUnknownSize, .symbol = is_count ? "batch" : concat(most, "*batch")}
                : Dimension{.size = is_count ? batch : batch * most, .symbol = {}};
      }
    }
    lowering.assembly().warn(concat("operator '", lowering.op().node,
                                    "': how many boxes are kept depends on the data; the upper bound ", most,
                                    " for each image is taken"));
  }
  lowering.emit_unknown();
}

}  // namespace

const std::vector<PaddleRow>& paddle_index_rows() {
  static const std::vector<PaddleRow> rows{
      {"embedding", kPir, embedding, OperatorId::embedding},
      {"lookup_table_v2", kBoth, embedding, OperatorId::embedding},
      {"lookup_table", kBoth, lookup_table, OperatorId::embedding},
      {"gather", kBoth, gather, OperatorId::gather},
      {"index_select", kBoth, index_select, OperatorId::gather},
      {"gather_nd", kBoth, gather_nd, OperatorId::gather_nd},
      {"take_along_axis", kBoth, take_along_axis, OperatorId::gather_elements},
      {"index_sample", kBoth, index_sample, OperatorId::gather_elements},
      {"put_along_axis", kBoth, put_along_axis, OperatorId::scatter_elements},
      {"scatter", kBoth, scatter, OperatorId::scatter_elements},
      {"scatter_nd_add", kBoth, scatter_nd_add, OperatorId::scatter_nd},
      {"set_value", kBoth, set_value, OperatorId::scatter_nd},
      {"set_value_with_tensor", kPir, set_value, OperatorId::scatter_nd},
      {"one_hot", kPir, one_hot, OperatorId::one_hot},
      {"one_hot_v2", kBoth, one_hot, OperatorId::one_hot},
      {"arg_max", kProgram, arg_extremum, OperatorId::arg_max},
      {"arg_min", kProgram, arg_extremum, OperatorId::arg_min},
      {"argmax", kPir, arg_extremum, OperatorId::arg_max},
      {"argmin", kPir, arg_extremum, OperatorId::arg_min},
      {"argsort", kBoth, sort, OperatorId::sort},
      {"top_k", kProgram, top_k, OperatorId::top_k},
      {"top_k_v2", kProgram, top_k, OperatorId::top_k},
      {"topk", kPir, top_k, OperatorId::top_k},
      {"cumsum", kBoth, cumulative, OperatorId::cum_sum},
      {"cumprod", kBoth, cumulative, OperatorId::cum_prod},
      {"all", kPir, reduce, OperatorId::reduce_all},
      {"amax", kPir, reduce, OperatorId::reduce_max},
      {"amin", kPir, reduce, OperatorId::reduce_min},
      {"any", kPir, reduce, OperatorId::reduce_any},
      {"frobenius_norm", kBoth, reduce, OperatorId::reduce_l2},
      {"logsumexp", kBoth, reduce, OperatorId::reduce_log_sum_exp},
      {"max", kPir, reduce, OperatorId::reduce_max},
      {"mean", kBoth, reduce, OperatorId::reduce_mean},
      {"mean_all", kPir, reduce, OperatorId::reduce_mean},
      {"min", kPir, reduce, OperatorId::reduce_min},
      {"prod", kPir, reduce, OperatorId::reduce_prod},
      {"reduce_all", kProgram, reduce, OperatorId::reduce_all},
      {"reduce_amax", kProgram, reduce, OperatorId::reduce_max},
      {"reduce_amin", kProgram, reduce, OperatorId::reduce_min},
      {"reduce_any", kProgram, reduce, OperatorId::reduce_any},
      {"reduce_max", kProgram, reduce, OperatorId::reduce_max},
      {"reduce_mean", kProgram, reduce, OperatorId::reduce_mean},
      {"reduce_min", kProgram, reduce, OperatorId::reduce_min},
      {"reduce_prod", kProgram, reduce, OperatorId::reduce_prod},
      {"reduce_sum", kProgram, reduce, OperatorId::reduce_sum},
      {"sum", kPir, reduce, OperatorId::reduce_sum},
      {"p_norm", kBoth, p_norm, OperatorId::reduce_l2},
      {"shape", kBoth, shape, OperatorId::shape},
      {"shape64", kPir, shape, OperatorId::shape},
      {"numel", kPir, shape, OperatorId::size},
      {"size", kProgram, shape, OperatorId::size},
      {"nonzero", kPir, non_zero, OperatorId::non_zero},
      {"where_index", kProgram, non_zero, OperatorId::non_zero},
      {"multiclass_nms3", kBoth, multiclass_nms, OperatorId::unknown},
      {"multiclass_nms2", kProgram, multiclass_nms, OperatorId::unknown},
      {"matrix_nms", kBoth, multiclass_nms, OperatorId::unknown},
  };
  return rows;
}

}  // namespace latpred::readers
