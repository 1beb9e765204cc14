#include "workloads/plain_net.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include <algorithm>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::int64_t kWindow = 3;
constexpr std::int64_t kStride = 1;
constexpr std::int64_t kPadding = 1;
constexpr std::uint64_t kInputSeed = 1;

void check(const PlainNetSizes& sizes, std::int64_t batch) {
  if (sizes.widths.size() < 2) {
    throw InvalidArgumentError(
        concat("a net needs the width of its input and of at least one layer, got ", shape_text(sizes.widths)));
  }
  if (std::any_of(sizes.widths.begin(), sizes.widths.end(), [](std::int64_t width) { return width < 1; })) {
    throw InvalidArgumentError(concat("each width of a net must be an integer >= 1, got ", shape_text(sizes.widths)));
  }
  if (sizes.image_size < 0) {
    throw InvalidArgumentError(
        concat("the size of images must be an integer >= 1, or 0 for dense layers, got ", sizes.image_size));
  }
  if (batch < 1) throw InvalidArgumentError(concat("batch must be an integer >= 1, got ", batch));
}

std::int64_t weights_of(std::int64_t width_in, std::int64_t width, bool is_dense) {
  return width_in * width * (is_dense ? 1 : kWindow * kWindow);
}

void check_pool(const PlainNetSizes& sizes, bool is_dense, const WeightPool& pool) {
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (std::size_t i = 1; i < sizes.widths.size(); ++i) {
    const std::int64_t weights = weights_of(sizes.widths[i - 1], sizes.widths[i], is_dense);
    total += weights + sizes.widths[i];
    largest = std::max(largest, weights);
  }
  pool.check_fits(total * kBytesPerNumber, largest * kBytesPerNumber);
}

}  // namespace

PlainNet::PlainNet(const PlainNetSizes& sizes, std::int64_t batch, WeightPool& pool)
    : is_dense_(sizes.image_size == 0) {
  check(sizes, batch);
  check_pool(sizes, is_dense_, pool);
  const c10::InferenceMode inference;
  std::vector<std::int64_t> shape = {batch, sizes.widths.front()};
  if (!is_dense_) shape.insert(shape.end(), 2, sizes.image_size);
  input_ = at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(kInputSeed), at::kFloat);
  for (std::size_t i = 1; i < sizes.widths.size(); ++i) {
    const std::int64_t width_in = sizes.widths[i - 1];
    const std::int64_t width = sizes.widths[i];
    Layer layer;
    layer.weight = is_dense_ ? pool.take({width, width_in}) : pool.take({width, width_in, kWindow, kWindow});
    layer.bias = pool.take({width});
    layers_.push_back(std::move(layer));
  }
}

at::Tensor PlainNet::run() const {
  const c10::InferenceMode inference;
  at::Tensor x = input_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const auto& [weight, bias] = layers_[i];
    if (i > 0) x.relu_();
    x = is_dense_ ? at::linear(x, weight, bias) : at::conv2d(x, weight, bias, {kStride, kStride}, {kPadding, kPadding});
  }
  return x;
}

}  // namespace latpred
