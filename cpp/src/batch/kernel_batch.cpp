#include "batch/kernel_batch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Shorter than anything that a device or host does: keeps logarithms finite where a kernel has no flops or bytes.
constexpr double kNothingS = 1e-15;

constexpr std::int64_t kNumUnits = 3;      // general, matrix, products on general
constexpr std::int64_t kNumLibraries = 3;  // convolution, product, none
constexpr std::int64_t kNumMemories = 5;   // unknown, stacked, graphics, fast graphics, old graphics

double log_s(double seconds) { return std::log(std::max(seconds, kNothingS)); }

at::Tensor to_tensor(const std::vector<double>& values, at::ScalarType type) {
  const auto size = static_cast<std::int64_t>(values.size());
  return at::from_blob(const_cast<double*>(values.data()), {size}, at::kDouble).to(type, false, /*copy=*/true);
}
at::Tensor to_tensor(const std::vector<std::int64_t>& values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return at::from_blob(const_cast<std::int64_t*>(values.data()), {size}, at::kLong).clone();
}

void check_size(std::string_view what, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) == expected) return;
  throw InvalidArgumentError(concat(what, " must hold ", expected, " numbers, got ", found));
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
  check_numbers("host_kind_sd", rows.host_kind_sd, rows.num_host_kinds, Sign::positive);
  check_numbers("host_columns", rows.host_columns, num_rows * rows.num_host_columns, Sign::any);
  check_numbers("host_column_sd", rows.host_column_sd, rows.num_host_columns, Sign::positive);
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

KernelBatch collate(const KernelRows& rows, std::span<const std::int64_t> which, at::ScalarType type) {
  std::vector<std::int64_t> kernels;
  std::vector<std::int64_t> row, row_units, row_library;
  for (std::size_t b = 0; b < which.size(); ++b) {
    const auto call = static_cast<std::size_t>(which[b]);
    for (std::int64_t k = rows.first_kernel[call]; k < rows.first_kernel[call + 1]; ++k) {
      const auto place = static_cast<std::int64_t>(b);
      kernels.push_back(k);
      row.push_back(place);
      row_units.push_back(place * kNumUnits + rows.units[static_cast<std::size_t>(k)]);
      row_library.push_back(place * kNumLibraries + rows.library[static_cast<std::size_t>(k)]);
    }
  }
  const auto of_kernels = [&](std::span<const double> values, double (*change)(double)) {
    std::vector<double> result;
    result.reserve(kernels.size());
    for (const std::int64_t k : kernels) result.push_back(change(values[static_cast<std::size_t>(k)]));
    return to_tensor(result, type);
  };
  const auto indices_of_kernels = [&](std::span<const std::int64_t> values) {
    std::vector<std::int64_t> result;
    result.reserve(kernels.size());
    for (const std::int64_t k : kernels) result.push_back(values[static_cast<std::size_t>(k)]);
    return to_tensor(result);
  };
  const auto same = [](double value) { return value; };
  const auto of_calls = [&](std::span<const std::int64_t> values) {
    std::vector<std::int64_t> result;
    for (const std::int64_t call : which) result.push_back(values[static_cast<std::size_t>(call)]);
    return to_tensor(result);
  };
  const auto numbers_of_calls = [&](std::span<const double> values, double (*change)(double)) {
    std::vector<double> result;
    for (const std::int64_t call : which) result.push_back(change(values[static_cast<std::size_t>(call)]));
    return to_tensor(result, type);
  };

  // Each input once, in the order of their first kernel.
  constexpr std::int64_t kNotYet = -1;
  std::vector<std::int64_t> place(static_cast<std::size_t>(rows.num_inputs()), kNotYet);
  std::vector<std::int64_t> used, input;
  input.reserve(kernels.size());
  for (const std::int64_t k : kernels) {
    const std::int64_t original = rows.input[static_cast<std::size_t>(k)];
    std::int64_t& found = place[static_cast<std::size_t>(original)];
    if (found == kNotYet) {
      found = static_cast<std::int64_t>(used.size());
      used.push_back(original);
    }
    input.push_back(found);
  }
  std::vector<std::int64_t> kinds;
  for (const std::int64_t original : used) kinds.push_back(rows.input_kind[static_cast<std::size_t>(original)]);
  const auto lines = [type](std::span<const double> matrix, std::int64_t width, std::span<const std::int64_t> places) {
    std::vector<double> result;
    result.reserve(places.size() * static_cast<std::size_t>(width));
    for (const std::int64_t index : places) {
      const auto line = matrix.subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
      result.insert(result.end(), line.begin(), line.end());
    }
    return to_tensor(result, type).view({static_cast<std::int64_t>(places.size()), width});
  };

  KernelBatch batch;
  batch.inputs = lines(rows.inputs, rows.num_columns, used);
  batch.input_kind = to_tensor(kinds);
  batch.input = to_tensor(input);
  batch.row = to_tensor(row);
  batch.row_units = to_tensor(row_units);
  batch.row_library = to_tensor(row_library);
  batch.count = of_kernels(rows.count, same);
  batch.log_compute = of_kernels(rows.compute_s, log_s);
  batch.log_wave = of_kernels(rows.wave_factor, std::log);
  batch.log_bandwidth = of_kernels(rows.bandwidth_bytes_per_s, std::log);
  batch.activation_bytes = of_kernels(rows.activation_bytes, same);
  batch.weight_bytes = of_kernels(rows.weight_bytes, same);
  batch.l2_bytes = of_kernels(rows.l2_bytes, same);
  batch.log_least_compute = of_kernels(rows.least_compute_s, log_s);
  batch.log_least_memory = of_kernels(rows.least_memory_s, log_s);
  batch.log_gap_scale = of_kernels(rows.gap_scale, std::log);
  batch.log_cycles_per_byte = of_kernels(rows.cycles_per_byte, std::log);
  batch.memory_kind = indices_of_kernels(rows.memory_kind);
  batch.host_kind = indices_of_kernels(rows.host_kind);
  batch.host_weight = of_kernels(rows.host_weight, same);
  batch.log_host = numbers_of_calls(rows.host_s, log_s);
  batch.host_columns = lines(rows.host_columns, rows.num_host_columns, which);
  batch.log_copy = numbers_of_calls(rows.copy_s, log_s);
  batch.device = of_calls(rows.device);
  batch.chip = of_calls(rows.chip);
  batch.version = of_calls(rows.version);
  batch.launch = of_calls(rows.launch);
  batch.host = of_calls(rows.host);
  if (!rows.shows_host.empty()) batch.shows_host = of_calls(rows.shows_host).eq(1);
  if (!rows.latency_s.empty()) batch.log_latency = numbers_of_calls(rows.latency_s, log_s);
  if (!rows.weight.empty()) batch.weight = numbers_of_calls(rows.weight, same);
  return batch;
}

}  // namespace latpred
