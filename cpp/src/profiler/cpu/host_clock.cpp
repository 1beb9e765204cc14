#include "latpred/host_clock.h"

#include <sys/resource.h>
#include <time.h>

#include "latpred/host_facts.h"

namespace latpred {
namespace {

constexpr double kNanosecond = 1e-9;

double read_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);  // cannot fail for these clocks
  return static_cast<double>(now.tv_sec) + kNanosecond * static_cast<double>(now.tv_nsec);
}

struct Switches {
  std::int64_t involuntary;
  std::int64_t voluntary;
};

Switches read_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nivcsw, usage.ru_nvcsw};
}

}  // namespace

// The wall clock is read last and first, so that the run is hardly longer for it: it needs no system call.
void HostClock::start() {
  const Switches switches = read_switches();
  involuntary_ = switches.involuntary;
  voluntary_ = switches.voluntary;
  cpu_s_ = read_s(CLOCK_THREAD_CPUTIME_ID);
  wall_s_ = read_s(CLOCK_MONOTONIC);
}

Sample HostClock::stop() {
  Sample sample;
  sample.wall_s = read_s(CLOCK_MONOTONIC) - wall_s_;
  sample.cpu_s = read_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s_;
  const Switches switches = read_switches();
  sample.context_switches = switches.involuntary - involuntary_;
  sample.waits = switches.voluntary - voluntary_;
  return sample;
}

double HostClock::now_s() { return read_s(CLOCK_MONOTONIC); }

std::string HostClock::name() const { return "CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, getrusage(RUSAGE_THREAD)"; }

std::string HostClock::device_fingerprint() const { return host_facts().fingerprint; }

}  // namespace latpred
