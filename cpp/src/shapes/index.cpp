#include <algorithm>

#include "latpred/text.h"
#include "shapes/broadcast.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

Shape spliced(const Shape& data, std::size_t axis, const Shape& middle) {
  Shape result(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), middle.begin(), middle.end());
  result.insert(result.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  return result;
}

void gather(RuleContext& context) {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)));
  const Shape result = spliced(data, axis, indices);
  context.set_output(0, context.dtype(0), result);
  const Value* where = context.value(1);
  if (where == nullptr) return;
  for (const std::int64_t index : integers_of(*where)) {
    if (index < -data[axis] || index >= data[axis]) {
      context.fail(concat("index ", index, " is outside dimension ", axis, " of ", shape_text(data)));
    }
  }
  fold_pick(context, 0, 0, [&](std::int64_t i) {
    const auto at = coordinates(i, result);
    const auto first = at.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto last = first + static_cast<std::ptrdiff_t>(indices.size());
    std::int64_t index = integer_at(*where, position({first, last}, indices));
    if (index < 0) index += data[axis];
    std::vector<std::int64_t> from(at.begin(), first);
    from.push_back(index);
    from.insert(from.end(), last, at.end());
    return position(from, data);
  });
}

// Data in few bits, with a scale (input 2) for each block of it.
void gather_block_quantized(RuleContext& context) {
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("gather_axis", 0), context.rank(0));
  const Shape result = spliced(context.shape(0), static_cast<std::size_t>(axis), context.shape(1));
  context.set_output(0, context.dtype(2), result);
}

void gather_elements(RuleContext& context) {
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0));
  if (context.rank(0) != context.rank(1)) {
    context.fail(concat("data ", shape_text(context.shape(0)), " and indices ", shape_text(context.shape(1)),
                        " differ in rank"));
  }
  for (std::int64_t i = 0; i < context.rank(0); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i != axis && context.shape(1)[at] > context.shape(0)[at]) {
      context.fail(concat("indices ", shape_text(context.shape(1)), " reach outside ", shape_text(context.shape(0))));
    }
  }
  context.set_output(0, context.dtype(0), context.shape(1));
}

void gather_nd(RuleContext& context) {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const std::int64_t batch = context.attributes().integer("batch_dims", 0);
  const std::int64_t depth = indices.empty() ? 0 : indices.back();
  if (indices.empty() || batch < 0 || batch >= context.rank(1) || depth < 0 || depth > context.rank(0) - batch) {
    context.fail(concat("indices ", shape_text(indices), " do not fit data ", shape_text(data), " with ", batch,
                        " batch dimensions"));
  }
  Shape result(indices.begin(), indices.end() - 1);
  result.insert(result.end(), data.begin() + batch + depth, data.end());
  context.set_output(0, context.dtype(0), result);
}

void like_input(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

// x, values, indices: where indices of whole numbers stand first, the values must fit what they pick.
void index_put(RuleContext& context) {
  const Shape& x = context.shape(0);
  Shape picked;
  std::size_t count = 0;
  for (std::size_t i = 2; i < context.num_inputs(); ++i, ++count) {
    if (!context.has_input(i) || context.dtype(i) == DType::boolean) return like_input(context);
    picked = broadcast(picked, context.shape(i));
  }
  if (count > x.size()) context.fail(concat("has more indices than ", shape_text(x), " dimensions"));
  picked.insert(picked.end(), x.begin() + static_cast<std::ptrdiff_t>(count), x.end());
  if (!broadcasts_to(context.shape(1), picked)) {
    context.fail(concat("values ", shape_text(context.shape(1)), " do not fit ", shape_text(picked)));
  }
  like_input(context);
}

// Writes `update` somewhere into x, whole; aten's select_scatter leaves out the axis that it selects on.
void tensor_scatter(RuleContext& context) {
  const Shape& x = context.shape(0);
  const Shape& update = context.shape(1);
  bool fits = update.size() <= x.size();
  if (update.size() == x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) fits = fits && update[i] <= x[i];
  }
  if (!fits) context.fail(concat("update ", shape_text(update), " does not fit into ", shape_text(x)));
  like_input(context);
}

