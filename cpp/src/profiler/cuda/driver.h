#pragma once

#include <memory>
#include <string>

#include "profiler/cuda/driver_types.h"
#include "profiler/found_library.h"

namespace latpred::cuda {

// The CUDA driver. Members carry NVIDIA's names, so that NVIDIA's manual is theirs; the string is the symbol that the
// C header's macros stand for, which is not always the same.
struct Driver : FoundLibrary {
  static constexpr Words kWords{
      "NVIDIA's CUDA driver",
      "install the driver, or give the container access to the GPU; without one latpred predicts GPUs but measures the "
      "CPU only"};

  explicit Driver(const std::string& path);
  [[noreturn]] void fail(const char* function, int code) const override;

  LibraryFunction<int, const char**> cuGetErrorName{*this, "cuGetErrorName"};
  LibraryFunction<int, const char**> cuGetErrorString{*this, "cuGetErrorString"};
  LibraryFunction<unsigned int> cuInit{*this, "cuInit"};
  LibraryFunction<int*> cuDriverGetVersion{*this, "cuDriverGetVersion"};

  LibraryFunction<int*> cuDeviceGetCount{*this, "cuDeviceGetCount"};
  LibraryFunction<Ordinal*, int> cuDeviceGet{*this, "cuDeviceGet"};
  LibraryFunction<char*, int, Ordinal> cuDeviceGetName{*this, "cuDeviceGetName"};
  LibraryFunction<int*, int, Ordinal> cuDeviceGetAttribute{*this, "cuDeviceGetAttribute"};
  LibraryFunction<std::size_t*, Ordinal> cuDeviceTotalMem{*this, "cuDeviceTotalMem_v2"};
  LibraryFunction<Uuid*, Ordinal> cuDeviceGetUuid{*this, "cuDeviceGetUuid_v2", nullptr, "cuDeviceGetUuid"};
  LibraryFunction<char*, int, Ordinal> cuDeviceGetPCIBusId{*this, "cuDeviceGetPCIBusId"};

  LibraryFunction<Context*, Ordinal> cuDevicePrimaryCtxRetain{*this, "cuDevicePrimaryCtxRetain"};
  LibraryFunction<Ordinal> cuDevicePrimaryCtxRelease{*this, "cuDevicePrimaryCtxRelease_v2"};
  LibraryFunction<Ordinal, unsigned int*, int*> cuDevicePrimaryCtxGetState{*this, "cuDevicePrimaryCtxGetState"};
  LibraryFunction<Context> cuCtxPushCurrent{*this, "cuCtxPushCurrent_v2"};
  LibraryFunction<Context*> cuCtxPopCurrent{*this, "cuCtxPopCurrent_v2"};
  LibraryFunction<Ordinal*> cuCtxGetDevice{*this, "cuCtxGetDevice"};

  LibraryFunction<Stream> cuStreamDestroy{*this, "cuStreamDestroy_v2"};
  LibraryFunction<Stream> cuStreamSynchronize{*this, "cuStreamSynchronize"};
  LibraryFunction<Stream, Context*> cuStreamGetCtx{*this, "cuStreamGetCtx"};
  LibraryFunction<Stream, Context*, GreenContext*> cuStreamGetCtx_v2{*this, "cuStreamGetCtx_v2", "CUDA 12.5"};
  LibraryFunction<Stream, HostFunction, void*> cuLaunchHostFunc{*this, "cuLaunchHostFunc"};

  LibraryFunction<Event*, unsigned int> cuEventCreate{*this, "cuEventCreate"};
  LibraryFunction<Event> cuEventDestroy{*this, "cuEventDestroy_v2"};
  LibraryFunction<Event, Stream> cuEventRecord{*this, "cuEventRecord"};
  LibraryFunction<Event> cuEventSynchronize{*this, "cuEventSynchronize"};
  LibraryFunction<float*, Event, Event> cuEventElapsedTime{*this, "cuEventElapsedTime_v2", nullptr,
                                                           "cuEventElapsedTime"};

  LibraryFunction<Address*, std::size_t> cuMemAlloc{*this, "cuMemAlloc_v2"};
  LibraryFunction<Address> cuMemFree{*this, "cuMemFree_v2"};
  LibraryFunction<Address, unsigned char, std::size_t, Stream> cuMemsetD8Async{*this, "cuMemsetD8Async"};
  LibraryFunction<std::size_t*, std::size_t*> cuMemGetInfo{*this, "cuMemGetInfo_v2"};

  LibraryFunction<Stream, int> cuStreamBeginCapture{*this, "cuStreamBeginCapture_v2"};
  LibraryFunction<Stream, Graph*> cuStreamEndCapture{*this, "cuStreamEndCapture"};
  LibraryFunction<GraphExec*, Graph, unsigned long long> cuGraphInstantiate{*this, "cuGraphInstantiateWithFlags",
                                                                            "CUDA 11.4"};
  LibraryFunction<Graph, GraphNode*, std::size_t*> cuGraphGetNodes{*this, "cuGraphGetNodes"};
  LibraryFunction<GraphExec, Stream> cuGraphLaunch{*this, "cuGraphLaunch"};
  LibraryFunction<GraphExec> cuGraphExecDestroy{*this, "cuGraphExecDestroy"};
  LibraryFunction<Graph> cuGraphDestroy{*this, "cuGraphDestroy"};

  LibraryFunction<Ordinal, DeviceResource*, int> cuDeviceGetDevResource{*this, "cuDeviceGetDevResource", kGreen};
  LibraryFunction<DeviceResource*, unsigned int*, const DeviceResource*, DeviceResource*, unsigned int, unsigned int>
      cuDevSmResourceSplitByCount{*this, "cuDevSmResourceSplitByCount", kGreen};
  LibraryFunction<ResourceDescription*, DeviceResource*, unsigned int> cuDevResourceGenerateDesc{
      *this, "cuDevResourceGenerateDesc", kGreen};
  LibraryFunction<GreenContext*, ResourceDescription, Ordinal, unsigned int> cuGreenCtxCreate{*this, "cuGreenCtxCreate",
                                                                                              kGreen};
  LibraryFunction<GreenContext> cuGreenCtxDestroy{*this, "cuGreenCtxDestroy", kGreen};
  LibraryFunction<Context*, GreenContext> cuCtxFromGreenCtx{*this, "cuCtxFromGreenCtx", kGreen};
  LibraryFunction<Stream*, GreenContext, unsigned int, int> cuGreenCtxStreamCreate{*this, "cuGreenCtxStreamCreate",
                                                                                   "CUDA 12.5"};
  LibraryFunction<GreenContext, DeviceResource*, int> cuGreenCtxGetDevResource{*this, "cuGreenCtxGetDevResource",
                                                                               kGreen};

 private:
  static constexpr const char* kGreen = "CUDA 12.4";
};

// Opened and initialised; throws ProfilerError with the reason where CUDA cannot be used.
[[nodiscard]] std::shared_ptr<const Driver> open_driver(const std::string& path);

}  // namespace latpred::cuda
