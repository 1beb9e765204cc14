#include "profiler/cuda/driver.h"

#include "latpred/text.h"

namespace latpred::cuda {
namespace {

struct Advice {
  int first;  // CUresult, both ends included
  int last;
  const char* text;
};

// What a user can do, by the codes that users meet; the last row is for all others.
constexpr Advice kAdvice[] = {
    {1, 1, "an argument was refused: check that the stream handle is one of this process and still alive"},
    {2, 2, "free memory on the GPU, or take a smaller batch"},
    {3, 4, "the driver is shutting down or was never started: measure before the process exits"},
    {34, 34, "a stub library was found instead of the driver: take the CUDA toolkit's stubs off the library path"},
    {36, 36, "install a newer NVIDIA driver"},
    {46, 46, "another process holds the GPU exclusively: wait for it or choose another GPU"},
    {100, 101, "check with nvidia-smi that there is a GPU, and that CUDA_VISIBLE_DEVICES does not hide it"},
    {201, 201, "the stream or event belongs to another context: pass a stream of the same GPU"},
    {214, 214, "the GPU's memory has a fault: restart the machine"},
    {304, 304, "the kernel module did not answer: check nvidia-smi and the device files' permissions"},
    {400, 400, "check that the stream handle is one of this process and still alive"},
    {700, 702, "a kernel broke the context, which stays broken: start a new process"},
    {710, 710, "a kernel's assertion broke the context, which stays broken: start a new process"},
    {714, 719, "a kernel broke the context, which stays broken: start a new process"},
    {801, 801, "this GPU or driver cannot do it"},
    {802, 804, "the driver's library and kernel module do not fit: restart the machine after the driver's update"},
    {805, 810, "the MPS server refused: check nvidia-cuda-mps-control"},
    {900, 908, "something was called during capture that a graph cannot hold, or on the default stream"},
    {914, 915, "ask for a number of SMs that partition_sizes() lists"},
    {0, 1 << 30, "see this function in the CUDA driver API's manual, and whether nvidia-smi still answers"},
};

const char* advice(int code) {
  for (const Advice& row : kAdvice) {
    if (code >= row.first && code <= row.last) return row.text;
  }
  return "";
}

}  // namespace

Driver::Driver(const std::string& path) : FoundLibrary(path, kWords) {}

void Driver::fail(const char* function, int code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  // Codes that this driver does not know leave the pointers null.
  if (cuGetErrorName.result(code, &name) != kSuccess) name = nullptr;
  if (cuGetErrorString.result(code, &text) != kSuccess) text = nullptr;
  throw ProfilerError(concat(function, " failed with ", name == nullptr ? "an unknown error" : name, " (", code, ")",
                             text == nullptr ? "" : ": ", text == nullptr ? "" : text, "; ", advice(code)));
}

std::shared_ptr<const Driver> open_driver(const std::string& path) {
  auto driver = std::make_shared<const Driver>(path);
  driver->cuInit(0);
  int count = 0;
  driver->cuDeviceGetCount(&count);
  if (count == 0) driver->fail("cuDeviceGetCount", kNoDevice);
  return driver;
}

}  // namespace latpred::cuda