void one_hot(RuleContext& context) {
  const auto depth = context.real_parameter("depth", 1);
  if (!depth || depth->size() != 1) context.fail("its depth must be one number");
  Shape result = context.shape(0);
  const auto axis = context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0) + 1);
  result.insert(result.begin() + axis, to_integer(depth->front()));
  context.set_output(0, context.has_input(2) ? context.dtype(2) : DType::int64, std::move(result));
}

// Sizes that depend on the data: everything may be taken.
void compress(RuleContext& context) {
  const Value* condition = context.value(1);
  const bool has_axis = context.attributes().has("axis");
  Shape result = has_axis ? context.shape(0) : Shape{element_count(context.shape(0))};
  const auto axis = static_cast<std::size_t>(
      has_axis ? context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)) : 0);
  if (condition != nullptr) {
    const auto flags = integers_of(*condition);
    result[axis] = std::min<std::int64_t>(
        result[axis], std::count_if(flags.begin(), flags.end(), [](std::int64_t flag) { return flag != 0; }));
  } else {
    context.warn("its output size depends on the data; its upper bound is used");
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

void non_zero(RuleContext& context) {
  const Shape& input = context.shape(0);
  const Shape as_list = input.empty() ? Shape{1} : input;
  const auto rank = static_cast<std::int64_t>(as_list.size());
  if (const Value* value = context.value(0)) {
    std::vector<std::vector<std::int64_t>> found;
    for (std::int64_t i = 0; i < size_of(*value); ++i) {
      if (real_at(*value, i) != 0) found.push_back(coordinates(i, as_list));
    }
    context.set_output(0, DType::int64, {rank, static_cast<std::int64_t>(found.size())});
    Value result;
    for (std::size_t axis = 0; axis < as_list.size(); ++axis) {
      for (const auto& at : found) result.integers.push_back(at[axis]);
    }
    context.set_value(0, std::move(result));
    return;
  }
  context.warn("its output size depends on the data; its upper bound is used");
  context.set_output(0, DType::int64, {rank, element_count(input)});
}

void unique(RuleContext& context) {
  const Shape& input = context.shape(0);
  context.warn("its output size depends on the data; its upper bound is used");
  if (!context.attributes().has("axis")) {
    for (std::size_t k = 0; k < 4; ++k) {
      context.set_output(k, k == 0 ? context.dtype(0) : DType::int64, {element_count(input)});
    }
    return;
  }
  const auto axis =
      static_cast<std::size_t>(context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)));
  context.set_output(0, context.dtype(0), input);
  for (std::size_t k = 1; k < 4; ++k) context.set_output(k, DType::int64, {input[axis]});
}

// aten's order: weight, indices.
void embedding(RuleContext& context) {
  if (context.rank(0) != 2) context.fail(concat("its table must be a matrix, got ", shape_text(context.shape(0))));
  Shape result = context.shape(1);
  result.push_back(context.shape(0)[1]);
  context.set_output(0, context.dtype(0), std::move(result));
}

// Where each of the values (input 1) belongs among the sorted ones (input 0).
void search_sorted(RuleContext& context) {
  const bool is_short = context.attributes().integer("out_int32", 0) != 0;
  context.set_output(0, is_short ? DType::int32 : DType::int64, context.shape(1));
}

// x[i, j, :, k] with tensors of indices, as torch.Tensor.index has it: input d + 1 indexes dimension d, absent ones
// keep theirs. All index tensors broadcast together; the result stands where they did, or in front where dimensions
// that are kept part them. A mask stands for the indices of its true elements, over as many dimensions as it has.
void index(RuleContext& context) {
  const Shape& x = context.shape(0);
  Shape picked;
  Shape result;
  std::size_t axis = 0;
  std::optional<std::size_t> start;
  bool is_parted = false;
  bool was_index = false;
  for (std::size_t i = 1; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) {
      if (axis >= x.size()) context.fail(concat("has more indices than ", shape_text(x), " dimensions"));
      result.push_back(x[axis++]);
      was_index = false;
      continue;
    }
    const Shape& indices = context.shape(i);
    const bool is_mask = context.dtype(i) == DType::boolean;
    const std::size_t covered = is_mask ? indices.size() : 1;
    if (axis + covered > x.size()) context.fail(concat("has more indices than ", shape_text(x), " dimensions"));
    if (is_mask) {
      const Value* mask = context.value(i);
      std::int64_t count = element_count(indices);
      if (mask != nullptr) {
        const auto flags = integers_of(*mask);
        count = std::count_if(flags.begin(), flags.end(), [](std::int64_t flag) { return flag != 0; });
      } else {
        context.warn("its output size depends on the data; its upper bound is used");
      }
      picked = broadcast(picked, {count});
    } else {
      picked = broadcast(picked, indices);
    }
    if (!start) start = result.size();
    is_parted = is_parted || (!was_index && *start != result.size());
    was_index = true;
    axis += covered;
  }
  result.insert(result.end(), x.begin() + static_cast<std::ptrdiff_t>(axis), x.end());
  const auto at = static_cast<std::ptrdiff_t>(start && !is_parted ? *start : 0);
  result.insert(result.begin() + at, picked.begin(), picked.end());
  context.set_output(0, context.dtype(0), std::move(result));
}

