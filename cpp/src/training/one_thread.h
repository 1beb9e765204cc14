#pragma once

#include <ATen/Parallel.h>

namespace latpred {

// LibTorch on one thread as long as this lives. Steps are short: on a busy machine threads wait for one another ten
// times as long as they work, and sums in another order would give other numbers.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace latpred
