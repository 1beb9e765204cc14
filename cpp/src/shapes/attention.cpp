#include <algorithm>

#include "latpred/text.h"
#include "operators/attention_sizes.h"
#include "shapes/broadcast.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

AttentionSizes sizes_of(const RuleContext& context) {
  std::vector<const Shape*> inputs;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    inputs.push_back(context.has_input(i) ? &context.shape(i) : nullptr);
  }
  return attention_sizes(context.statement().op, context.statement().source_operator, context.attributes(), inputs);
}

// Outputs from `first` on: the keys and values of the cache, with those of this call.
void set_present(RuleContext& context, std::size_t first, const AttentionSizes& sizes, DType key, DType value) {
  context.set_output(first, key, {sizes.batch, sizes.kv_heads, sizes.kv_length(), sizes.head_size});
  context.set_output(first + 1, value, {sizes.batch, sizes.kv_heads, sizes.kv_length(), sizes.value_size});
}

void set_joined_present(RuleContext& context, const AttentionSizes& sizes, std::int64_t length) {
  context.set_output(1, context.dtype(0), {2, sizes.batch, sizes.kv_heads, length, sizes.head_size});
}

void onnx_attention(RuleContext& context) {
  const AttentionSizes sizes = sizes_of(context);
  Shape result{sizes.batch, sizes.q_heads, sizes.q_length, sizes.value_size};
  if (context.rank(0) == 3) result = {sizes.batch, sizes.q_length, sizes.q_heads * sizes.value_size};
  context.set_output(0, context.dtype(0), result);
  set_present(context, 1, sizes, context.dtype(1), context.dtype(2));
  context.set_output(3, context.dtype(0), {sizes.batch, sizes.q_heads, sizes.q_length, sizes.kv_length()});
}

void projected_attention(RuleContext& context, DType dtype) {
  const AttentionSizes sizes = sizes_of(context);
  context.set_output(0, dtype, {sizes.batch, sizes.q_length, sizes.q_heads * sizes.value_size});
  // A shared buffer has room for the new keys already.
  const bool is_shared = context.attributes().integer("past_present_share_buffer", 0) != 0;
  set_joined_present(context, sizes, is_shared ? sizes.past_length : sizes.kv_length());
}

void attention(RuleContext& context) {
  if (context.statement().source_operator == "com.microsoft::Attention") {
    projected_attention(context, context.dtype(0));
  } else {
    onnx_attention(context);
  }
}

// Input and weights are integers; the result has the type of their scales.
void qattention(RuleContext& context) { projected_attention(context, context.dtype(3)); }

void multi_head_attention(RuleContext& context) {
  const AttentionSizes sizes = sizes_of(context);
  context.set_output(0, context.dtype(0), {sizes.batch, sizes.q_length, sizes.q_heads * sizes.value_size});
  set_present(context, 1, sizes, context.dtype(0), context.dtype(0));
  context.set_output(3, context.dtype(0), {sizes.batch, sizes.q_heads, sizes.q_length, sizes.kv_length()});
}

void group_query_attention(RuleContext& context) {
  AttentionSizes sizes = sizes_of(context);
  context.set_output(0, context.dtype(0), {sizes.batch, sizes.q_length, sizes.q_heads * sizes.value_size});
  // Input 6 says how long the sequence is with this call; a longer cache is a buffer that is written in place.
  const Value* total = context.value(6);
  if (total != nullptr && size_of(*total) == 1) {
    const std::int64_t length = std::max(integer_at(*total, 0), sizes.past_length);
    sizes.past_length = std::max<std::int64_t>(0, length - sizes.new_length);
  }
  const DType cache = context.dtype(context.has_input(3) ? 3 : 0);
  set_present(context, 1, sizes, cache, cache);
}

void packed_attention(RuleContext& context) {
  const AttentionSizes sizes = sizes_of(context);
  context.set_output(0, context.dtype(0), {context.shape(0)[0], sizes.q_heads * sizes.value_size});
}

void linear_attention(RuleContext& context) {
  const AttentionSizes sizes = sizes_of(context);
  context.set_output(0, context.dtype(0), {sizes.batch, sizes.q_length, sizes.q_heads * sizes.value_size});
  context.set_output(1, context.dtype(context.has_input(3) ? 3 : 0),
                     {sizes.batch, sizes.kv_heads, sizes.head_size, sizes.value_size});
}

// The query's shape with the size of the values: flex attention's and torch's.
void like_query(RuleContext& context) {
  const AttentionSizes sizes = sizes_of(context);
  Shape result = context.shape(0);
  result.back() = sizes.value_size;
  context.set_output(0, context.dtype(0), result);
}

// q, k, v and a mask that broadcasts to the scores [..., queries, keys].
void scaled_dot_product_attention(RuleContext& context) {
  const Shape& query = context.shape(0);
  const Shape& key = context.shape(1);
  if (context.has_input(3) && query.size() >= 2 && key.size() >= 2) {
    Shape scores = query;
    scores.back() = key[key.size() - 2];
    if (!broadcasts_to(context.shape(3), scores)) {
      context.fail(concat("its mask is ", shape_text(context.shape(3)), ", which does not broadcast to the scores ",
                          shape_text(scores)));
    }
  }
  like_query(context);
}

}  // namespace

const std::vector<RuleRow>& attention_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::attention, attention},
      {OperatorId::multi_head_attention, multi_head_attention},
      {OperatorId::group_query_attention, group_query_attention},
      {OperatorId::packed_attention, packed_attention},
      {OperatorId::qattention, qattention},
      {OperatorId::linear_attention, linear_attention},
      {OperatorId::flex_attention, like_query},
      {OperatorId::scaled_dot_product_attention, scaled_dot_product_attention},
  };
  return rows;
}

}  // namespace latpred::shapes
