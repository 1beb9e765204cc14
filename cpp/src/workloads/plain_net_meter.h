#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "latpred/measure.h"
#include "workloads/plain_net_sizes.h"

namespace latpred {

class WeightPool;

// Measures plain nets, one after the other, with weights from one pool. This header includes no torch.
class PlainNetMeter {
 public:
  // 4 GiB: no layer of at most 16384 x 16384 weights meets itself in a cache.
  static constexpr std::int64_t kDefaultPoolBytes = std::int64_t{4} << 30;

  explicit PlainNetMeter(std::int64_t pool_bytes = kDefaultPoolBytes);
  ~PlainNetMeter();
  PlainNetMeter(PlainNetMeter&&) noexcept;
  PlainNetMeter& operator=(PlainNetMeter&&) noexcept;

  // [N] one measurement for each net, on the calling thread with protocol.threads threads of LibTorch's. A single
  // thread is kept on one core meanwhile (-1: the one that it runs on). `between` is called before each net; what it
  // throws ends the list.
  [[nodiscard]] std::vector<Measurement> measure(const std::vector<PlainNetSizes>& nets, std::int64_t batch,
                                                 const Protocol& protocol, int core = -1,
                                                 const std::function<void()>& between = {});

  [[nodiscard]] std::int64_t pool_bytes() const;

 private:
  std::unique_ptr<WeightPool> pool_;
};

}  // namespace latpred
