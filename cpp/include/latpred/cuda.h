#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latpred/measure.h"

// NVIDIA GPUs as measuring instruments. The driver's libraries are found when they are first asked for, so that one
// build runs with and without a GPU. Everything throws ProfilerError with the driver's function, code and text, and
// what to do. Streams are the driver's handles as integers, as torch.cuda.Stream.cuda_stream gives them; 0 is the
// default stream. Work of PyTorch and of the CUDA runtime is seen, because it lives in the same primary context.
namespace latpred {

using StreamHandle = std::uintptr_t;

// Files that the driver installs; parameters so that a test can give others.
struct CudaLibraries {
  std::string driver = "libcuda.so.1";
  std::string nvml = "libnvidia-ml.so.1";
};

// One sentence that says why CUDA cannot be used and what to do; empty where it can.
[[nodiscard]] std::string cuda_unavailable_reason(const CudaLibraries& libraries = {});

// What the driver says about a GPU. Empty means unknown, never zero.
struct GpuFacts {
  int index = 0;  // as CUDA counts, of those that CUDA_VISIBLE_DEVICES shows
  std::string name;
  std::string uuid;  // "GPU-..."; "MIG-..." of an instance
  std::string pci_bus_id;
  int compute_capability = 0;  // major * 10 + minor: 90
  int sms = 0;
  std::int64_t memory_bytes = 0;
  std::optional<double> clock_hz;  // highest of the SMs
  std::optional<double> memory_clock_hz;
  std::optional<int> memory_bus_bits;
  std::optional<std::int64_t> l2_bytes;
  std::optional<double> power_limit_w;
  int cuda_version = 0;        // that the driver understands: 13000
  std::string driver_version;  // "580.95.05"
  std::string fingerprint;     // one line of all of the above
};
[[nodiscard]] std::vector<GpuFacts> gpu_facts(const CudaLibraries& libraries = {});

// Of this moment. All but `nvml_missing` is empty where NVML is missing or cannot say.
struct GpuState {
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_celsius;
  std::optional<double> power_w;
  std::vector<std::string> clock_reasons;  // why the clocks are what they are: "power cap", "gpu idle"
  bool is_throttled = false;               // one of them slows the GPU down
  std::string nvml_missing;                // why NVML cannot be asked
};

struct GpuMemory {
  std::int64_t total_bytes = 0;  // of the GPU, as the driver gives it
  std::int64_t free_bytes = 0;
  std::optional<std::int64_t> context_bytes;          // what opening the context took; unknown where it was open before
  std::optional<std::int64_t> device_used_bytes;      // NVML: of all processes
  std::optional<std::int64_t> device_reserved_bytes;  // NVML: by driver and firmware
  std::optional<std::int64_t> process_bytes;          // NVML: of this process; containers may hide it
};

class Gpu;

// Time between two events on a stream, as a Clock for measure().
struct CudaClockOptions {
  StreamHandle stream = 0;
  bool flush_l2 = false;      // overwrite the L2 cache before each sample
  bool block_stream = false;  // hold the stream back until all is queued, so that launches cost nothing
  double block_timeout_s = 1;
};
class CudaClock : public Clock {
 public:
  CudaClock(const Gpu& gpu, const CudaClockOptions& options);
  ~CudaClock() override;

  void start() override;
  [[nodiscard]] Sample stop() override;
  [[nodiscard]] double now_s() override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string device_fingerprint() const override;

  // How often the block opened by itself: those samples hold gaps. After the second the stream is not blocked any more.
  [[nodiscard]] int block_timeouts() const;
  // Why clocks were lowered while samples ran, by NVML before and after; empty: they were not, or nobody can say.
  [[nodiscard]] std::vector<std::string> throttle_reasons() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Work captured from a stream, launched as one.
class CudaGraph {
 public:
  CudaGraph(const Gpu& gpu, StreamHandle stream, const std::function<void()>& enqueue);
  ~CudaGraph();
  CudaGraph(CudaGraph&&) noexcept;

  void launch(StreamHandle stream) const;
  [[nodiscard]] std::int64_t nodes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// A green context: what runs on its stream uses its SMs alone; memory bandwidth, L2, clocks and power stay shared.
class SmPartition {
 public:
  ~SmPartition();
  SmPartition(SmPartition&&) noexcept;

  [[nodiscard]] int sms() const;
  [[nodiscard]] StreamHandle stream() const;

 private:
  friend class Gpu;
  struct Parts;
  explicit SmPartition(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// How energy is measured: whole ticks of the board's counter around repeated runs.
struct EnergyProtocol {
  double min_s = 2;  // at least 2: the counter moves about every 0.1 s
  double warm_up_s = 0.5;
};
struct EnergyWindow {
  double energy_j = 0;  // of the whole board, idle part included
  double window_s = 0;
  std::int64_t runs = 0;
  double energy_per_run_j = 0;
  double mean_power_w = 0;
  std::string source;  // "energy counter", "power samples"
  std::string note;    // why not the counter
  std::optional<double> start_celsius;
  std::optional<double> end_celsius;
  std::vector<std::string> throttle_reasons;
};

// One GPU with its primary context held open.
class Gpu {
 public:
  explicit Gpu(int index = 0, const CudaLibraries& libraries = {});

  [[nodiscard]] const GpuFacts& facts() const;
  [[nodiscard]] GpuState state() const;
  [[nodiscard]] GpuMemory memory() const;
  void synchronize(StreamHandle stream = 0) const;

  // Ascending; the last is the whole GPU.
  [[nodiscard]] std::vector<int> partition_sizes() const;
  // `count` disjoint parts of `sms` multiprocessors each.
  [[nodiscard]] std::vector<SmPartition> partitions(int sms, int count = 1) const;

  // Runs `run_once` on and on, waiting for `stream` after each; `clock` says how long.
  [[nodiscard]] EnergyWindow measure_energy(const std::function<void()>& run_once, StreamHandle stream,
                                            const EnergyProtocol& protocol, Clock& clock) const;

  struct Parts;

 private:
  friend class CudaClock;
  friend class CudaGraph;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace latpred
