#include "latpred/pinning.h"

#include <sched.h>

#include <algorithm>
#include <string>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

cpu_set_t read_mask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) {
    throw ProfilerError(
        concat("the system does not say which cores this thread may use; it knows more than ", CPU_SETSIZE, " cores"));
  }
  return mask;
}

bool allow(const std::vector<int>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

}  // namespace

std::vector<int> allowed_cores() {
  const cpu_set_t mask = read_mask();
  std::vector<int> result;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) result.push_back(core);
  }
  return result;
}

PinnedThread::PinnedThread(int core) : before_(allowed_cores()), core_(core < 0 ? sched_getcpu() : core) {
  if (std::find(before_.begin(), before_.end(), core_) == before_.end() || !allow({core_})) {
    std::vector<std::string> valid;
    for (const int allowed : before_) valid.push_back(std::to_string(allowed));
    throw ProfilerError(concat("this thread cannot be kept on core ", core_, "; it may use: ", join(valid)),
                        {.valid = valid});
  }
}

PinnedThread::~PinnedThread() { allow(before_); }

}  // namespace latpred
