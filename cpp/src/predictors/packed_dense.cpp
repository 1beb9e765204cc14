#include "predictors/packed_dense.h"

#include <algorithm>

namespace latpred {
namespace {

void make_room(AlignedFloats& values, std::int64_t size) {
  if (values.size() < static_cast<std::size_t>(size)) values.resize(static_cast<std::size_t>(size));
}

}  // namespace

DenseLayout::DenseLayout(std::int64_t num_features, std::int64_t hidden_layers, std::int64_t width) {
  std::int64_t inputs = num_features;
  for (std::int64_t i = 0; i < hidden_layers; ++i) {
    Layer layer{inputs, width, whole(inputs, kWidthUnit), whole(width, kWidthUnit), 0, 0};
    layer.weight = padded_size;
    layer.bias = layer.weight + layer.padded_outputs * layer.padded_inputs;
    padded_size = layer.bias + layer.padded_outputs;
    num_values += width * (inputs + 1);
    hidden.push_back(layer);
    inputs = width;
  }
  output_weight = padded_size;
  output_bias = output_weight + last().padded_outputs;
  padded_size = output_bias + kWidthUnit;  // one number, and whole vectors after it
  num_values += width + 1;
}

PackedDense::PackedDense(const DenseLayout& layout, const PackedKernels& kernels) : layout_(layout), kernels_(kernels) {
  for (const DenseLayout::Layer& layer : layout_.hidden) {
    turned_.emplace_back(static_cast<std::size_t>(layer.padded_inputs * layer.padded_outputs));
  }
}

void PackedDense::set_parameters(std::span<const float> parameters) {
  parameters_ = parameters.data();
  for (std::size_t i = 0; i < turned_.size(); ++i) {
    const DenseLayout::Layer& layer = layout_.hidden[i];
    kernels_.transpose(parameters_ + layer.weight, layer.padded_outputs, layer.padded_inputs, turned_[i].data());
  }
}

float* PackedDense::rows(std::int64_t rows, Workspace& workspace) const {
  const std::int64_t padded_rows = whole(rows, kRowUnit);
  workspace.values_.resize(layout_.hidden.size() + 1);
  make_room(workspace.values_.front(), padded_rows * layout_.row_size());
  for (std::size_t i = 0; i < layout_.hidden.size(); ++i) {
    make_room(workspace.values_[i + 1], padded_rows * layout_.hidden[i].padded_outputs);
  }
  make_room(workspace.gradient_, padded_rows * layout_.last().padded_outputs);
  make_room(workspace.next_gradient_, padded_rows * layout_.last().padded_outputs);
  return workspace.values_.front().data();
}

void PackedDense::forward(Workspace& workspace, std::span<float> outputs) const {
  const auto num_rows = static_cast<std::int64_t>(outputs.size());
  for (std::size_t i = 0; i < layout_.hidden.size(); ++i) {
    const DenseLayout::Layer& layer = layout_.hidden[i];
    kernels_.multiply(workspace.values_[i].data(), turned_[i].data(), parameters_ + layer.bias, /*rectify=*/true,
                      whole(num_rows, kRowUnit), layer.padded_inputs, layer.padded_outputs,
                      workspace.values_[i + 1].data());
  }
  const std::int64_t width = layout_.last().padded_outputs;
  const float* weight = parameters_ + layout_.output_weight;
  const float* row = workspace.values_.back().data();
  for (float& output : outputs) {
    float sum = parameters_[layout_.output_bias];
    for (std::int64_t j = 0; j < width; ++j) sum += weight[j] * row[j];
    output = sum;
    row += width;
  }
}

void PackedDense::backward(Workspace& workspace, std::span<const float> d_outputs, std::span<float> gradient) const {
  const auto num_rows = static_cast<std::int64_t>(d_outputs.size());
  const std::int64_t width = layout_.last().padded_outputs;
  const float* weight = parameters_ + layout_.output_weight;
  std::ranges::fill(gradient.subspan(static_cast<std::size_t>(layout_.output_weight)), 0.0f);
  float* d_weight = gradient.data() + layout_.output_weight;
  const float* values = workspace.values_.back().data();
  float* d_row = workspace.gradient_.data();
  for (const float d_output : d_outputs) {
    for (std::int64_t j = 0; j < width; ++j) {
      d_weight[j] += d_output * values[j];
      d_row[j] = d_output * weight[j];
    }
    gradient[static_cast<std::size_t>(layout_.output_bias)] += d_output;
    values += width;
    d_row += width;
  }
  for (std::size_t i = layout_.hidden.size(); i-- > 0;) {
    const DenseLayout::Layer& layer = layout_.hidden[i];
    float* d_values = workspace.gradient_.data();
    kernels_.rectify_backward(d_values, workspace.values_[i + 1].data(), 1, num_rows * layer.padded_outputs, d_values);
    kernels_.multiply_transposed(d_values, workspace.values_[i].data(), num_rows, layer.padded_outputs,
                                 layer.padded_inputs, gradient.data() + layer.weight, gradient.data() + layer.bias);
    if (i == 0) break;
    kernels_.multiply(d_values, parameters_ + layer.weight, nullptr, /*rectify=*/false, whole(num_rows, kRowUnit),
                      layer.padded_outputs, layer.padded_inputs, workspace.next_gradient_.data());
    workspace.gradient_.swap(workspace.next_gradient_);
  }
}

}  // namespace latpred
