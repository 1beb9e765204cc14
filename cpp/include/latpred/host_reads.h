#pragma once

#include <string>
#include <vector>

#include "latpred/device.h"
#include "latpred/kernel.h"

namespace latpred {

// What one core alone and all of them at once were measured to read, each over and over so many bytes of its own.
struct HostRead {
  double bytes_of_each = 0;
  double one_bytes_per_s = 0;
  double all_bytes_per_s = 0;
};

// `host`, as host_device() gives it, with what was measured on it: the multiply-adds of all cores, and the bandwidth of
// the largest of `reads`, which ascend. `note` says when that was.
[[nodiscard]] Device with_speed(Device host, double fp32_flops_per_s, const std::vector<HostRead>& reads,
                                std::string note);
// What a call reads again and again: its weights, and the largest inputs and outputs of one kernel.
[[nodiscard]] double working_set_bytes(const Kernels& kernels);
// `host` with the bandwidth that calls over `working_set_bytes` find when `cores` share them: what a call has left in
// caches the next one reads there.
[[nodiscard]] Device with_reads(Device host, const std::vector<HostRead>& reads, double working_set_bytes,
                                double cores);

}  // namespace latpred
