#include "batch/kernel_batch.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "batch/copied_tensor.h"
#include "batch/table_checks.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Shorter than anything that a host does: keeps logarithms finite where it does nothing.
constexpr double kNothingS = 1e-15;

constexpr std::int64_t kNumUnits = 3;      // general, matrix, products on general
constexpr std::int64_t kNumLibraries = 3;  // convolution, product, none
constexpr std::int64_t kNumMemories = 5;   // unknown, stacked, graphics, fast graphics, old graphics

at::Tensor log_seconds(std::span<const double> seconds, at::ScalarType type) {
  return copied_tensor(seconds, at::kDouble).clamp_min_(kNothingS).log_().to(type);
}

void check_indices(std::string_view what, std::span<const std::int64_t> values, std::int64_t size,
                   std::int64_t expected) {
  check_size(what, values.size(), expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < size) continue;
    throw InvalidArgumentError(concat(what, " must be from 0 to ", size - 1, ", got ", values[i], " at ", i));
  }
}

enum class Sign { any, not_negative, positive };

void check_numbers(std::string_view what, std::span<const double> values, std::int64_t expected, Sign sign) {
  static constexpr std::array<std::string_view, 3> kConditions{"", " and >= 0", " and > 0"};
  check_size(what, values.size(), expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool has_sign = sign == Sign::any || values[i] > 0 || (sign == Sign::not_negative && values[i] == 0);
    if (std::isfinite(static_cast<float>(values[i])) && has_sign) continue;
    throw InvalidArgumentError(
        concat(what, " must be finite", kConditions[static_cast<std::size_t>(sign)], ", got ", values[i], " at ", i));
  }
}

}  // namespace

void check(const KernelRows& rows) {
  if (rows.first_kernel.size() < 2 || rows.num_inputs() < 1 || rows.num_columns < 1) {
    throw InvalidArgumentError("a table of kernels needs at least one call, one kernel and one column");
  }
  const std::int64_t num_rows = rows.num_rows();
  const auto num_kernels = static_cast<std::int64_t>(rows.input.size());
  if (rows.first_kernel.front() != 0 || rows.first_kernel.back() != num_kernels ||
      !std::is_sorted(rows.first_kernel.begin(), rows.first_kernel.end())) {
    throw InvalidArgumentError(concat("first_kernel must grow from 0 to the number of kernels, ", num_kernels));
  }
  check_size("inputs", rows.inputs.size(), rows.num_inputs() * rows.num_columns);
  if (!std::all_of(rows.inputs.begin(), rows.inputs.end(), [](double value) { return std::isfinite(value); })) {
    throw InvalidArgumentError("inputs must be finite");
  }
  check_indices("input_kind", rows.input_kind, rows.num_kinds, rows.num_inputs());
  check_indices("input", rows.input, rows.num_inputs(), num_kernels);
  check_indices("units", rows.units, kNumUnits, num_kernels);
  check_indices("library", rows.library, kNumLibraries, num_kernels);
  check_numbers("count", rows.count, num_kernels, Sign::positive);
  check_numbers("compute_s", rows.compute_s, num_kernels, Sign::not_negative);
  check_numbers("wave_factor", rows.wave_factor, num_kernels, Sign::positive);
  check_numbers("activation_bytes", rows.activation_bytes, num_kernels, Sign::not_negative);
  check_numbers("weight_bytes", rows.weight_bytes, num_kernels, Sign::not_negative);
  check_numbers("bandwidth_bytes_per_s", rows.bandwidth_bytes_per_s, num_kernels, Sign::positive);
  check_numbers("l2_bytes", rows.l2_bytes, num_kernels, Sign::positive);
  check_numbers("least_compute_s", rows.least_compute_s, num_kernels, Sign::not_negative);
  check_numbers("least_memory_s", rows.least_memory_s, num_kernels, Sign::not_negative);
  check_numbers("gap_scale", rows.gap_scale, num_kernels, Sign::positive);
  check_numbers("cycles_per_byte", rows.cycles_per_byte, num_kernels, Sign::positive);
  check_indices("memory_kind", rows.memory_kind, kNumMemories, num_kernels);
  check_indices("host_kind", rows.host_kind, rows.num_host_kinds + 1, num_kernels);
  check_numbers("host_weight", rows.host_weight, num_kernels, Sign::positive);
  check_numbers("version_sd", rows.version_sd, rows.num_versions, Sign::positive);
  check_numbers("version_gap_sd", rows.version_gap_sd, rows.num_versions, Sign::positive);
  check_numbers("host_kind_sd", rows.host_kind_sd, rows.num_host_kinds, Sign::positive);
  check_numbers("host_columns", rows.host_columns, num_rows * rows.num_host_columns, Sign::any);
  check_numbers("host_column_sd", rows.host_column_sd, rows.num_host_columns, Sign::positive);
  check_indices("view_kind", std::array{rows.view_kind}, rows.num_host_kinds + 1, 1);
  check_numbers("view_weight", rows.view_weight, num_rows, Sign::not_negative);
  check_numbers("host_s", rows.host_s, num_rows, Sign::not_negative);
  check_numbers("copy_s", rows.copy_s, num_rows, Sign::not_negative);
  check_indices("device", rows.device, rows.num_devices + 1, num_rows);
  check_indices("chip", rows.chip, rows.num_chips + 1, num_rows);
  check_indices("version", rows.version, rows.num_versions + 1, num_rows);
  check_indices("launch", rows.launch, rows.num_launches + 1, num_rows);
  check_indices("host", rows.host, rows.num_hosts + 1, num_rows);
  if (rows.latency_s.empty() && rows.weight.empty()) return;
  check_indices("shows_host", rows.shows_host, 2, num_rows);
  check_numbers("latency_s", rows.latency_s, num_rows, Sign::positive);
  check_numbers("weight", rows.weight, num_rows, Sign::not_negative);
}

