#include "latpred/kernel_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "physics.h"
#include "tiles.h"

namespace latpred {
namespace {

// Of compute time, a margin for clocks above the data sheet's. Memory has none: its clock is fixed.
constexpr double kSmallestInverse = 0.9;
// L2 moves two to four times what the memory does (A100 and H200: about three).
constexpr double kL2BandwidthMultiple = 3;
// Where the L2 is unknown: Pascal's and Volta's had 2 to 6 MB.
constexpr double kUnknownL2Bytes = 4e6;

// Cycles of all SMs for a byte of the memory's bandwidth, near those of most measured cards (A10, RTX PRO 6000, V100).
constexpr double kUsualCyclesPerByte = 0.12;

// What the matrix units of an SM do in a cycle on most cards. The more they do, the harder they are to keep busy:
// GeForce cards, at half of it where they accumulate in float32, come nearest to their peak, the H100 least near. The
// exponent was chosen on networks of chips left out of the fit: with 0 the RTX 3090 came out 10 % too slow, with 0.2 it
// is 5.
struct UsualRate {
  Arithmetic arithmetic;
  double products_per_cycle;  // multiply-adds of one SM
};
constexpr std::array<UsualRate, 4> kUsualRates{
    {{Arithmetic::tf32, 256}, {Arithmetic::fp16, 512}, {Arithmetic::bf16, 512}, {Arithmetic::int8, 1024}}};
constexpr double kFeedingExponent = 0.2;
constexpr double kFlopsPerProduct = 2;

// The clock whose cycles make the learnt gap: a scale, near that of most measured cards.
constexpr double kGapClockHz = 1.7e9;

constexpr std::array<std::pair<std::string_view, MemoryKind>, 9> kMemoryKinds{{
    {"HBM2", MemoryKind::stacked},
    {"HBM2e", MemoryKind::stacked},
    {"HBM3", MemoryKind::stacked},
    {"HBM3e", MemoryKind::stacked},
    {"GDDR5", MemoryKind::old_graphics},
    {"GDDR6", MemoryKind::graphics},
    {"GDDR5X", MemoryKind::old_graphics},
    {"GDDR6X", MemoryKind::fast_graphics},
    {"GDDR7", MemoryKind::fast_graphics},
}};

constexpr std::array kConvolutions{CostKind::conv, CostKind::conv_1x1, CostKind::conv_grouped};

KernelLibrary library_of(const Kernel& kernel) {
  if (std::find(kConvolutions.begin(), kConvolutions.end(), kernel.kind) != kConvolutions.end()) {
    return KernelLibrary::convolution;
  }
  return is_product(kernel) ? KernelLibrary::product : KernelLibrary::none;
}

// PyTorch interpolates images of separate channels with one thread for each output pixel, which walks all channels and
// items of the batch and waits for memory at every step: few pixels leave most of the bandwidth unused. What one thread
// moves: 5 bytes in 0.25 to 0.36 us (EfficientFormerV2, 196 pixels, on three GPUs).
constexpr double kBytesPerSecondOfAPixel = 17e6;

double usable_bandwidth(const Kernel& kernel, double bytes_per_s) {
  if (!kernel.interpolates || kernel.channels_last || kernel.positions <= 0) return bytes_per_s;
  return std::min(bytes_per_s, kernel.positions * kBytesPerSecondOfAPixel);
}

double feeding_factor(const Kernel& kernel, const Device& device) {
  const auto* const usual = std::find_if(kUsualRates.begin(), kUsualRates.end(),
                                         [&](const UsualRate& row) { return row.arithmetic == kernel.arithmetic; });
  const auto peak = device.peak_flops_per_s(kernel.arithmetic);
  if (usual == kUsualRates.end() || !peak || !device.clock_hz || device.sms <= 0) return 1;
  const double products_per_cycle = *peak / kFlopsPerProduct / device.sms / *device.clock_hz;
  return std::pow(products_per_cycle / usual->products_per_cycle, kFeedingExponent);
}

}  // namespace

MemoryKind memory_kind(const Device& device) {
  for (const auto& [type, kind] : kMemoryKinds) {
    if (type == device.memory_type) return kind;
  }
  return MemoryKind::unknown;
}

KernelTerms kernel_terms(const Kernel& kernel, const Device& device, const Partition& partition) {
  KernelTerms terms;
  terms.kind = kernel.kind;
  terms.library = library_of(kernel);
  const bool has_own_units = kernel.arithmetic != Arithmetic::fp32 && has_units(device, kernel.arithmetic);
  if (is_product(kernel)) terms.units = has_own_units ? ComputeUnits::matrix : ComputeUnits::general_product;
  terms.compute_s = kernel.flops / sustained_peak(kernel, device, partition);
  if (terms.units == ComputeUnits::matrix) terms.feeding_factor = feeding_factor(kernel, device);
  if (is_product(kernel)) {
    terms.wave_factor = choose_tiling(kernel, uses_tensor_cores(kernel, device), partition.sms).time_factor;
  }
  terms.activation_bytes = kernel.bytes_in + kernel.bytes_out;
  terms.weight_bytes = kernel.weight_bytes;
  const double bandwidth_bytes_per_s = partition.bandwidth_bytes_per_s(device);
  terms.bandwidth_bytes_per_s = usable_bandwidth(kernel, bandwidth_bytes_per_s);
  terms.l2_bytes = device.l2_bytes.value_or(kUnknownL2Bytes) * partition.l2_share;
  terms.least_compute_s = kSmallestInverse * terms.compute_s / winograd_saving(kernel, device);
  const double held_bytes = std::min(terms.activation_bytes, terms.l2_bytes);
  const double least_bytes = terms.weight_bytes + terms.activation_bytes - held_bytes * (1 - 1 / kL2BandwidthMultiple);
  terms.least_memory_s = least_bytes / terms.bandwidth_bytes_per_s;
  if (device.clock_hz) {
    terms.gap_scale = kGapClockHz / *device.clock_hz;
    const double cycles_per_s = partition.sms * *device.clock_hz * device.sustained_share.value;
    if (cycles_per_s > 0) terms.cycles_per_byte = cycles_per_s / bandwidth_bytes_per_s / kUsualCyclesPerByte;
  }
  terms.memory = memory_kind(device);
  return terms;
}

const std::vector<TermRow>& term_rows() {
  static const std::vector<TermRow> rows{
      {"compute", "s", [](const KernelTerms& terms) { return terms.compute_s; }},
      {"wave_factor", "1", [](const KernelTerms& terms) { return terms.wave_factor; }},
      {"activation_bytes", "byte", [](const KernelTerms& terms) { return terms.activation_bytes; }},
      {"weight_bytes", "byte", [](const KernelTerms& terms) { return terms.weight_bytes; }},
      {"bandwidth", "byte/s", [](const KernelTerms& terms) { return terms.bandwidth_bytes_per_s; }},
      {"l2_bytes", "byte", [](const KernelTerms& terms) { return terms.l2_bytes; }},
      {"least_compute", "s", [](const KernelTerms& terms) { return terms.least_compute_s; }},
      {"least_memory", "s", [](const KernelTerms& terms) { return terms.least_memory_s; }},
      {"kind", "id", [](const KernelTerms& terms) { return static_cast<double>(terms.kind); }},
      {"units", "id", [](const KernelTerms& terms) { return static_cast<double>(terms.units); }},
      {"library", "id", [](const KernelTerms& terms) { return static_cast<double>(terms.library); }},
      {"gap_scale", "1", [](const KernelTerms& terms) { return terms.gap_scale; }},
      {"memory_kind", "id", [](const KernelTerms& terms) { return static_cast<double>(terms.memory); }},
      {"cycles_per_byte", "1", [](const KernelTerms& terms) { return terms.cycles_per_byte; }},
      {"feeding_factor", "1", [](const KernelTerms& terms) { return terms.feeding_factor; }},
  };
  return rows;
}

}  // namespace latpred
