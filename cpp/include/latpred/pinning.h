#pragma once

#include <vector>

namespace latpred {

// Cores that the calling thread may run on, ascending.
[[nodiscard]] std::vector<int> allowed_cores();

// Keeps the calling thread on one core while it lives, then gives back the cores that were allowed before. To be
// destroyed on the thread that made it.
class PinnedThread {
 public:
  // core -1: the one that the thread runs on now. Throws ProfilerError with the allowed cores for another one.
  explicit PinnedThread(int core = -1);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

  [[nodiscard]] int core() const { return core_; }

 private:
  std::vector<int> before_;
  int core_;
};

}  // namespace latpred
