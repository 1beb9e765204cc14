#include "training/dense_network.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace latpred {
namespace {

constexpr std::int64_t kPredictedNets = 128;  // at a time: bounds the memory

const std::string kFeatureMean = "feature_mean";
const std::string kFeatureDeviation = "feature_deviation";

// A column that does not vary says nothing: it is left at 0 instead of being divided by 0. What sums leave of equal
// numbers is no variance either.
double deviation_or_one(double squares, double count, double largest) {
  constexpr double kRounding = 1e-12;
  const double deviation = std::sqrt(std::max(squares, 0.0) / count);
  return deviation > kRounding * largest ? deviation : 1.0;
}

// Some numbers of an array, `stride` apart by rows.
struct Slot {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset, rows, columns, stride;
};

std::vector<Slot> slots_of(const DenseLayout& layout) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < layout.hidden.size(); ++i) {
    const DenseLayout::Layer& layer = layout.hidden[i];
    const std::string name = "hidden_" + std::to_string(i);
    slots.push_back({name + "_weight",
                     {layer.outputs, layer.inputs},
                     layer.weight,
                     layer.outputs,
                     layer.inputs,
                     layer.padded_inputs});
    slots.push_back({name + "_bias", {layer.outputs}, layer.bias, 1, layer.outputs, 0});
  }
  slots.push_back({"output_weight", {1, layout.last().outputs}, layout.output_weight, 1, layout.last().outputs, 0});
  slots.push_back({"output_bias", {1}, layout.output_bias, 1, 1, 0});
  return slots;
}

template <typename Use>
void for_each_place(const Slot& slot, const Use& use) {
  for (std::int64_t row = 0; row < slot.rows; ++row) {
    for (std::int64_t column = 0; column < slot.columns; ++column) {
      use(static_cast<std::size_t>(row * slot.columns + column),
          static_cast<std::size_t>(slot.offset + row * slot.stride + column));
    }
  }
}

}  // namespace

DenseScale scale_of(const NetRows& rows, std::span<const double> target_s, bool are_summed) {
  const auto columns = static_cast<std::size_t>(rows.num_columns);
  const auto count = static_cast<double>(rows.num_rows());
  std::vector<double> largest(columns, 0.0);
  DenseScale scale{std::vector<double>(columns, 0.0), std::vector<double>(columns, 0.0), 0, 1};
  for (std::size_t i = 0; i < rows.features.size(); ++i) scale.mean[i % columns] += rows.features[i] / count;
  for (std::size_t i = 0; i < rows.features.size(); ++i) {
    const double apart = rows.features[i] - scale.mean[i % columns];
    scale.deviation[i % columns] += apart * apart;
    largest[i % columns] = std::max(largest[i % columns], std::abs(rows.features[i]));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    scale.deviation[i] = deviation_or_one(scale.deviation[i], count, largest[i]);
  }
  if (are_summed) return scale;  // the law says how large seconds are
  const auto nets = static_cast<double>(target_s.size());
  double squares = 0;
  for (const double seconds : target_s) scale.target_mean += seconds / nets;
  for (const double seconds : target_s) squares += (seconds - scale.target_mean) * (seconds - scale.target_mean);
  scale.target_deviation = deviation_or_one(squares, nets, scale.target_mean);
  return scale;
}

DenseNetwork::DenseNetwork(const DenseConfig& config, std::int64_t num_features)
    : config_(config),
      are_summed_(dense_rows(config.rows).are_summed),
      num_features_(num_features),
      packed_(DenseLayout(num_features, config.hidden_layers, config.width)) {
  parameters.resize(static_cast<std::size_t>(packed_.layout().padded_size));
  parameters_changed();
}

void DenseNetwork::draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const Slot& slot : slots_of(packed_.layout())) {
    if (slot.shape.size() < 2) continue;  // biases begin at 0
    const double bound = std::sqrt(6.0 / static_cast<double>(slot.columns));
    constexpr double kUnit = 0x1p-53;
    for_each_place(slot, [&](std::size_t, std::size_t place) {
      parameters[place] = static_cast<float>((static_cast<double>(random() >> 11) * kUnit * 2 - 1) * bound);
    });
  }
  parameters_changed();
}

DenseBatch DenseNetwork::batch(const NetRows& rows) const {
  const auto size = static_cast<std::size_t>(packed_.layout().row_size());
  const auto columns = static_cast<std::size_t>(num_features_);
  DenseBatch result{{}, rows.first_row, rows.log_base};
  result.rows.resize(static_cast<std::size_t>(rows.num_rows()) * size);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.num_rows()); ++row) {
    for (std::size_t i = 0; i < columns; ++i) {
      result.rows[row * size + i] =
          static_cast<float>((rows.features[row * columns + i] - scale.mean[i]) / scale.deviation[i]);
    }
  }
  return result;
}

