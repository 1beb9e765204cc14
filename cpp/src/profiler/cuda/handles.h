#pragma once

#include <memory>

#include "profiler/cuda/driver.h"

// Owners of the driver's handles. Their destructors cannot report: what made a release fail fails the next call too.
namespace latpred::cuda {

// The context that PyTorch and the CUDA runtime use as well: retained, never reset.
class PrimaryContext {
 public:
  PrimaryContext(std::shared_ptr<const Driver> driver, Ordinal device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  [[nodiscard]] Context get() const noexcept { return context_; }

 private:
  std::shared_ptr<const Driver> driver_;
  Ordinal device_;
  Context context_ = nullptr;
};

// Makes a context the calling thread's for as long as this lives.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
};

// The three below belong to the context that is current when they are made.
class OwnedEvent {
 public:
  explicit OwnedEvent(std::shared_ptr<const Driver> driver);
  ~OwnedEvent();
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  [[nodiscard]] Event get() const noexcept { return event_; }

 private:
  std::shared_ptr<const Driver> driver_;
  Event event_ = nullptr;
};

class OwnedMemory {
 public:
  OwnedMemory(std::shared_ptr<const Driver> driver, Context context, std::size_t size_bytes);
  ~OwnedMemory();
  OwnedMemory(const OwnedMemory&) = delete;
  OwnedMemory& operator=(const OwnedMemory&) = delete;

  [[nodiscard]] Address get() const noexcept { return address_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

 private:
  std::shared_ptr<const Driver> driver_;
  Context context_;
  std::size_t size_bytes_;
  Address address_ = 0;
};

// The context of `stream`, which may be one of a green context; `primary` for the default stream. Throws ProfilerError
// where it belongs to another GPU.
[[nodiscard]] Context context_of(const Driver& driver, Stream stream, Context primary, Ordinal device);

}  // namespace latpred::cuda
