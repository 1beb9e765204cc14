#pragma once

#include <cstddef>
#include <cstdint>

// What the CUDA driver's functions take, declared by hand so that no toolkit is needed to build. Layouts and numbers
// are those of the driver's stable interface; a test compares them with NVIDIA's header where there is one.
namespace latpred::cuda {

using Ordinal = int;                 // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using GraphExec = struct GraphExecObject*;
using GreenContext = struct GreenContextObject*;
using ResourceDescription = struct ResourceDescriptionObject*;
using HostFunction = void (*)(void*);

struct Uuid {
  unsigned char bytes[16];
};

// CUdevResource: a part of a GPU; `sms` where the type is kSmResource.
struct SmResource {
  unsigned int sm_count;
  unsigned int min_partition_size;  // 0 where the driver is too old to say
  unsigned int coscheduled_alignment;
};
struct DeviceResource {
  int type;
  unsigned char padding[92];
  union {
    SmResource sms;
    alignas(8) unsigned char oversize[48];
  };
};

// Results that have a meaning here.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kNoDevice = 100;

// CUdevice_attribute
inline constexpr int kClockRate = 13;  // kHz
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kMemoryClockRate = 36;  // kHz
inline constexpr int kMemoryBusWidth = 37;   // bits
inline constexpr int kL2CacheSize = 38;      // bytes
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;

inline constexpr unsigned int kEventDefault = 0;               // spins while waiting, takes time stamps
inline constexpr unsigned int kStreamNonBlocking = 1;          // does not wait for the default stream
inline constexpr int kCaptureThreadLocal = 1;                  // other threads may go on using the GPU meanwhile
inline constexpr int kSmResource = 1;                          // CU_DEV_RESOURCE_TYPE_SM
inline constexpr unsigned int kGreenContextDefaultStream = 1;  // required

}  // namespace latpred::cuda
