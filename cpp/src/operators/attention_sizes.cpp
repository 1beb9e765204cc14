#include "operators/attention_sizes.h"

#include <algorithm>

#include "latpred/error.h"
#include "latpred/text.h"
#include "operators/products.h"

namespace latpred {
namespace {

struct Call {
  const Attributes& attributes;
  const std::vector<const Shape*>& inputs;

  [[nodiscard]] const Shape* find(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  [[nodiscard]] const Shape& at(std::size_t index, std::size_t rank) const {
    const Shape* shape = find(index);
    if (shape == nullptr) throw ShapeError(concat("input ", index, " is missing"));
    if (shape->size() != rank) {
      throw ShapeError(concat("input ", index, " ", shape_text(*shape), " must have ", rank, " dimensions"));
    }
    return *shape;
  }
  [[nodiscard]] std::int64_t heads(std::string_view name) const {
    const std::int64_t count = attributes.integer(name, 0);
    if (count > kMaxSize) throw ShapeError(concat("attribute '", name, "' is too large: ", count));
    if (count <= 0) throw ShapeError(concat("attribute '", name, "' must be at least 1, got ", count));
    return count;
  }
};

std::int64_t divided(std::int64_t size, std::int64_t heads, const char* what) {
  if (size % heads != 0 || size < heads)
    throw ShapeError(concat(what, " size ", size, " is no multiple of ", heads, " heads"));
  return size / heads;
}

void check_groups(const AttentionSizes& sizes) {
  if (sizes.kv_heads == 0 || sizes.q_heads % sizes.kv_heads != 0) {
    throw ShapeError(concat(sizes.q_heads, " query heads are no multiple of ", sizes.kv_heads, " key and value heads"));
  }
}

// Q, K, V as [batch, heads, length, size], or as [batch, length, heads * size] with the heads in attributes.
AttentionSizes onnx_attention(const Call& call) {
  AttentionSizes sizes;
  const Shape* query = call.find(0);
  if (query != nullptr && query->size() == 3) {
    const Shape& key = call.at(1, 3);
    const Shape& value = call.at(2, 3);
    sizes.q_heads = call.heads("q_num_heads");
    sizes.kv_heads = call.heads("kv_num_heads");
    sizes.batch = (*query)[0];
    sizes.q_length = (*query)[1];
    sizes.new_length = key[1];
    sizes.head_size = divided((*query)[2], sizes.q_heads, "query");
    sizes.value_size = divided(value[2], sizes.kv_heads, "value");
  } else {
    const Shape& q = call.at(0, 4);
    const Shape& key = call.at(1, 4);
    const Shape& value = call.at(2, 4);
    sizes.batch = q[0];
    sizes.q_heads = q[1];
    sizes.q_length = q[2];
    sizes.head_size = q[3];
    sizes.kv_heads = key[1];
    sizes.new_length = key[2];
    sizes.value_size = value[3];
  }
  check_groups(sizes);
  sizes.has_mask = call.find(3) != nullptr;
  if (call.find(4) != nullptr) sizes.past_length = call.at(4, 4)[2];
  return sizes;
}

AttentionSizes flex_attention(const Call& call) {
  const Shape& query = call.at(0, 4);
  const Shape& key = call.at(1, 4);
  AttentionSizes sizes{.batch = query[0],
                       .q_heads = query[1],
                       .kv_heads = key[1],
                       .q_length = query[2],
                       .new_length = key[2],
                       .head_size = query[3],
                       .value_size = call.at(2, 4)[3]};
  check_groups(sizes);
  return sizes;
}

// torch's: [..., length, size] with any leading dimensions, the last of which is the heads.
AttentionSizes scaled_dot_product_attention(const Call& call) {
  const Shape* query = call.find(0);
  if (query == nullptr || query->size() < 2) throw ShapeError("the query needs at least 2 dimensions");
  const std::size_t rank = query->size();
  const Shape& key = call.at(1, rank);
  const Shape& value = call.at(2, rank);
  AttentionSizes sizes{.q_length = (*query)[rank - 2],
                       .new_length = key[rank - 2],
                       .head_size = (*query)[rank - 1],
                       .value_size = value[rank - 1]};
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (axis + 3 == rank && axis > 0) {
      sizes.q_heads = (*query)[axis];
      sizes.kv_heads = key[axis];
    } else {
      sizes.batch *= (*query)[axis];
    }
  }
  check_groups(sizes);
  sizes.has_mask = call.find(3) != nullptr;
  return sizes;
}

// The projected ones: input [batch, length, width], weights [width, queries + keys + values].
AttentionSizes projected(const Call& call, const Shape& weights, std::int64_t tokens) {
  AttentionSizes sizes;
  sizes.q_heads = sizes.kv_heads = call.heads("num_heads");
  std::vector<std::int64_t> widths = call.attributes.integers("qkv_hidden_sizes");
  if (widths.empty()) widths.assign(3, divided(weights[1], 3, "weight"));
  const auto too_large = [&](std::int64_t width) { return width < 0 || width > weights[1]; };
  if (weights[1] > kMaxSize || std::any_of(widths.begin(), widths.end(), too_large)) {
    throw ShapeError(concat("weights ", shape_text(weights), " cannot be split into ", shape_text(widths)));
  }
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != weights[1]) {
    throw ShapeError(concat("qkv_hidden_sizes ", shape_text(widths), " do not add up to the ", weights[1],
                            " columns of the weights"));
  }
  sizes.head_size = divided(widths[0], sizes.q_heads, "query");
  sizes.value_size = divided(widths[2], sizes.q_heads, "value");
  sizes.projection = {1, static_cast<double>(tokens), static_cast<double>(weights[1]), static_cast<double>(weights[0])};
  return sizes;
}

// com.microsoft's Attention and QAttention; they differ in where bias, mask and past stand.
AttentionSizes contrib_attention(const Call& call, std::size_t mask, std::size_t past) {
  const Shape& input = call.at(0, 3);
  AttentionSizes sizes = projected(call, call.at(1, 2), input[0] * input[1]);
  sizes.batch = input[0];
  sizes.q_length = sizes.new_length = input[1];
  sizes.has_bias = call.find(2) != nullptr;
  sizes.has_mask = call.find(mask) != nullptr;
  if (call.find(past) != nullptr) sizes.past_length = call.at(past, 5)[3];  // [2, batch, heads, length, size]
  return sizes;
}

AttentionSizes qattention(const Call& call) { return contrib_attention(call, 5, 8); }

// Tokens of all sequences back to back; `token_offset` is [batch, longest sequence].
AttentionSizes packed_attention(const Call& call) {
  const Shape& input = call.at(0, 2);
  const Shape& token_offset = call.at(3, 2);
  AttentionSizes sizes = projected(call, call.at(1, 2), input[0]);
  sizes.batch = token_offset[0];
  sizes.q_length = sizes.new_length = token_offset[1];
  sizes.has_bias = call.find(2) != nullptr;
  return sizes;
}

AttentionSizes multi_head_attention(const Call& call) {
  AttentionSizes sizes;
  sizes.q_heads = sizes.kv_heads = call.heads("num_heads");
  const Shape* query = call.find(0);
  if (query != nullptr && query->size() == 5) {  // [batch, length, heads, 3, size]
    if ((*query)[2] != sizes.q_heads) {
      throw ShapeError(concat("query ", shape_text(*query), " does not have ", sizes.q_heads, " heads"));
    }
    sizes.batch = (*query)[0];
    sizes.q_length = sizes.new_length = (*query)[1];
    sizes.head_size = sizes.value_size = (*query)[4];
  } else {
    const Shape& q = call.at(0, 3);
    sizes.batch = q[0];
    sizes.q_length = q[1];
    sizes.head_size = sizes.value_size = divided(q[2], sizes.q_heads, "query");
    const Shape* key = call.find(1);
    if (key == nullptr) throw ShapeError("input 1 (key) is missing");
    switch (key->size()) {
      case 5:  // [batch, length, heads, 2, size]
        sizes.new_length = (*key)[1];
        break;
      case 4:  // [batch, heads, length, size]: of another layer, already projected
        sizes.new_length = (*key)[2];
        sizes.value_size = call.at(2, 4)[3];
        break;
      default:
        sizes.new_length = call.at(1, 3)[1];
        sizes.value_size = divided(call.at(2, 3)[2], sizes.q_heads, "value");
    }
  }
  sizes.has_bias = call.find(3) != nullptr;
  sizes.has_mask = call.find(4) != nullptr || call.find(5) != nullptr;
  if (call.find(6) != nullptr) sizes.past_length = call.at(6, 4)[2];
  return sizes;
}

AttentionSizes group_query_attention(const Call& call) {
  const Shape& query = call.at(0, 3);
  AttentionSizes sizes;
  sizes.q_heads = call.heads("num_heads");
  sizes.kv_heads = call.heads("kv_num_heads");
  check_groups(sizes);
  sizes.batch = query[0];
  sizes.q_length = sizes.new_length = query[1];
  // Without keys, queries, keys and values stand behind each other in one tensor.
  const bool is_packed = call.find(1) == nullptr;
  sizes.head_size = divided(query[2], is_packed ? sizes.q_heads + 2 * sizes.kv_heads : sizes.q_heads, "query");
  sizes.value_size = sizes.head_size;
  if (call.find(3) != nullptr) sizes.past_length = call.at(3, 4)[2];
  sizes.window = std::max<std::int64_t>(0, call.attributes.integer("local_window_size", -1));
  return sizes;
}

// [batch, length, heads * size]; the state stands in for keys and values of the past.
AttentionSizes linear_attention(const Call& call) {
  const Shape& query = call.at(0, 3);
  const Shape& value = call.at(2, 3);
  AttentionSizes sizes{.batch = query[0], .q_length = query[1], .new_length = query[1]};
  sizes.q_heads = call.heads("q_num_heads");
  sizes.kv_heads = call.heads("kv_num_heads");
  check_groups(sizes);
  sizes.head_size = divided(query[2], sizes.q_heads, "query");
  sizes.value_size = divided(value[2], sizes.kv_heads, "value");
  return sizes;
}

AttentionSizes com_microsoft_attention(const Call& call) { return contrib_attention(call, 3, 4); }

struct Row {
  OperatorId op;
  std::string_view source_operator;  // empty: any
  AttentionSizes (*read)(const Call&);
};

constexpr Row kRows[] = {
    {OperatorId::attention, "com.microsoft::Attention", com_microsoft_attention},
    {OperatorId::attention, "", onnx_attention},
    {OperatorId::multi_head_attention, "", multi_head_attention},
    {OperatorId::group_query_attention, "", group_query_attention},
    {OperatorId::packed_attention, "", packed_attention},
    {OperatorId::qattention, "", qattention},
    {OperatorId::linear_attention, "", linear_attention},
    {OperatorId::flex_attention, "", flex_attention},
    {OperatorId::scaled_dot_product_attention, "", scaled_dot_product_attention},
};

}  // namespace

AttentionSizes attention_sizes(OperatorId op, std::string_view source_operator, const Attributes& attributes,
                               const std::vector<const Shape*>& inputs) {
  for (const Row& row : kRows) {
    if (row.op == op && (row.source_operator.empty() || row.source_operator == source_operator)) {
      const AttentionSizes sizes = row.read({attributes, inputs});
      for (const std::int64_t size : {sizes.batch, sizes.q_heads, sizes.kv_heads, sizes.q_length, sizes.new_length,
                                      sizes.past_length, sizes.head_size, sizes.value_size}) {
        if (size > kMaxSize) throw ShapeError(concat("a size of ", size, " is more than attention can have"));
      }
      return sizes;
    }
  }
  throw InvalidArgumentError(concat("operator '", operator_row(op).name, "' is no attention"));
}

}  // namespace latpred
