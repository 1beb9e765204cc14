#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "fake_state.h"

// The driver's functions with the driver's symbols. A release that fails releases all the same: the real driver reports
// errors of earlier work from any call.
namespace {

using fake::Context;
using fake::enter;
using fake::Event;
using fake::Graph;
using fake::Green;
using fake::kSuccess;
using fake::misuse;
using fake::stack;
using fake::state;
using fake::Stream;

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kInvalidHandle = 400;
constexpr int kCaptureUnsupported = 900;
constexpr int kCaptureInvalidated = 901;
[[maybe_unused]] constexpr int kInvalidConfiguration = 915;

struct SmResource {
  unsigned int sm_count, min_partition_size, alignment;
};
struct Resource {
  int type;
  unsigned char padding[92];
  SmResource sms;
  unsigned char oversize[36];
};
static_assert(sizeof(Resource) == 144, "as in NVIDIA's header");

bool is_device(int device) { return device >= 0 && device < state().control.device_count; }
bool has_context() { return !stack().empty(); }

template <typename Handle>
int release(std::set<Handle*>& live, void* handle, int& count, int result) {
  auto* typed = static_cast<Handle*>(handle);
  if (live.erase(typed) == 0) return misuse(kInvalidHandle);
  delete typed;
  --count;
  return result;
}

}  // namespace

FAKE_API int cuGetErrorName(int error, const char** text) {
  static const std::map<int, const char*> kNames = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {100, "CUDA_ERROR_NO_DEVICE"},
                                                    {201, "CUDA_ERROR_INVALID_CONTEXT"},
                                                    {400, "CUDA_ERROR_INVALID_HANDLE"},
                                                    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                    {801, "CUDA_ERROR_NOT_SUPPORTED"},
                                                    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                                                    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
  const auto found = kNames.find(error);
  *text = found == kNames.end() ? nullptr : found->second;
  return found == kNames.end() ? kInvalidValue : kSuccess;
}
FAKE_API int cuGetErrorString(int error, const char** text) {
  *text = error == 700 ? "an illegal memory access was encountered" : "a text of the driver";
  const char* name = nullptr;
  if (cuGetErrorName(error, &name) == kSuccess) return kSuccess;
  *text = nullptr;
  return kInvalidValue;
}
FAKE_API int cuInit(unsigned int) {
  ENTER(cuInit);
  return kSuccess;
}
FAKE_API int cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = state().control.cuda_version;
  return kSuccess;
}
FAKE_API int cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = state().control.device_count;
  return kSuccess;
}
FAKE_API int cuDeviceGet(int* device, int index) {
  ENTER(cuDeviceGet);
  *device = index;
  return is_device(index) ? kSuccess : kInvalidDevice;
}
FAKE_API int cuDeviceGetName(char* name, int length, int device) {
  ENTER(cuDeviceGetName);
  std::snprintf(name, static_cast<std::size_t>(length), "%s", state().control.name);
  return is_device(device) ? kSuccess : kInvalidDevice;
}
FAKE_API int cuDeviceGetAttribute(int* value, int which, int device) {
  ENTER(cuDeviceGetAttribute);
  const FakeDriver& control = state().control;
  const std::map<int, int> values = {{13, 1980000},
                                     {16, control.sms},
                                     {36, 3201000},
                                     {37, 6144},
                                     {38, control.l2_bytes},
                                     {75, control.compute_capability / 10},
                                     {76, control.compute_capability % 10}};
  *value = values.at(which);
  return is_device(device) ? kSuccess : kInvalidDevice;
}
FAKE_API int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = state().control.memory_bytes;
  return is_device(device) ? kSuccess : kInvalidDevice;
}
#ifdef FAKE_OLD_DRIVER
#define cuDeviceGetUuid_v2 cuDeviceGetUuid
#define cuEventElapsedTime_v2 cuEventElapsedTime
#endif
FAKE_API int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  ENTER(cuDeviceGetUuid_v2);
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(i * 16 + device);
  return is_device(device) ? kSuccess : kInvalidDevice;
}
FAKE_API int cuDeviceGetPCIBusId(char* text, int length, int device) {
  ENTER(cuDeviceGetPCIBusId);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", 27 + device);
  return is_device(device) ? kSuccess : kInvalidDevice;
}

