#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace latpred {

struct Cache {
  int level = 0;
  std::string kind;  // "Data", "Instruction", "Unified"
  std::int64_t size_bytes = 0;
  int shared_by = 1;  // logical processors
};

// What the system says about the machine that this runs on. Empty means unknown, never zero.
struct HostFacts {
  std::string model_name;  // of the processor, as the system gives it
  std::string vendor;
  std::optional<int> family;
  std::optional<int> model;
  std::optional<int> stepping;
  int logical_cores = 0;  // online
  std::optional<int> physical_cores;
  int allowed_cores = 0;                  // of this thread's affinity
  std::vector<Cache> caches;              // of core 0, level by level
  std::string isa_level;                  // "x86-64-v4", "aarch64"
  std::vector<std::string> isa_features;  // of those that matter here: "avx512_bf16", ...
  std::optional<std::int64_t> memory_bytes;
  bool is_virtual = false;  // a virtual machine that says so
  std::string fingerprint;  // one line of the facts above that do not change between boots
};
// Read once; allowed_cores is of the thread that asks first.
[[nodiscard]] const HostFacts& host_facts();
// From the proc and sys folders under `root`; empty: this machine's.
[[nodiscard]] HostFacts read_host_facts(const std::string& root);

struct BandwidthPoint {
  double working_set_bytes = 0;
  double bytes_per_s = 0;  // reads by one thread
};

// What one core really does, measured.
struct HostSpeed {
  std::vector<BandwidthPoint> read_bandwidth;  // by working set, ascending
  double fp32_flops_per_s = 0;                 // fused multiply-adds in registers, 2 operations each
  std::string kernels;                         // the instruction set of the loops: "avx512f"
  double measured_s = 0;                       // how long it took
};
// Takes about `budget_s` seconds on the calling thread, which should be pinned. Times are thread CPU time, so that a
// busy neighbour on the core costs time and not truth.
[[nodiscard]] HostSpeed measure_host(double budget_s = 1.5);

}  // namespace latpred
