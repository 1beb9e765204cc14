#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/device.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"
#include "latpred/runtime.h"

namespace latpred {

// The units whose speed differs between a device and its data sheet. Products on the general units are apart: they come
// near to the peak at float32 where the SMs issue it undivided, and say nothing about half precision on those units.
enum class ComputeUnits : std::uint8_t { general = 0, matrix = 1, general_product = 2 };
inline constexpr std::size_t kNumComputeUnits = 3;

// The libraries whose versions differ.
enum class KernelLibrary : std::uint8_t { convolution = 0, product = 1, none = 2 };
inline constexpr std::size_t kNumKernelLibraries = 3;

// Memories that hold different shares of their data sheet's bandwidth: the fast ones of desktop cards the most, GDDR6,
// which server cards run with their error correction among the data, less, GDDR5 the least.
enum class MemoryKind : std::uint8_t { unknown = 0, stacked = 1, graphics = 2, fast_graphics = 3, old_graphics = 4 };
inline constexpr std::array<std::string_view, 5> kMemoryKindNames{"unknown", "stacked", "graphics", "fast graphics",
                                                                  "old graphics"};
inline constexpr std::size_t kNumMemoryKinds = kMemoryKindNames.size() - 1;  // unknown not counted: it has no effect
[[nodiscard]] MemoryKind memory_kind(const Device& device);

// Of the time that a kernel takes at the data sheet's peak: a margin for clocks above it.
inline constexpr double kSmallestInverse = 0.9;

// Where the fit starts: a kernel computes for so many times as long as physics says, a trial's common efficiency.
inline constexpr double kStartOfCompute = 1.4;

// Physics of one kernel on a part of a device, as the predictor kernel_residual starts from it. Seconds and bytes of
// one execution.
struct KernelTerms {
  double compute_s = 0;         // flops / sustained peak
  double wave_factor = 1;       // >= 1: time by whole waves of work on the SMs, over compute_s
  double activation_bytes = 0;  // read and written
  double weight_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double l2_bytes = 0;
  // What no kernel goes below: the peak with a margin, Winograd's saved multiplications, the bandwidth, bytes that L2
  // holds.
  double least_compute_s = 0;
  double least_memory_s = 0;
  double gap_scale = 1;        // of the time between two kernels, which is counted in cycles
  double cycles_per_byte = 1;  // of the SMs, over those of most measured cards; 1 where clock or SMs are unknown
  // Of compute time: matrix units that do more in a cycle are harder to keep busy. 1 where clock or SMs are unknown.
  double feeding_factor = 1;
  double nominal_s = 0;
  CostKind kind = CostKind::other;
  ComputeUnits units = ComputeUnits::general;
  KernelLibrary library = KernelLibrary::none;
  MemoryKind memory = MemoryKind::unknown;
};
// Of a kernel's FLOPs or its activations, whichever take longer at the rates of an A100: what share of a network it is,
// whatever runs it and at whatever batch.
[[nodiscard]] double nominal_s(const Kernel& kernel);

[[nodiscard]] KernelTerms kernel_terms(const Kernel& kernel, const Device& device, const Partition& partition);

// A named number of KernelTerms, for a fit.
struct TermRow {
  std::string_view name;
  std::string_view unit;
  double (*value)(const KernelTerms&);
};
[[nodiscard]] const std::vector<TermRow>& term_rows();

// What the learnt efficiency of a kernel may depend on. No partition, and of the device only which units it has: so
// latency falls with SMs, bandwidth and peak by construction.
struct KernelInRuntime {
  const Kernel& kernel;
  const Device& device;
  const Runtime& runtime;
};

// An input of the learnt efficiency: independent of the batch, so that latency grows with it. Append only.
struct TermColumn {
  std::string name;
  std::string_view unit;
  std::string_view description;
  double (*compute)(const KernelInRuntime&, std::size_t id);
  std::size_t id = 0;  // of a one-hot column
};
[[nodiscard]] const std::vector<TermColumn>& term_columns();

// How far the learnt part of each output may leave its kind's own: a factor of e^3 of compute and memory time, the wave
// exponent's logit, a gap e times as long, and less of the cycles' exponent, which is the same physics on every chip:
// with 1.5 chips left out came out worse. What a fit has not seen stays possible: without these, SE blocks at batch 1
// under TensorRT, left out, came out 8 times too slow.
inline constexpr std::array<double, 5> kOutputBounds{3, 3, 1.5, 1, 0.5};

// Of the kinds, the one whose outputs a kernel starts from: its own, or that of views, which are no kernels, where it
// is a generated point-wise one, whatever its cost kind.
[[nodiscard]] CostKind starting_kind(const KernelInRuntime& input);

// Writes the [F] inputs of one kernel, F = term_columns().size().
void fill_term_columns(const KernelInRuntime& input, double* values);

}  // namespace latpred
