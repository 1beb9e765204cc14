#include <chrono>
#include <optional>
#include <utility>

#include "latpred/text.h"
#include "profiler/cuda/gpu_parts.h"
#include "profiler/cuda/stream_block.h"

namespace latpred {
namespace {

constexpr double kSecondsPerMillisecond = 1e-3;
// The cache does not replace its lines in strict order: twice its size leaves nothing of before.
constexpr std::int64_t kFlushShare = 2;
// NVML takes up to a millisecond to answer: asked more often, it would be most of what short samples do.
constexpr double kReasonInterval_s = 0.05;

// A first run may load its kernels, which waits for the GPU; a second time-out means that the workload itself waits.
constexpr int kMaxBlockTimeouts = 2;

double steady_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

struct CudaClock::Parts {
  Parts(std::shared_ptr<const Gpu::Parts> owner, const CudaClockOptions& wanted)
      : gpu(std::move(owner)),
        options(wanted),
        stream(stream_of(wanted.stream)),
        context(cuda::context_of(*gpu->driver, stream, gpu->context->get(), gpu->device)) {
    const cuda::CurrentContext current(*gpu->driver, context);
    begin.emplace(gpu->driver);
    end.emplace(gpu->driver);
    if (!options.flush_l2) return;
    if (!gpu->facts.l2_bytes) {
      throw ProfilerError(concat("the driver does not say how large the L2 cache of ", gpu->facts.name,
                                 " is, so it cannot be flushed; measure without flush_l2"));
    }
    flush.emplace(gpu->driver, context, static_cast<std::size_t>(kFlushShare * *gpu->facts.l2_bytes));
  }

  void note_reasons() {
    if (!gpu->nvml) return;
    last_reasons_s = steady_s();
    if (const auto now = gpu->nvml->clock_reasons()) reasons |= *now;
  }
  void note_reasons_if_due() {
    if (steady_s() - last_reasons_s > kReasonInterval_s) note_reasons();
  }

  std::shared_ptr<const Gpu::Parts> gpu;
  CudaClockOptions options;
  cuda::Stream stream;
  cuda::Context context;
  std::optional<cuda::OwnedEvent> begin;
  std::optional<cuda::OwnedEvent> end;
  std::optional<cuda::OwnedMemory> flush;
  std::optional<cuda::StreamBlock> block;
  int block_timeouts = 0;
  std::uint64_t reasons = 0;
  double last_reasons_s = -1;
};

CudaClock::CudaClock(const Gpu& gpu, const CudaClockOptions& options) {
  if (!(options.block_timeout_s > 0)) {
    throw InvalidArgumentError(concat("block_timeout_s must be > 0, got ", options.block_timeout_s));
  }
  parts_ = std::make_unique<Parts>(gpu.parts_, options);
}

// An error may have left work behind the block, which opens with it.
CudaClock::~CudaClock() = default;

void CudaClock::start() {
  Parts& parts = *parts_;
  const cuda::Driver& driver = *parts.gpu->driver;
  const cuda::CurrentContext current(driver, parts.context);
  parts.note_reasons_if_due();
  parts.block.reset();
  if (parts.flush) driver.cuMemsetD8Async(parts.flush->get(), 0, parts.flush->size_bytes(), parts.stream);
  if (parts.options.block_stream && parts.block_timeouts < kMaxBlockTimeouts) {
    parts.block.emplace(driver, parts.stream, parts.options.block_timeout_s);
  }
  driver.cuEventRecord(parts.begin->get(), parts.stream);
}

Sample CudaClock::stop() {
  Parts& parts = *parts_;
  const cuda::Driver& driver = *parts.gpu->driver;
  const cuda::CurrentContext current(driver, parts.context);
  driver.cuEventRecord(parts.end->get(), parts.stream);
  if (parts.block) parts.block->release();
  parts.note_reasons_if_due();  // now, while the GPU is at work
  driver.cuEventSynchronize(parts.end->get());
  float milliseconds = 0;
  driver.cuEventElapsedTime(&milliseconds, parts.begin->get(), parts.end->get());
  if (parts.block && parts.block->has_timed_out()) ++parts.block_timeouts;
  parts.block.reset();
  Sample sample;
  sample.wall_s = milliseconds * kSecondsPerMillisecond;
  return sample;
}

double CudaClock::now_s() { return steady_s(); }

std::string CudaClock::name() const {
  return concat("CUDA events", parts_->options.block_stream ? ", stream blocked until all was queued" : "",
                parts_->block_timeouts >= kMaxBlockTimeouts ? ", given up because the workload waits" : "",
                parts_->options.flush_l2 ? ", L2 flushed" : "");
}

std::string CudaClock::device_fingerprint() const { return parts_->gpu->facts.fingerprint; }

int CudaClock::block_timeouts() const { return parts_->block_timeouts; }

std::vector<std::string> CudaClock::throttle_reasons() const {
  parts_->note_reasons();
  return nvml::reason_names(parts_->reasons, true);
}

}  // namespace latpred