double DenseNetwork::read_out(std::span<const float> outputs, const double* log_base, std::span<float> shares) const {
  if (!are_summed_) {
    shares[0] = 1;
    return static_cast<double>(outputs[0]);
  }
  const auto power = [&](std::size_t i) { return log_base[i] + static_cast<double>(outputs[i]); };
  double highest = power(0);
  for (std::size_t i = 1; i < outputs.size(); ++i) highest = std::max(highest, power(i));
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) sum += std::exp(power(i) - highest);
  for (std::size_t i = 0; i < outputs.size(); ++i) shares[i] = static_cast<float>(std::exp(power(i) - highest) / sum);
  return highest + std::log(sum);
}

double DenseNetwork::target(double seconds) const {
  return are_summed_ ? std::log(seconds) : (seconds - scale.target_mean) / scale.target_deviation;
}

double DenseNetwork::seconds(double output) const {
  return are_summed_ ? std::exp(output) : output * scale.target_deviation + scale.target_mean;
}

std::vector<double> DenseNetwork::predict(const NetTable& table) const {
  const DenseBatch all = batch(dense_rows(config_.rows).make(table, config_));
  const std::int64_t size = packed_.layout().row_size();
  std::vector<double> result;
  PackedDense::Workspace workspace;
  std::vector<float> outputs, shares;
  for (std::int64_t begin = 0; begin < table.num_graphs(); begin += kPredictedNets) {
    const std::int64_t end = std::min(begin + kPredictedNets, table.num_graphs());
    const std::int64_t first = all.first_row[static_cast<std::size_t>(begin)];
    const std::int64_t last = all.first_row[static_cast<std::size_t>(end)];
    std::copy(all.rows.begin() + first * size, all.rows.begin() + last * size, packed_.rows(last - first, workspace));
    outputs.resize(static_cast<std::size_t>(last - first));
    shares.resize(outputs.size());
    packed_.forward(workspace, outputs);
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t row = all.first_row[static_cast<std::size_t>(g)];
      const auto count = static_cast<std::size_t>(all.first_row[static_cast<std::size_t>(g + 1)] - row);
      const auto place = static_cast<std::size_t>(row - first);
      result.push_back(
          seconds(read_out(std::span(outputs).subspan(place, count), are_summed_ ? all.log_base.data() + row : nullptr,
                           std::span(shares).subspan(place, count))));
    }
  }
  return result;
}

void DenseNetwork::store_values(std::span<const float> values, const std::string& prefix, NamedArrays& arrays) const {
  for (const Slot& slot : slots_of(packed_.layout())) {
    NamedArray array{slot.shape, std::vector<double>(static_cast<std::size_t>(slot.rows * slot.columns))};
    for_each_place(slot,
                   [&](std::size_t i, std::size_t place) { array.values[i] = static_cast<double>(values[place]); });
    arrays[prefix + slot.name] = std::move(array);
  }
}

void DenseNetwork::restore_values(const NamedArrays& arrays, const std::string& prefix, std::span<float> values) const {
  for (const Slot& slot : slots_of(packed_.layout())) {
    const NamedArray& array = array_of(arrays, prefix + slot.name, slot.shape);
    for_each_place(slot,
                   [&](std::size_t i, std::size_t place) { values[place] = static_cast<float>(array.values[i]); });
  }
}

void DenseNetwork::store(NamedArrays& arrays) const {
  store_values(parameters, "", arrays);
  arrays[kFeatureMean] = {{num_features_}, scale.mean};
  arrays[kFeatureDeviation] = {{num_features_}, scale.deviation};
  arrays[kTargetMean] = {{}, {scale.target_mean}};
  arrays[kTargetDeviation] = {{}, {scale.target_deviation}};
}

void DenseNetwork::restore(const NamedArrays& arrays) {
  // All is looked at before any of it is taken.
  DenseScale found{array_of(arrays, kFeatureMean, {num_features_}).values,
                   array_of(arrays, kFeatureDeviation, {num_features_}).values, number_of(arrays, kTargetMean),
                   number_of(arrays, kTargetDeviation)};
  AlignedFloats values = parameters;
  restore_values(arrays, "", values);
  parameters = std::move(values);
  scale = std::move(found);
  parameters_changed();
}

}  // namespace latpred
