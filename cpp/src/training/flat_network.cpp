#include "training/flat_network.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "predictors/packed_kernels.h"
#include "training/steps.h"

namespace latpred {
namespace {

constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads seeds

}  // namespace

FlatNetwork::FlatNetwork(const GraphConfig& config, const GraphSizes& sizes, std::uint64_t seed)
    : network_(std::make_unique<GraphNetwork>(config, sizes, at::make_generator<at::CPUGeneratorImpl>(seed))) {
  std::int64_t padded = 0;
  for (const auto& item : network_->named_parameters()) {
    const std::int64_t size = item.value().numel();
    slots_.push_back({item.key(), item.value().sizes().vec(), padded, size});
    num_parameters_ += size;
    padded += (size + kScoreUnit - 1) / kScoreUnit * kScoreUnit;  // whole vectors
  }
  for (AlignedFloats* numbers : {&values_, &gradients_, &first_moment_, &second_moment_}) {
    numbers->assign(static_cast<std::size_t>(padded), 0.0F);
  }
  auto parameters = network_->parameters();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const at::Tensor view = at::from_blob(values_.data() + slots_[i].offset, slots_[i].shape, at::kFloat);
    view.copy_(parameters[i].detach());
    parameters[i].set_data(view);
    parameters[i].mutable_grad() = at::from_blob(gradients_.data() + slots_[i].offset, slots_[i].shape, at::kFloat);
  }
}

double FlatNetwork::step(const GraphBatch& batch, double rate, std::int64_t steps_done, std::uint64_t seed) {
  const c10::AutoGradMode with_gradients(true);  // the caller may stand in torch.no_grad()
  std::ranges::fill(gradients_, 0.0F);
  const at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(seed * kGoldenRatio + static_cast<std::uint64_t>(steps_done));
  const at::Tensor loss = network_->loss(batch, network_->forward(batch, &generator));
  loss.backward();
  const float* gradient = gradients_.data();
  fastest_packed_kernels().adam(&gradient, 1, static_cast<std::int64_t>(values_.size()), adam_step(rate, steps_done),
                                values_.data(), first_moment_.data(), second_moment_.data());
  return loss.item<double>();
}

NamedArrays FlatNetwork::arrays_in(const AlignedFloats& values, const std::string& prefix) const {
  NamedArrays arrays;
  for (const Slot& slot : slots_) {
    const auto begin = values.begin() + slot.offset;
    arrays[prefix + slot.name] = {slot.shape, std::vector<double>(begin, begin + slot.size)};
  }
  return arrays;
}

AlignedFloats FlatNetwork::values_from(const NamedArrays& arrays, const std::string& prefix) const {
  AlignedFloats values(values_.size());
  for (const Slot& slot : slots_) {
    const NamedArray& array = array_of(arrays, prefix + slot.name, slot.shape);
    std::ranges::transform(array.values, values.begin() + slot.offset,
                           [](double value) { return static_cast<float>(value); });
  }
  return values;
}

NamedArrays FlatNetwork::arrays() const {
  NamedArrays arrays = arrays_in(values_, "");
  for (const auto& item : network_->named_buffers()) {
    const at::Tensor values = item.value().to(at::kDouble).contiguous();
    const auto* begin = values.const_data_ptr<double>();
    arrays[item.key()] = {values.sizes().vec(), std::vector<double>(begin, begin + values.numel())};
  }
  return arrays;
}

void FlatNetwork::load_arrays(const NamedArrays& arrays) {
  const AlignedFloats values = values_from(arrays, "");
  auto buffers = network_->named_buffers();
  for (const auto& item : buffers) (void)array_of(arrays, item.key(), item.value().sizes().vec());
  for (auto& item : buffers) {
    const std::vector<double>& stored = arrays.at(item.key()).values;
    item.value().copy_(
        at::from_blob(const_cast<double*>(stored.data()), item.value().sizes(), at::TensorOptions(at::kDouble)));
  }
  std::ranges::copy(values, values_.begin());  // in place: the parameters are views
}

void FlatNetwork::store_moments(NamedArrays& arrays) const {
  arrays.merge(arrays_in(first_moment_, kFirstMoment));
  arrays.merge(arrays_in(second_moment_, kSecondMoment));
}

void FlatNetwork::load_moments(const NamedArrays& arrays) {
  AlignedFloats first = values_from(arrays, kFirstMoment);
  second_moment_ = values_from(arrays, kSecondMoment);
  first_moment_ = std::move(first);
}

void FlatNetwork::copy_from(const FlatNetwork& other) {
  load_arrays(other.arrays());
  first_moment_ = other.first_moment_;
  second_moment_ = other.second_moment_;
}

}  // namespace latpred