FAKE_API int cuDevicePrimaryCtxRetain(Context** context, int device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (!is_device(device)) return misuse(kInvalidDevice);
  Context& primary = state().primaries[device];
  primary.device = device;
  primary.is_primary = true;
  ++state().primary_users[device];
  ++state().control.contexts;
  *context = &primary;
  return kSuccess;
}
FAKE_API int cuDevicePrimaryCtxRelease_v2(int device) {
  const int result = enter("cuDevicePrimaryCtxRelease_v2");
  if (state().primary_users[device] == 0) return misuse(kInvalidContext);
  --state().primary_users[device];
  --state().control.contexts;
  return result;
}
FAKE_API int cuDevicePrimaryCtxGetState(int device, unsigned int* flags, int* is_active) {
  ENTER(cuDevicePrimaryCtxGetState);
  *flags = 0;
  *is_active = state().primary_users[device] > 0 ? 1 : 0;
  return kSuccess;
}
FAKE_API int cuCtxPushCurrent_v2(Context* context) {
  ENTER(cuCtxPushCurrent_v2);
  if (context == nullptr) return misuse(kInvalidContext);
  stack().push_back(context);
  return kSuccess;
}
FAKE_API int cuCtxPopCurrent_v2(Context** context) {
  const int result = enter("cuCtxPopCurrent_v2");
  if (!has_context()) return misuse(kInvalidContext);
  *context = stack().back();
  stack().pop_back();
  return result;
}
FAKE_API int cuCtxGetDevice(int* device) {
  ENTER(cuCtxGetDevice);
  if (!has_context()) return misuse(kInvalidContext);
  *device = stack().back()->device;
  return kSuccess;
}

FAKE_API int cuStreamDestroy_v2(void* stream) {
  const int result = enter("cuStreamDestroy_v2");
  return release(fake::streams(), stream, state().control.streams, result);
}
FAKE_API int cuStreamSynchronize(void* handle) {
  ENTER(cuStreamSynchronize);
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr) return misuse(kInvalidHandle);
  if (stream->capture != nullptr) {
    stream->is_capture_broken = true;
    return kCaptureUnsupported;
  }
  fake::drain(*stream);
  state().control.host_s = std::max(state().control.host_s, stream->ready_s);
  return kSuccess;
}
FAKE_API int cuStreamGetCtx(void* handle, Context** context) {
  ENTER(cuStreamGetCtx);
  const Stream* stream = fake::find_stream(handle);
  if (stream == nullptr) return misuse(kInvalidHandle);
  *context = stream->context;
  return kSuccess;
}
FAKE_API int cuLaunchHostFunc(void* handle, void (*function)(void*), void* argument) {
  ENTER(cuLaunchHostFunc);
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr) return misuse(kInvalidHandle);
  fake::Operation operation;
  operation.function = function;
  operation.argument = argument;
  return fake::push(*stream, operation);
}

FAKE_API int cuEventCreate(Event** event, unsigned int) {
  ENTER(cuEventCreate);
  if (!has_context()) return misuse(kInvalidContext);
  *event = new Event;
  (*event)->context = stack().back();
  fake::events().insert(*event);
  ++state().control.events;
  return kSuccess;
}
FAKE_API int cuEventDestroy_v2(void* event) {
  const int result = enter("cuEventDestroy_v2");
  for (Stream* stream : fake::streams()) fake::drain(*stream);
  for (auto& entry : state().default_streams) fake::drain(entry.second);
  return release(fake::events(), event, state().control.events, result);
}
FAKE_API int cuEventRecord(Event* event, void* handle) {
  ENTER(cuEventRecord);
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr || fake::events().count(event) == 0) return misuse(kInvalidHandle);
  if (stream->context != event->context) return misuse(kInvalidHandle);
  fake::Operation operation;
  operation.event = event;
  return fake::push(*stream, operation);
}
FAKE_API int cuEventSynchronize(Event* event) {
  ENTER(cuEventSynchronize);
  if (fake::events().count(event) == 0) return misuse(kInvalidHandle);
  for (Stream* stream : fake::streams()) fake::drain(*stream);
  for (auto& entry : state().default_streams) fake::drain(entry.second);
  state().control.host_s = std::max(state().control.host_s, event->time_s);
  return kSuccess;
}
FAKE_API int cuEventElapsedTime_v2(float* milliseconds, Event* begin, Event* end) {
  ENTER(cuEventElapsedTime_v2);
  if (begin->time_s < 0 || end->time_s < 0) return kInvalidHandle;
  *milliseconds = static_cast<float>((end->time_s - begin->time_s) * 1e3);
  return kSuccess;
}

