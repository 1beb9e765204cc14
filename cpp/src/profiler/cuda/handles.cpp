#include "profiler/cuda/handles.h"

#include <cstdint>
#include <utility>

#include "latpred/text.h"

namespace latpred::cuda {
namespace {

// CU_STREAM_PER_THREAD: the last of the handles that name a default stream (null, legacy, per thread).
constexpr std::uintptr_t kLastSpecialStream = 2;

}  // namespace

PrimaryContext::PrimaryContext(std::shared_ptr<const Driver> driver, Ordinal device)
    : driver_(std::move(driver)), device_(device) {
  driver_->cuDevicePrimaryCtxRetain(&context_, device_);
}

PrimaryContext::~PrimaryContext() { (void)driver_->cuDevicePrimaryCtxRelease.result(device_); }

CurrentContext::CurrentContext(const Driver& driver, Context context) : driver_(driver) {
  driver_.cuCtxPushCurrent(context);
}

CurrentContext::~CurrentContext() {
  Context context = nullptr;
  (void)driver_.cuCtxPopCurrent.result(&context);
}

OwnedEvent::OwnedEvent(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {
  driver_->cuEventCreate(&event_, kEventDefault);
}

OwnedEvent::~OwnedEvent() { (void)driver_->cuEventDestroy.result(event_); }

OwnedMemory::OwnedMemory(std::shared_ptr<const Driver> driver, Context context, std::size_t size_bytes)
    : driver_(std::move(driver)), context_(context), size_bytes_(size_bytes) {
  driver_->cuMemAlloc(&address_, size_bytes_);
}

OwnedMemory::~OwnedMemory() {
  if (driver_->cuCtxPushCurrent.result(context_) != kSuccess) return;
  (void)driver_->cuMemFree.result(address_);
  Context popped = nullptr;
  (void)driver_->cuCtxPopCurrent.result(&popped);
}

Context context_of(const Driver& driver, Stream stream, Context primary, Ordinal device) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= kLastSpecialStream) return primary;
  const CurrentContext current(driver, primary);
  Context context = nullptr;
  GreenContext green = nullptr;
  if (driver.cuStreamGetCtx_v2.is_there()) {
    driver.cuStreamGetCtx_v2(stream, &context, &green);
  } else {
    driver.cuStreamGetCtx(stream, &context);
  }
  if (green != nullptr) driver.cuCtxFromGreenCtx(&context, green);
  if (context == primary) return context;
  const CurrentContext of_stream(driver, context);
  Ordinal found = -1;
  driver.cuCtxGetDevice(&found);
  if (found != device) {
    throw ProfilerError(concat("the stream belongs to GPU ", found, ", expected one of GPU ", device,
                               "; open that GPU, or pass a stream of this one"));
  }
  return context;
}

}  // namespace latpred::cuda
