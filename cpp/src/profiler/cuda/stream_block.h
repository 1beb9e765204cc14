#pragma once

#include <memory>

#include "profiler/cuda/driver.h"

namespace latpred::cuda {

// Holds a stream back while the host queues work on it, so that the GPU then runs without waiting for launches. It
// opens by release(), or by itself after the time-out: a workload that waits for the GPU, or queues more than the
// driver takes (about a thousand launches), is delayed and never stuck.
class StreamBlock {
 public:
  // The stream's context is current.
  StreamBlock(const Driver& driver, Stream stream, double timeout_s);
  ~StreamBlock();
  StreamBlock(const StreamBlock&) = delete;
  StreamBlock& operator=(const StreamBlock&) = delete;

  void release() noexcept;
  // Whether it opened by itself before release(): the times after it hold gaps. Known once the stream was synchronised.
  [[nodiscard]] bool has_timed_out() const;

  struct Gate;

 private:
  std::shared_ptr<Gate> gate_;
};

}  // namespace latpred::cuda
