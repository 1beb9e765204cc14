#include <cmath>
#include <cstdio>
#include <cstring>

#include "fake_state.h"

// The management library's functions over the same virtual time and memory.
namespace {

using fake::enter;
using fake::kSuccess;
using fake::state;

constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

struct Memory {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance, compute_instance;
};

unsigned long long used_bytes() { return state().control.contexts > 0 ? state().control.context_bytes : 0; }

int value(const char* function, unsigned int* out, double number) {
  if (const int code = enter(function); code != kSuccess) return code;
  *out = static_cast<unsigned int>(number);
  return kSuccess;
}

}  // namespace

FAKE_API const char* nvmlErrorString(int code) { return code == 3 ? "Not Supported" : "a text of NVML"; }
FAKE_API int nvmlInit_v2() {
  ENTER(nvmlInit_v2);
  ++state().control.nvml_users;
  return kSuccess;
}
FAKE_API int nvmlShutdown() {
  const int result = enter("nvmlShutdown");
  --state().control.nvml_users;
  return result;
}
FAKE_API int nvmlSystemGetDriverVersion(char* text, unsigned int length) {
  ENTER(nvmlSystemGetDriverVersion);
  std::snprintf(text, length, "580.95.05");
  return kSuccess;
}
FAKE_API int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  ENTER(nvmlDeviceGetHandleByUUID);
  if (state().control.nvml_users == 0) return kUninitialized;
  const bool is_ours = std::strncmp(uuid, "GPU-00102030-", 13) == 0 || std::strncmp(uuid, "MIG-00102030-", 13) == 0;
  if (!is_ours || state().control.shows_uuid == 0) return kNotFound;
  *device = &state();
  return kSuccess;
}
FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  ENTER(nvmlDeviceGetHandleByPciBusId_v2);
  if (std::strncmp(bus_id, "0000:", 5) != 0) return kInvalidArgument;
  *device = &state();
  return kSuccess;
}
FAKE_API int nvmlDeviceGetClockInfo(void*, int type, unsigned int* mhz) {
  return value("nvmlDeviceGetClockInfo", mhz, type == 1 ? 1980 : 3201);
}
FAKE_API int nvmlDeviceGetTemperature(void*, int, unsigned int* celsius) {
  return value("nvmlDeviceGetTemperature", celsius, 41);
}
FAKE_API int nvmlDeviceGetPowerUsage(void*, unsigned int* milliwatts) {
  return value("nvmlDeviceGetPowerUsage", milliwatts, state().control.power_w * 1e3);
}
FAKE_API int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned int* milliwatts) {
  return value("nvmlDeviceGetEnforcedPowerLimit", milliwatts, 700e3);
}
FAKE_API int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  ENTER(nvmlDeviceGetTotalEnergyConsumption);
  const FakeDriver& control = state().control;
  const double ticks = control.energy_tick_s > 0 ? std::floor(control.host_s / control.energy_tick_s) : 0;
  *millijoules = static_cast<unsigned long long>(std::llround(ticks * control.energy_tick_s * control.power_w * 1e3));
  return kSuccess;
}
FAKE_API int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, Process* processes) {
  ENTER(nvmlDeviceGetComputeRunningProcesses_v3);
  const unsigned int running = state().control.visible_pid != 0 ? 2 : 0;
  if (*count < running) {
    *count = running;
    return kInsufficientSize;
  }
  *count = running;
  if (running == 0) return kSuccess;
  processes[0] = {1, 7777, 0, 0};
  processes[1] = {state().control.visible_pid, used_bytes(), 0, 0};
  return kSuccess;
}
#ifdef FAKE_OLD_DRIVER
#define nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
#else
FAKE_API int nvmlDeviceGetMemoryInfo_v2(void*, Memory* memory) {
  ENTER(nvmlDeviceGetMemoryInfo_v2);
  if (memory->version != (sizeof(Memory) | (2U << 24))) return kInvalidArgument;
  memory->total = state().control.memory_bytes;
  memory->reserved = 600ULL << 20;
  memory->used = used_bytes();
  memory->free = memory->total - memory->used - memory->reserved;
  return kSuccess;
}
#endif
FAKE_API int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  ENTER(nvmlDeviceGetCurrentClocksEventReasons);
  *reasons = state().control.clock_reasons;
  return kSuccess;
}
