#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "latpred/measure.h"

namespace latpred {

// CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID and getrusage(RUSAGE_THREAD) of the calling thread.
class HostClock : public Clock {
 public:
  void start() override;
  [[nodiscard]] Sample stop() override;
  [[nodiscard]] double now_s() override;
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string device_fingerprint() const override;

 private:
  double wall_s_ = 0;
  double cpu_s_ = 0;
  std::int64_t involuntary_ = 0;
  std::int64_t voluntary_ = 0;
};

}  // namespace latpred