KernelBatch collate(const KernelRows& rows, at::ScalarType type) {
  const std::int64_t num_kernels = rows.first_kernel.back();
  KernelBatch all;
  all.inputs = copied_tensor(rows.inputs, type).view({rows.num_inputs(), rows.num_columns});
  all.input_kind = copied_tensor(rows.input_kind);
  all.first_kernel = copied_tensor(rows.first_kernel);

  // In the order of KernelNumber and KernelIndex.
  const std::array numbers{rows.count,           rows.compute_s,
                           rows.wave_factor,     rows.activation_bytes,
                           rows.weight_bytes,    rows.bandwidth_bytes_per_s,
                           rows.l2_bytes,        rows.least_compute_s,
                           rows.least_memory_s,  rows.gap_scale,
                           rows.cycles_per_byte, rows.host_weight};
  static_assert(numbers.size() == kNumKernelNumbers);
  all.numbers = at::empty({num_kernels, kNumKernelNumbers}, type);
  for (std::int64_t column = 0; column < kNumKernelNumbers; ++column) {
    all.numbers.select(1, column).copy_(copied_tensor(numbers.at(static_cast<std::size_t>(column)), type));
  }
  for (const KernelNumber factor : {KernelNumber::log_wave, KernelNumber::log_cycles_per_byte}) {
    all.numbers.select(1, static_cast<std::int64_t>(factor)).log_();
  }
  const std::array indices{rows.input, rows.units, rows.library, rows.memory_kind, rows.host_kind};
  static_assert(indices.size() == kNumKernelIndices);
  all.indices = at::empty({num_kernels, kNumKernelIndices}, at::kInt);
  for (std::int64_t column = 0; column < kNumKernelIndices; ++column) {
    all.indices.select(1, column).copy_(copied_tensor(indices.at(static_cast<std::size_t>(column))));
  }

  std::vector<double> launches;
  for (std::int64_t call = 0; call < rows.num_rows(); ++call) {
    const auto begin = rows.count.begin();
    launches.push_back(std::accumulate(begin + rows.first_kernel[call], begin + rows.first_kernel[call + 1], 0.0));
  }
  all.launches = copied_tensor(launches, type);
  all.view_weight = copied_tensor(rows.view_weight, type);
  all.view_kind = rows.view_kind;
  all.log_host = log_seconds(rows.host_s, type);
  all.host_columns = copied_tensor(rows.host_columns, type).view({rows.num_rows(), rows.num_host_columns});
  all.log_copy = log_seconds(rows.copy_s, type);
  all.device = copied_tensor(rows.device);
  all.chip = copied_tensor(rows.chip);
  all.version = copied_tensor(rows.version);
  all.launch = copied_tensor(rows.launch);
  all.host = copied_tensor(rows.host);
  if (!rows.shows_host.empty()) all.shows_host = copied_tensor(rows.shows_host).eq(1);
  if (!rows.latency_s.empty()) all.log_latency = log_seconds(rows.latency_s, type);
  if (!rows.weight.empty()) all.weight = copied_tensor(rows.weight, type);
  return all;
}