FAKE_API int cuMemAlloc_v2(unsigned long long* address, std::size_t size_bytes) {
  ENTER(cuMemAlloc_v2);
  if (!has_context()) return misuse(kInvalidContext);
  if (size_bytes > state().control.memory_bytes) return kOutOfMemory;
  *address = state().next_address;
  state().next_address += size_bytes;
  state().allocations[*address] = size_bytes;
  ++state().control.allocations;
  return kSuccess;
}
FAKE_API int cuMemFree_v2(unsigned long long address) {
  const int result = enter("cuMemFree_v2");
  if (!has_context() || state().allocations.erase(address) == 0) return misuse(kInvalidValue);
  --state().control.allocations;
  return result;
}
FAKE_API int cuMemsetD8Async(unsigned long long address, unsigned char, std::size_t size_bytes, void* handle) {
  ENTER(cuMemsetD8Async);
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr || state().allocations.count(address) == 0) return misuse(kInvalidValue);
  ++state().control.memsets;
  state().control.last_memset_bytes = size_bytes;
  fake::Operation operation;
  operation.seconds = static_cast<double>(size_bytes) / 4e12;
  return fake::push(*stream, operation);
}
FAKE_API int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  ENTER(cuMemGetInfo_v2);
  if (!has_context()) return misuse(kInvalidContext);
  *total_bytes = state().control.memory_bytes;
  *free_bytes = *total_bytes - state().control.context_bytes;
  return kSuccess;
}

FAKE_API int cuStreamBeginCapture_v2(void* handle, int) {
  ENTER(cuStreamBeginCapture_v2);
  if (handle == nullptr) return kCaptureUnsupported;
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr || stream->capture != nullptr) return misuse(kInvalidHandle);
  stream->capture = new Graph;
  stream->is_capture_broken = false;
  return kSuccess;
}
FAKE_API int cuStreamEndCapture(void* handle, Graph** graph) {
  const int result = enter("cuStreamEndCapture");
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr || stream->capture == nullptr) return misuse(kInvalidHandle);
  *graph = std::exchange(stream->capture, nullptr);
  if (result != kSuccess || stream->is_capture_broken) {
    delete *graph;
    *graph = nullptr;
    return result != kSuccess ? result : kCaptureInvalidated;
  }
  fake::graphs().insert(*graph);
  ++state().control.graphs;
  return kSuccess;
}
FAKE_API int cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  if (fake::graphs().count(graph) == 0) return misuse(kInvalidHandle);
  *exec = new Graph(*graph);
  fake::graph_execs().insert(*exec);
  ++state().control.graph_execs;
  return kSuccess;
}
FAKE_API int cuGraphGetNodes(Graph* graph, void**, std::size_t* count) {
  ENTER(cuGraphGetNodes);
  if (fake::graphs().count(graph) == 0) return misuse(kInvalidHandle);
  *count = graph->kernels.size();
  return kSuccess;
}
FAKE_API int cuGraphLaunch(Graph* exec, void* handle) {
  ENTER(cuGraphLaunch);
  Stream* stream = fake::find_stream(handle);
  if (stream == nullptr || fake::graph_execs().count(exec) == 0) return misuse(kInvalidHandle);
  fake::Operation operation;
  for (const double seconds : exec->kernels) operation.seconds += seconds;
  return fake::push(*stream, operation);
}
FAKE_API int cuGraphExecDestroy(void* exec) {
  const int result = enter("cuGraphExecDestroy");
  return release(fake::graph_execs(), exec, state().control.graph_execs, result);
}
FAKE_API int cuGraphDestroy(void* graph) {
  const int result = enter("cuGraphDestroy");
  return release(fake::graphs(), graph, state().control.graphs, result);
}

