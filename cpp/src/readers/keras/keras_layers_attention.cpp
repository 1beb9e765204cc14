#include <utility>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

// Heads and the size of each.
struct Heads {
  std::int64_t count = 1;
  std::int64_t size = 1;
};

// x [batch, steps, features] by a kernel [features, heads, size] -> [batch, heads, steps, size].
VariableId projected(Call& call, VariableId x, const Heads& heads, const std::string& name) {
  const std::int64_t width = heads.count * heads.size;
  const VariableId kernel = call.weight(name + "/kernel", {call.known_size(x, 2), heads.count, heads.size});
  const VariableId flat = call.reshape(kernel, {0, width}, name + "/kernel");
  VariableId y = call.make(OperatorId::matmul, {x, flat}, {}, name);
  if (call.flag("use_bias", true)) {
    const VariableId bias = call.weight(name + "/bias", {heads.count, heads.size});
    y = call.make(OperatorId::bias_add, {y, call.reshape(bias, {width}, name + "/bias")}, {}, name + "/bias_add");
  }
  y = call.reshape(y, {0, -1, heads.count, heads.size}, name + "/heads");
  return call.transpose(y, {0, 2, 1, 3}, name + "/transpose");
}

// [batch, heads, steps, size] by a kernel [heads, size, features] -> [batch, steps, features].
VariableId joined(Call& call, VariableId x, const Heads& heads, std::int64_t features, const std::string& name) {
  const std::int64_t width = heads.count * heads.size;
  const VariableId swapped = call.transpose(x, {0, 2, 1, 3}, name + "/transpose");
  const VariableId wide = call.reshape(swapped, {0, -1, width}, name + "/heads");
  const VariableId kernel = call.weight(name + "/kernel", {heads.count, heads.size, features});
  const VariableId flat = call.reshape(kernel, {width, features}, name + "/kernel");
  VariableId y = call.make(OperatorId::matmul, {wide, flat}, {}, name);
  if (call.flag("use_bias", true)) {
    y = call.make(OperatorId::bias_add, {y, call.weight(name + "/bias", {features})}, {}, name + "/bias_add");
  }
  return y;
}

// What is given of query, value and key; the key is the value where it is left out.
struct Given {
  VariableId query = kAbsent;
  VariableId value = kAbsent;
  VariableId key = kAbsent;
};

Given given(const Call& call) {
  Given result{call.tensor("query", 0), call.tensor("value", 1), call.tensor("key", 2)};
  // Keras 2 writes them as one list.
  const Variables& first = call.inputs();
  if (result.value == kAbsent && first.size() > 1) {
    result.value = first[1];
    if (first.size() > 2) result.key = first[2];
  }
  if (result.query == kAbsent) result.query = call.input();
  if (result.value == kAbsent) call.fail("is called without a value");
  if (result.key == kAbsent) result.key = result.value;
  for (const VariableId id : {result.query, result.value, result.key}) {
    if (call.rank(id) != 3) {
      call.unsupported(concat("a tensor of ", call.rank(id), " dimensions is not read, only batch, steps, features"));
    }
  }
  return result;
}

bool is_set(const Call& call, std::string_view name) {
  const Argument* found = call.argument(name, static_cast<std::size_t>(-1));
  return found != nullptr && found->constant != nullptr && found->constant->is_boolean() && found->constant->boolean();
}

void check_plain_attention(const Call& call) {
  if (is_set(call, "return_attention_scores")) call.unsupported("'return_attention_scores' is not read");
  if (call.flag("use_gate", false)) call.unsupported("'use_gate' is not read");
  if (call.has("attention_axes") && call.integers(call.config().at("attention_axes")) != Shape{1}) {
    call.unsupported("attention over other axes than the steps is not read");
  }
}

VariableId attend(Call& call, Variables inputs, VariableId mask, std::string_view part) {
  // [batch, queries, keys] -> a head for all
  if (mask != kAbsent && call.rank(inputs[0]) == 4 && call.rank(mask) == 3) {
    mask = call.make(OperatorId::unsqueeze, {mask}, {{"axes", Shape{1}}}, "mask");
  }
  if (mask != kAbsent) inputs.push_back(mask);
  Settings settings;
  if (is_set(call, "use_causal_mask")) settings.emplace_back("is_causal", std::int64_t{1});
  return call.make(OperatorId::scaled_dot_product_attention, std::move(inputs), std::move(settings), part);
}

Variables multi_head_attention(Call& call) {
  check_plain_attention(call);
  const Given tensors = given(call);
  const Heads keys{call.size("num_heads"), call.size("key_dim")};
  const Heads values{keys.count, call.has("value_dim") ? call.size("value_dim") : keys.size};
  const VariableId query = projected(call, tensors.query, keys, "query");
  const VariableId key = projected(call, tensors.key, keys, "key");
  const VariableId value = projected(call, tensors.value, values, "value");
  const VariableId y = attend(call, {query, key, value}, call.tensor("attention_mask", 3), "attention");
  std::int64_t features = call.known_size(tensors.query, 2);
  if (call.has("output_shape")) {
    const Shape wanted = call.integers(call.config().at("output_shape"));
    if (wanted.size() != 1) call.unsupported("an output of several dimensions is not read");
    features = wanted[0];
    if (features < 1 || features > kMaxSetting) call.fail(concat("an output size of ", features, " is out of range"));
  }
  return {joined(call, y, values, features, "attention_output")};
}

Variables group_query_attention(Call& call) {
  check_plain_attention(call);
  const Given tensors = given(call);
  const Heads queries{call.size("num_query_heads"), call.size("head_dim")};
  const Heads keys{call.size("num_key_value_heads"), queries.size};
  const VariableId query = projected(call, tensors.query, queries, "query");
  const VariableId key = projected(call, tensors.key, keys, "key");
  const VariableId value = projected(call, tensors.value, keys, "value");
  const VariableId y = attend(call, {query, key, value}, call.tensor("attention_mask", 3), "attention");
  return {joined(call, y, queries, call.known_size(tensors.query, 2), "attention_output")};
}

// Products of the tensors themselves, without projections.
Variables attention(Call& call) {
  check_plain_attention(call);
  const std::string mode = call.text("score_mode", "dot");
  if (mode != "dot") call.unsupported(concat("score mode '", mode, "' is not read"));
  const Given tensors = given(call);
  VariableId query = tensors.query;
  if (call.flag("use_scale", false)) {
    query = call.make(OperatorId::mul, {query, call.weight("scale", {})}, {}, "scale");
  }
  return {attend(call, {query, tensors.key, tensors.value}, kAbsent, "")};
}

}  // namespace

const std::vector<LayerRow>& attention_layers() {
  static const std::vector<LayerRow> rows{
      {"MultiHeadAttention", multi_head_attention},
      {"GroupQueryAttention", group_query_attention},
      {"GroupedQueryAttention", group_query_attention},
      {"Attention", attention},
  };
  return rows;
}

}  // namespace latpred::readers::keras