// `repeats` (attribute or input 1) says how often each element along `axis` stands in the result; without an axis the
// input is flattened.
void repeat_interleave(RuleContext& context) {
  const bool has_axis = context.attributes().has("axis");
  Shape result = has_axis ? context.shape(0) : Shape{element_count(context.shape(0))};
  const auto axis = static_cast<std::size_t>(
      has_axis ? context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0)) : 0);
  if (context.attributes().has("output_size")) {
    result[axis] = context.attributes().integer("output_size", 0);
  } else {
    const auto repeats = context.parameter("repeats", 1);
    if (!repeats || (repeats->size() != 1 && static_cast<std::int64_t>(repeats->size()) != result[axis])) {
      context.fail(concat("needs one number of repeats, or one for each of ", result[axis], " elements"));
    }
    std::int64_t count = 0;
    for (const std::int64_t times : *repeats) {
      if (__builtin_add_overflow(count, times, &count)) context.fail("its repeats are too large");
    }
    if (repeats->size() == 1 && __builtin_mul_overflow(count, result[axis], &result[axis])) {
      context.fail("its repeats are too large");
    }
    if (repeats->size() != 1) result[axis] = count;
  }
  context.set_output(0, context.dtype(0), std::move(result));
}

// Inputs table, indices, offsets, weights of the indices. Each row of indices is a bag; in a flat list the offsets say
// where one starts. torch's further outputs: the bag of each index, the bags' sizes and maxima.
void embedding_bag(RuleContext& context) {
  const Shape& table = context.shape(0);
  const Shape& indices = context.shape(1);
  if (table.size() != 2 || indices.empty() || indices.size() > 2 || (indices.size() == 1 && !context.has_input(2))) {
    context.fail(concat("needs a table [rows, width] and indices [bags, size], or flat ones with offsets, got ",
                        shape_text(table), " and ", shape_text(indices)));
  }
  std::int64_t bags = indices[0];
  if (indices.size() == 1) {
    const bool has_end = context.attributes().integer("include_last_offset", 0) != 0;
    bags = element_count(context.shape(2)) - (has_end ? 1 : 0);
  }
  context.set_output(0, context.dtype(0), {bags, table[1]});
  context.set_output(1, DType::int64, {element_count(indices)});
  context.set_output(2, DType::int64, {bags});
  context.set_output(3, DType::int64, {bags});
}

const std::vector<RuleRow> kIndexRules{
    {OperatorId::gather, gather},
    {OperatorId::gather_block_quantized, gather_block_quantized},
    {OperatorId::gather_elements, gather_elements},
    {OperatorId::gather_nd, gather_nd},
    {OperatorId::scatter, like_input},
    {OperatorId::scatter_elements, like_input},
    {OperatorId::scatter_nd, like_input},
    {OperatorId::tensor_scatter, tensor_scatter},
    {OperatorId::one_hot, one_hot},
    {OperatorId::compress, compress},
    {OperatorId::non_zero, non_zero},
    {OperatorId::unique, unique},
    {OperatorId::embedding, embedding},
    {OperatorId::search_sorted, search_sorted},
    {OperatorId::index, index},
    {OperatorId::index_put, index_put},
    {OperatorId::repeat_interleave, repeat_interleave},
    {OperatorId::embedding_bag, embedding_bag},
};

}  // namespace

const std::vector<RuleRow>& index_rules() { return kIndexRules; }

}  // namespace latpred::shapes