KernelBatch select(const KernelBatch& all, const at::Tensor& which) {
  const std::int64_t num_calls = which.numel();
  const auto* calls = which.const_data_ptr<std::int64_t>();
  const auto* first_of = all.first_kernel.const_data_ptr<std::int64_t>();
  KernelBatch batch;
  batch.first_kernel = at::empty({num_calls + 1}, at::kLong);
  auto* first = batch.first_kernel.mutable_data_ptr<std::int64_t>();
  first[0] = 0;
  for (std::int64_t b = 0; b < num_calls; ++b) first[b + 1] = first[b] + first_of[calls[b] + 1] - first_of[calls[b]];
  const auto kernels_of_calls = [&](const at::Tensor& kernels) {
    at::Tensor copied = at::empty({first[num_calls], kernels.size(1)}, kernels.options());
    const auto row_bytes = static_cast<std::size_t>(kernels.size(1)) * kernels.element_size();
    const auto* from = static_cast<const std::byte*>(kernels.const_data_ptr());
    auto* to = static_cast<std::byte*>(copied.mutable_data_ptr());
    for (std::int64_t b = 0; b < num_calls; ++b) {
      const auto bytes = static_cast<std::size_t>(first[b + 1] - first[b]) * row_bytes;
      std::memcpy(to, from + static_cast<std::size_t>(first_of[calls[b]]) * row_bytes, bytes);
      to += bytes;
    }
    return copied;
  };
  batch.numbers = kernels_of_calls(all.numbers);
  batch.indices = kernels_of_calls(all.indices);

  // Each input once, in the order of their first kernel.
  constexpr std::int32_t kNotYet = -1;
  std::vector<std::int32_t> place(static_cast<std::size_t>(all.inputs.size(0)), kNotYet);
  std::vector<std::int64_t> used;
  auto* index = batch.indices.mutable_data_ptr<std::int32_t>() + static_cast<std::int64_t>(KernelIndex::input);
  for (std::int64_t k = 0; k < batch.indices.size(0); ++k, index += kNumKernelIndices) {
    std::int32_t& found = place[static_cast<std::size_t>(*index)];
    if (found == kNotYet) {
      found = static_cast<std::int32_t>(used.size());
      used.push_back(*index);
    }
    *index = found;
  }
  const at::Tensor of_inputs = copied_tensor(std::span<const std::int64_t>(used));
  batch.inputs = all.inputs.index_select(0, of_inputs);
  batch.input_kind = all.input_kind.index_select(0, of_inputs);

  for (const auto part :
       {&KernelBatch::launches, &KernelBatch::view_weight, &KernelBatch::log_host, &KernelBatch::host_columns,
        &KernelBatch::log_copy, &KernelBatch::device, &KernelBatch::chip, &KernelBatch::version, &KernelBatch::launch,
        &KernelBatch::host, &KernelBatch::shows_host, &KernelBatch::log_latency, &KernelBatch::weight}) {
    if ((all.*part).defined()) batch.*part = (all.*part).index_select(0, which);
  }
  batch.view_kind = all.view_kind;
  return batch;
}

}  // namespace latpred
