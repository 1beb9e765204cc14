#include "device_rules.h"

#include <array>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Share of the SMs that together saturate the memory. The A100's profile 1g.10gb couples 14 of 108 SMs to 2 of 8 memory
// slices, so NVIDIA counts on 14 SMs moving a quarter of the bandwidth: 14 / 108 / (2 / 8) = 0.52.
constexpr double kSaturatingSmShare = 0.52;

// One core of a Xeon of these generations streams 12-14 GB/s: ten line-fill buffers of 64 bytes at about 50 ns.
constexpr double kCoreBandwidthBytesPerS = 12e9;

struct IdlePower {
  std::string_view memory_type;
  double share_of_limit;
};
// nvidia-smi idle readings over the board limit: A100 SXM4 50 / 400, H100 SXM5 70 / 700, V100 SXM2 40 / 300; T4 10 /
// 70, L4 12 / 72; RTX 3090 25 / 350, RTX 4090 22 / 450. DDR4: processors of servers at rest.
constexpr std::array<IdlePower, 11> kIdlePowers{{
    {"HBM2", 0.12},
    {"HBM2e", 0.12},
    {"HBM3", 0.10},
    {"HBM3e", 0.10},
    {"GDDR5", 0.10},
    {"GDDR5X", 0.06},
    {"GDDR6", 0.10},
    {"GDDR6X", 0.06},
    {"GDDR7", 0.05},
    {"LPDDR5", 0.15},
    {"DDR4", 0.25},
}};

struct Context {
  std::string_view architecture;
  double bytes;
};
// About 300 MB with lazy loading (CUDA 11.7 and later, the PyTorch developers' figure); it grows with the SMs, for
// which the driver reserves stacks, and with the number of kernels built in for the architecture. Hopper's was measured
// (data/measurements/gpu_campaign: PyTorch 2.11 on an H200, 549 MB when opened, the rest libraries of running
// networks).
constexpr std::array<Context, 7> kContexts{{
    {"Pascal", 300e6},
    {"Volta", 300e6},
    {"Turing", 300e6},
    {"Ampere", 400e6},
    {"Ada", 400e6},
    {"Hopper", 728e6},
    {"Blackwell", 500e6},
}};

}  // namespace

Fact bandwidth_per_sm_rule(const Device& device) {
  if (!device.is_gpu) return {kCoreBandwidthBytesPerS, true};
  return {device.bandwidth_bytes_per_s / (kSaturatingSmShare * device.sms), true};
}

Fact idle_power_rule(const Device& device) {
  for (const IdlePower& row : kIdlePowers) {
    if (row.memory_type == device.memory_type && device.power_limit_w) {
      return {row.share_of_limit * *device.power_limit_w, true};
    }
  }
  throw InvalidArgumentError(concat("device '", device.name, "' has no power limit or a memory type ('",
                                    device.memory_type, "') without an idle share: give its row an idle power"));
}

Fact context_rule(const Device& device) {
  if (!device.is_gpu) return {0.0, false};  // no driver context on a processor
  for (const Context& row : kContexts) {
    if (row.architecture == device.architecture) return {row.bytes, true};
  }
  throw InvalidArgumentError(concat("device '", device.name, "': no context size for architecture '",
                                    device.architecture, "': add it to the rule's table"));
}

}  // namespace latpred
