#include "profiler/cuda/stream_block.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

namespace latpred::cuda {

struct StreamBlock::Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::duration<double> timeout{0};
  bool is_open = false;
  bool has_timed_out = false;
};

namespace {

// Gates that the driver may still call. A gate whose stream broke before it was called stays here for ever: the driver
// does not say that it never will.
struct Pending {
  std::mutex mutex;
  std::set<std::shared_ptr<StreamBlock::Gate>> gates;
};

Pending& pending() {
  static Pending& instance = *new Pending;  // never destroyed: the driver's threads may outlive static objects
  return instance;
}

void forget(const std::shared_ptr<StreamBlock::Gate>& gate) {
  const std::lock_guard lock(pending().mutex);
  pending().gates.erase(gate);
}

// Called by the driver when the stream comes to the block. It must not call the driver.
void wait_at(void* argument) {
  std::shared_ptr<StreamBlock::Gate> gate;
  {
    const std::lock_guard lock(pending().mutex);
    for (const auto& known : pending().gates) {
      if (known.get() == argument) gate = known;
    }
  }
  if (gate == nullptr) return;
  {
    std::unique_lock lock(gate->mutex);
    gate->has_timed_out = !gate->changed.wait_for(lock, gate->timeout, [&] { return gate->is_open; });
  }
  forget(gate);
}

}  // namespace

StreamBlock::StreamBlock(const Driver& driver, Stream stream, double timeout_s) : gate_(std::make_shared<Gate>()) {
  gate_->timeout = std::chrono::duration<double>(timeout_s);
  {
    const std::lock_guard lock(pending().mutex);
    pending().gates.insert(gate_);
  }
  try {
    driver.cuLaunchHostFunc(stream, &wait_at, gate_.get());
  } catch (...) {
    forget(gate_);
    throw;
  }
}

StreamBlock::~StreamBlock() { release(); }

void StreamBlock::release() noexcept {
  {
    const std::lock_guard lock(gate_->mutex);
    gate_->is_open = true;
  }
  gate_->changed.notify_all();
}

bool StreamBlock::has_timed_out() const {
  const std::lock_guard lock(gate_->mutex);
  return gate_->has_timed_out;
}

}  // namespace latpred::cuda
