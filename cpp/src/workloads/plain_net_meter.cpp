#include "workloads/plain_net_meter.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <optional>
#include <utility>

#include "batch/torch_error.h"
#include "latpred/error.h"
#include "latpred/host_clock.h"
#include "latpred/pinning.h"
#include "latpred/text.h"
#include "workloads/plain_net.h"
#include "workloads/weight_pool.h"

namespace latpred {
namespace {

// LibTorch's number of threads belongs to the process: it is given back.
class Threads {
 public:
  explicit Threads(std::int64_t count) : before_(at::get_num_threads()) {
    if (count < 1) throw InvalidArgumentError(concat("threads must be an integer >= 1, got ", count));
    at::set_num_threads(static_cast<int>(count));
  }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// LibTorch's layers wait for nothing on one thread. Where the core was given away all the same, the system did it (a
// page was missing): to be told from work, as any other switch is.
class ComputingClock : public HostClock {
 public:
  [[nodiscard]] Sample stop() override {
    Sample sample = HostClock::stop();
    sample.context_switches += std::exchange(sample.waits, 0);
    return sample;
  }
};

Measurement measure_net(const PlainNetSizes& sizes, std::int64_t batch, const Protocol& protocol, WeightPool& pool,
                        Clock& clock) {
  const PlainNet net(sizes, batch, pool);
  // The output is freed inside the time, as it is between a user's calls.
  Measurement measurement = measure([&net] { static_cast<void>(net.run()); }, protocol, clock);
  measurement.versions.emplace_back("torch", TORCH_VERSION);
  return measurement;
}

}  // namespace

PlainNetMeter::PlainNetMeter(std::int64_t pool_bytes)
    : pool_(with_short_errors([pool_bytes] { return std::make_unique<WeightPool>(pool_bytes); })) {}

PlainNetMeter::~PlainNetMeter() = default;
PlainNetMeter::PlainNetMeter(PlainNetMeter&&) noexcept = default;
PlainNetMeter& PlainNetMeter::operator=(PlainNetMeter&&) noexcept = default;

std::vector<Measurement> PlainNetMeter::measure(const std::vector<PlainNetSizes>& nets, std::int64_t batch,
                                                const Protocol& protocol, int core,
                                                const std::function<void()>& between) {
  const Threads threads(protocol.threads);
  std::optional<PinnedThread> pinned;
  if (protocol.threads == 1) pinned.emplace(core);
  ComputingClock clock;
  std::vector<Measurement> measurements;
  measurements.reserve(nets.size());
  for (const PlainNetSizes& sizes : nets) {
    if (between) between();
    measurements.push_back(with_short_errors([&] { return measure_net(sizes, batch, protocol, *pool_, clock); }));
  }
  return measurements;
}

std::int64_t PlainNetMeter::pool_bytes() const { return pool_->size_bytes(); }

}  // namespace latpred
