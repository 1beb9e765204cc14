#include <algorithm>
#include <array>
#include <string_view>

#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

void check_plain_weights(const Call& call) {
  if (call.has("lora_rank")) call.unsupported("its low-rank adapter (LoRA) is not read; merge it and save again");
  if (call.has("quantization_config")) call.unsupported("its quantisation is not read");
}

Variables dense(Call& call) {
  check_plain_weights(call);
  const VariableId x = call.input();
  const std::size_t rank = call.rank(x);
  if (rank < 2) call.fail(concat("its input has ", rank, " dimensions, expected batch and features at least"));
  const std::int64_t units = call.size("units");
  const VariableId kernel = call.weight("kernel", {call.known_size(x, rank - 1), units});
  VariableId y = call.make(OperatorId::matmul, {x, kernel});
  if (call.flag("use_bias", true))
    y = call.make(OperatorId::bias_add, {y, call.weight("bias", {units})}, {}, "bias_add");
  return {call.activate(y)};
}

// The sizes behind the letters of one operand of an equation.
class Letters {
 public:
  explicit Letters(const Call& call) : call_(call) {}

  // `text` may hold three dots for any number of dimensions.
  void set(std::string_view text, const Shape& shape) {
    const std::size_t dots = text.find("...");
    const std::string_view front = text.substr(0, dots);
    const std::string_view back = dots == std::string_view::npos ? std::string_view() : text.substr(dots + 3);
    if (front.size() + back.size() > shape.size() || (dots == std::string_view::npos && front.size() != shape.size())) {
      call_.fail(concat("'", text, "' of its equation does not fit ", shape_text(shape)));
    }
    for (std::size_t i = 0; i < front.size(); ++i) put(front[i], shape[i]);
    for (std::size_t i = 0; i < back.size(); ++i) put(back[i], shape[shape.size() - back.size() + i]);
  }
  [[nodiscard]] std::int64_t at(char letter) const {
    const std::int64_t size = sizes_[static_cast<unsigned char>(letter)];
    if (size < 1) call_.fail(concat("the size of '", letter, "' in its equation is open"));
    return size;
  }

 private:
  // The output's sizes are the config's word for what the input leaves open.
  void put(char letter, std::int64_t size) {
    std::int64_t& known = sizes_[static_cast<unsigned char>(letter)];
    if (known < 1) known = size;
  }

  const Call& call_;
  std::array<std::int64_t, 256> sizes_{};
};

// A product by an equation, "abc,cd->abd".
Variables einsum_dense(Call& call) {
  check_plain_weights(call);
  const VariableId x = call.input();
  std::string equation = call.text("equation", "");
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(',');
  const std::size_t arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) {
    call.fail(concat("'", equation, "' is no equation of an input and a kernel"));
  }
  const std::string_view text(equation);
  const std::string_view kernel_text = text.substr(comma + 1, arrow - comma - 1);
  const std::string_view output_text = text.substr(arrow + 2);
  Letters letters(call);
  letters.set(text.substr(0, comma), call.shape(x));
  Shape output{kUnknownSize};
  for (const Json& size : call.config().at("output_shape").is_array() ? call.config().at("output_shape").array()
                                                                      : Json::Array{call.config().at("output_shape")}) {
    output.push_back(size.is_null() ? kUnknownSize : size.integer());
    if (output.back() > kMaxSetting) call.fail("an output size is more than 2^31");
  }
  letters.set(output_text, output);
  Shape kernel;
  for (const char letter : kernel_text) kernel.push_back(letters.at(letter));
  VariableId y = call.make(OperatorId::einsum, {x, call.weight("kernel", kernel)}, {{"equation", equation}});
  const std::string bias_axes = call.text("bias_axes", "");
  if (!bias_axes.empty()) {
    Shape bias;
    for (const char letter : output_text.substr(std::min(output_text.find_first_of(bias_axes), output_text.size()))) {
      bias.push_back(bias_axes.find(letter) == std::string::npos ? 1 : letters.at(letter));
    }
    y = call.make(OperatorId::add, {y, call.weight("bias", bias)}, {}, "bias_add");
  }
  return {call.activate(y)};
}

Variables embedding(Call& call) {
  check_plain_weights(call);
  VariableId indices = call.input();
  if (dtype_row(call.dtype(indices)).is_floating) indices = call.cast(indices, DType::int32);
  const VariableId table = call.weight("embeddings", {call.size("input_dim"), call.size("output_dim")});
  if (call.flag("mask_zero", false)) call.warn("masks (mask_zero, Masking) are left out of what later layers compute");
  return {call.make(OperatorId::embedding, {table, indices})};
}

}  // namespace

const std::vector<LayerRow>& dense_layers() {
  static const std::vector<LayerRow> rows{{"Dense", dense}, {"EinsumDense", einsum_dense}, {"Embedding", embedding}};
  return rows;
}

}  // namespace latpred::readers::keras