#ifndef FAKE_OLD_DRIVER
FAKE_API int cuStreamGetCtx_v2(void* handle, Context** context, Green** green) {
  ENTER(cuStreamGetCtx_v2);
  const Stream* stream = fake::find_stream(handle);
  if (stream == nullptr) return misuse(kInvalidHandle);
  *green = stream->context->green;
  *context = *green == nullptr ? stream->context : &state().primaries[stream->context->device];
  return kSuccess;
}
FAKE_API int cuDeviceGetDevResource(int device, Resource* resource, int type) {
  ENTER(cuDeviceGetDevResource);
  if (!is_device(device) || type != 1) return misuse(kInvalidValue);
  const auto step = static_cast<unsigned int>(state().control.sm_step);
  *resource = {};
  resource->type = type;
  resource->sms = {static_cast<unsigned int>(state().control.sms), step, step};
  return kSuccess;
}
FAKE_API int cuDevSmResourceSplitByCount(Resource* result, unsigned int* groups, const Resource* input, Resource* rest,
                                         unsigned int, unsigned int min_count) {
  ENTER(cuDevSmResourceSplitByCount);
  if (min_count == 0 || min_count * *groups > input->sms.sm_count) return misuse(kInvalidConfiguration);
  if (state().control.short_split != 0) --*groups;
  for (unsigned int i = 0; i < *groups; ++i) {
    result[i] = *input;
    result[i].sms.sm_count = min_count;
  }
  *rest = *input;
  rest->sms.sm_count -= min_count * *groups;
  return kSuccess;
}
FAKE_API int cuDevResourceGenerateDesc(void** description, Resource* resources, unsigned int count) {
  ENTER(cuDevResourceGenerateDesc);
  if (count != 1) return misuse(kInvalidConfiguration);
  state().descriptions.push_back(static_cast<int>(resources->sms.sm_count));
  *description = reinterpret_cast<void*>(state().descriptions.size());
  return kSuccess;
}
FAKE_API int cuGreenCtxCreate(Green** green, void* description, int device, unsigned int flags) {
  ENTER(cuGreenCtxCreate);
  const std::size_t number = reinterpret_cast<std::size_t>(description);
  if (number == 0 || number > state().descriptions.size() || flags != 1) return misuse(kInvalidValue);
  *green = new Green;
  (*green)->sms = state().descriptions[number - 1] - (state().control.short_grant != 0 ? 2 : 0);
  (*green)->context = std::make_unique<Context>();
  (*green)->context->device = device;
  (*green)->context->green = *green;
  fake::greens().insert(*green);
  ++state().control.green_contexts;
  return kSuccess;
}
FAKE_API int cuGreenCtxDestroy(void* green) {
  const int result = enter("cuGreenCtxDestroy");
  for (const Stream* stream : fake::streams()) {
    if (stream->context == static_cast<Green*>(green)->context.get()) return misuse(kInvalidContext);
  }
  return release(fake::greens(), green, state().control.green_contexts, result);
}
FAKE_API int cuCtxFromGreenCtx(Context** context, Green* green) {
  ENTER(cuCtxFromGreenCtx);
  if (fake::greens().count(green) == 0) return misuse(kInvalidContext);
  *context = green->context.get();
  return kSuccess;
}
FAKE_API int cuGreenCtxStreamCreate(Stream** stream, Green* green, unsigned int flags, int) {
  ENTER(cuGreenCtxStreamCreate);
  if (fake::greens().count(green) == 0 || flags != 1) return misuse(kInvalidContext);
  *stream = new Stream;
  (*stream)->context = green->context.get();
  fake::streams().insert(*stream);
  ++state().control.streams;
  return kSuccess;
}
FAKE_API int cuGreenCtxGetDevResource(Green* green, Resource* resource, int type) {
  ENTER(cuGreenCtxGetDevResource);
  if (fake::greens().count(green) == 0) return misuse(kInvalidContext);
  *resource = {};
  resource->type = type;
  resource->sms.sm_count = static_cast<unsigned int>(green->sms);
  return kSuccess;
}
#endif
