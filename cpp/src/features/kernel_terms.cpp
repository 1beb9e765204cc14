#include "latpred/kernel_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/kind_sets.h"
#include "physics.h"
#include "tiles.h"

namespace latpred {
namespace {

// Of the bandwidth: no point-wise operator of NeuSight's that outgrows L2 moves more than 0.92 of the data sheet's, on
// nine cards.
constexpr double kLargestBandwidthShare = 0.94;
// Where the L2 is unknown: Pascal's and Volta's had 2 to 6 MB, those of large chips from Ampere on 40 to 126 MiB.
constexpr double kUnknownL2Bytes = 4e6;
constexpr double kUnknownLargeL2Bytes = 50.0 * (1 << 20);
constexpr int kLargeL2Capability = 80;

double l2_bytes(const Device& device) {
  const bool is_large = device.compute_capability.value_or(0) >= kLargeL2Capability;
  return device.l2_bytes.value_or(is_large ? kUnknownLargeL2Bytes : kUnknownL2Bytes);
}

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

// Convolutions in float32 are taken to gain nothing of the second 64 lanes that an SM has from the RTX 3090 and H100
// on: with them counted, networks on an H200 left out came out 1.4 times too quick (no other such chip ran any), and
// those on a V100, which has 64, 1.3 times too slow. cuBLAS's products do gain; Pascal's SMs have 128 lanes that
// cuDNN's kernels of the time were written for.
constexpr double kConvolutionLanes = 64;
constexpr int kLanesOfIntegersCapability = 75;

// The clock whose cycles make the learnt gap: a scale, near that of most measured cards.
constexpr double kGapClockHz = 1.7e9;

// GDDR5X goes with GDDR6X: with GDDR5, which the P4 alone stands for, networks on its cards left out of the fit were
// off by 10.8 % instead of 9.2 in a trial (benchmarks/accuracy/networks.py --situations chip, GP102).
constexpr std::array<std::pair<std::string_view, MemoryKind>, 9> kMemoryKinds{{
    {"HBM2", MemoryKind::stacked},
    {"HBM2e", MemoryKind::stacked},
    {"HBM3", MemoryKind::stacked},
    {"HBM3e", MemoryKind::stacked},
    {"GDDR5", MemoryKind::old_graphics},
    {"GDDR6", MemoryKind::graphics},
    {"GDDR5X", MemoryKind::fast_graphics},
    {"GDDR6X", MemoryKind::fast_graphics},
    {"GDDR7", MemoryKind::fast_graphics},
}};

// Depth-wise ones are no library's: PyTorch and TensorRT have kernels of their own for them.
constexpr Kinds kLibraryConvolutions = kConvolutions & ~of(CostKind::conv_depthwise);

KernelLibrary library_of(const Kernel& kernel) {
  if (has(kLibraryConvolutions, kernel.kind)) return KernelLibrary::convolution;
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

// What others' kernels of them compute takes less than a tenth of what they move. With a time for it, learnt of few
// rows in half precision that were small, large softmaxes came out seven times too slow (LLMCompass, A100).
constexpr Kinds kBandwidthBound = kNormalising;

// PyTorch's kernels of norms keep the SMs busy for longer than their bytes take on cards with much memory bandwidth for
// an SM: cycles of one SM, as benchmarks/kernel_cycles.py prints them of an H200. cuDNN's batch norm, which takes as
// long in half precision as in single, and layer norm have a block of threads for each image of one channel or row. Of
// a group norm one block walks all of a group: few large groups, as PoolFormer's, leave most SMs idle. Too few networks
// have those to unlearn what the fit starts from for all kernels.
struct NormCycles {
  CostKind kind;
  double of_element;
  double of_row;
  double least_of_row;
  double of_element_in_turn;  // by the one block that walks a row
};
constexpr std::array<NormCycles, 3> kNormCycles{{{CostKind::batch_norm, 0.57, 0, 170, 0},
                                                 {CostKind::layer_norm, 0.55, 350, 0, 0},
                                                 {CostKind::group_norm, 0.5, 0, 0, 1.9 / kStartOfCompute}}};

double norm_s(const Kernel& kernel, double clock_hz, double sms) {
  const auto* const known = std::ranges::find(kNormCycles, kernel.kind, &NormCycles::kind);
  if (known == kNormCycles.end()) return 0;
  const double found = kernel.kind == CostKind::batch_norm ? kernel.positions : kernel.row;
  const double row = found > 0 ? found : kernel.normalised;
  const double rows = kernel.normalised / row;
  const double cycles = rows * std::max(known->least_of_row, row * known->of_element + known->of_row);
  return std::max(cycles / sms, row * known->of_element_in_turn) / clock_hz;
}

// PyTorch's own kernel of depth-wise convolutions works out where each element of the window lies: cycles of one SM,
// the same in half precision, as the same command prints them.
constexpr double kDepthwiseCyclesOfOutput = 1.6;
constexpr double kDepthwiseCyclesOfElement = 0.11;
// On Pascal. With as many cycles as on an H200 the fit put what was left down to the memory of its cards: left out, the
// networks of NAS-Bench-201, which have no such convolutions, came out 1.2 times too slow on them, and those of
// Once-for-all, which have many, 1.2 times too quick. With so many times as many both are within a tenth.
constexpr double kPascalDepthwiseFactor = 2.2;
constexpr int kVoltaCapability = 70;

double depthwise_cycles(const Kernel& kernel, const Device& device) {
  const double outputs = kernel.macs / std::max(1.0, kernel.window);
  const bool is_pascal = device.compute_capability.value_or(kVoltaCapability) < kVoltaCapability;
  const double factor = is_pascal ? kPascalDepthwiseFactor : 1;
  return outputs * factor * (kDepthwiseCyclesOfOutput + kernel.window * kDepthwiseCyclesOfElement);
}

// So does its kernel of max and average pooling, which compares or adds as the window is walked: a max pool of 3 x 3
// takes as long in half precision as in single, on an H200; average pools took as many cycles on Pascal's and Turing's
// cards (NAS-Bench-201 at a batch of 256: 4.0 to 4.9 of 3 x 3).
constexpr double kPoolCyclesOfOutput = 2.4;
constexpr double kPoolCyclesOfElement = 0.21;

double pool_cycles(const Kernel& kernel) {
  // Networks have too few pools to unlearn what the fit starts from for all kernels.
  return kernel.pooled * (kPoolCyclesOfOutput + kernel.window * kPoolCyclesOfElement) / kStartOfCompute;
}

// Of PyTorch's own kernels that compute for longer than their arithmetic says; of others nothing.
std::optional<double> own_kernel_s(const Kernel& kernel, const Device& device, double clock_hz, double sms) {
  if (kernel.normalised > 0) return norm_s(kernel, clock_hz, sms);
  if (kernel.is_native_depthwise) return depthwise_cycles(kernel, device) / clock_hz / sms;
  if (kernel.pooled > 0) return pool_cycles(kernel) / clock_hz / sms;
  return std::nullopt;
}

// What an SM's tensor cores get to do in a cycle where the rows of a product are not aligned, whatever they could do.
// GPT-2's head of 50257 words got some 350 on an H200 (benchmarks/gpu_campaign, the rest of its calls taken off as
// predicted); others report such heads at a third of the usual speed. A start for the fit, not a bound.
constexpr double kUnalignedFlopsPerCycle = 512;

struct ComputeTime {
  double expected_s;
  double least_s;
};

ComputeTime compute_time(const Kernel& kernel, const Device& device, const Partition& partition) {
  const double at_peak_s =
      has(kBandwidthBound, kernel.kind) ? 0 : kernel.flops / sustained_peak(kernel, device, partition);
  const ComputeTime by_peak{at_peak_s, kSmallestInverse * at_peak_s / winograd_saving(kernel, device)};
  if (!device.is_gpu || !device.clock_hz) return by_peak;
  const double cycles_per_s = *device.clock_hz * device.sustained_share.value;
  // The same instructions on every chip: where bandwidth hides them, nothing else keeps the fit from forgetting them.
  if (const auto known_s = own_kernel_s(kernel, device, cycles_per_s, partition.sms)) {
    return {*known_s, kSmallestInverse * *known_s};
  }
  if (!kernel.is_unaligned || !uses_tensor_cores(kernel, device)) return by_peak;
  const double unaligned_s = kernel.flops / kUnalignedFlopsPerCycle / cycles_per_s / partition.sms;
  return {std::max(at_peak_s, unaligned_s), by_peak.least_s};
}

// Each step of a recurrent layer waits for the one before: its product fills the device alone, weights are read again,
// from L2 as far as it holds them, and there is a gap.
void step_by_step(const Kernel& kernel, const Device& device, const Partition& partition, KernelTerms& terms) {
  const double steps = std::max(1.0, kernel.gemm_batch);
  Kernel step = kernel;
  step.gemm_batch = 1;
  if (is_product(step)) {
    terms.wave_factor = choose_tiling(step, uses_tensor_cores(step, device), partition.sms).time_factor;
  }
  const double held_bytes = std::min(kernel.weight_bytes, terms.l2_bytes);
  const double again_bytes = kernel.weight_bytes - held_bytes * (1 - 1 / kL2BandwidthMultiple);
  terms.weight_bytes += (steps - 1) * again_bytes;
  terms.least_memory_s += (steps - 1) * again_bytes / terms.bandwidth_bytes_per_s / kLargestBandwidthShare;
  terms.gap_scale *= steps;
}

double products_per_cycle(const Device& device, double peak_flops_per_s) {
  return peak_flops_per_s / kFlopsPerProduct / device.sms / *device.clock_hz;
}

double lanes_factor(const Kernel& kernel, const Device& device) {
  const auto peak = device.peak_flops_per_s(Arithmetic::fp32);
  if (library_of(kernel) != KernelLibrary::convolution || !peak || !device.clock_hz || device.sms <= 0) return 1;
  if (device.compute_capability.value_or(0) < kLanesOfIntegersCapability) return 1;
  return std::max(1.0, products_per_cycle(device, *peak) / kConvolutionLanes);
}

double feeding_factor(const Kernel& kernel, const Device& device) {
  const auto* const usual = std::find_if(kUsualRates.begin(), kUsualRates.end(),
                                         [&](const UsualRate& row) { return row.arithmetic == kernel.arithmetic; });
  const auto peak = device.peak_flops_per_s(kernel.arithmetic);
  if (usual == kUsualRates.end() || !peak || !device.clock_hz || device.sms <= 0) return 1;
  return std::pow(products_per_cycle(device, *peak) / usual->products_per_cycle, kFeedingExponent);
}

}  // namespace

MemoryKind memory_kind(const Device& device) {
  for (const auto& [type, kind] : kMemoryKinds) {
    if (type == device.memory_type) return kind;
  }
  return MemoryKind::unknown;
}

double nominal_s(const Kernel& kernel) {
  static const Device& nominal = device("A100-SXM4-40GB");
  const Arithmetic units = runs_matrix_product(kernel) ? kernel.arithmetic : Arithmetic::fp32;
  const double moved_s = (kernel.bytes_in + kernel.bytes_out) / nominal.bandwidth_bytes_per_s;
  return std::max(kernel.flops / nominal.peak_flops_per_s(units).value(), moved_s);
}

KernelTerms kernel_terms(const Kernel& kernel, const Device& device, const Partition& partition) {
  KernelTerms terms;
  terms.nominal_s = nominal_s(kernel);
  terms.kind = kernel.kind;
  terms.library = library_of(kernel);
  const bool has_own_units = kernel.arithmetic != Arithmetic::fp32 && has_units(device, kernel.arithmetic);
  if (is_product(kernel)) terms.units = has_own_units ? ComputeUnits::matrix : ComputeUnits::general_product;
  const ComputeTime compute = compute_time(kernel, device, partition);
  terms.compute_s = compute.expected_s;
  terms.least_compute_s = compute.least_s;
  if (terms.units == ComputeUnits::matrix) terms.feeding_factor = feeding_factor(kernel, device);
  if (terms.units == ComputeUnits::general_product) terms.feeding_factor = lanes_factor(kernel, device);
  if (is_product(kernel)) {
    terms.wave_factor = choose_tiling(kernel, uses_tensor_cores(kernel, device), partition.sms).time_factor;
  }
  terms.activation_bytes = kernel.bytes_in + kernel.bytes_out;
  terms.weight_bytes = kernel.weight_bytes;
  const double bandwidth_bytes_per_s = partition.bandwidth_bytes_per_s(device);
  terms.bandwidth_bytes_per_s = usable_bandwidth(kernel, bandwidth_bytes_per_s);
  terms.l2_bytes = l2_bytes(device) * partition.l2_share;
  const double held_bytes = std::min(terms.activation_bytes, terms.l2_bytes);
  const double least_bytes = terms.weight_bytes + terms.activation_bytes - held_bytes * (1 - 1 / kL2BandwidthMultiple);
  terms.least_memory_s = least_bytes / terms.bandwidth_bytes_per_s / kLargestBandwidthShare;
  if (device.clock_hz) {
    terms.gap_scale = kGapClockHz / *device.clock_hz;
    const double cycles_per_s = partition.sms * *device.clock_hz * device.sustained_share.value;
    if (cycles_per_s > 0) terms.cycles_per_byte = cycles_per_s / bandwidth_bytes_per_s / kUsualCyclesPerByte;
  }
  terms.memory = memory_kind(device);
  if (kernel.kind == CostKind::recurrent) step_by_step(kernel, device, partition, terms);
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
      {"nominal", "s", [](const KernelTerms& terms) { return terms.nominal_s; }},
  };
  return rows;
}

}  // namespace latpred
