// The shared library that INTEL_LIBITTNOTIFY64 names. OpenVINO loads it and reports each node that its CPU plugin
// executes; Python reads the log with the functions below. C linkage: both find them by name.
#include <algorithm>

#include "itt/ittnotify.h"
#include "itt/task_log.h"

#define LATPRED_EXPORT extern "C" __attribute__((visibility("default")))

using latpred::itt::TaskRecord;

// Called by ITT's static part, once for each library that has it.
LATPRED_EXPORT void __itt_api_init(latpred::itt::Global* global, unsigned /*groups*/) {
  if (global != nullptr) latpred::itt::install(*global);
}

LATPRED_EXPORT void latpred_itt_start() { latpred::itt::start(); }

LATPRED_EXPORT void latpred_itt_stop() { latpred::itt::stop(); }

LATPRED_EXPORT std::int64_t latpred_itt_clock_overhead_ns() { return latpred::itt::clock_overhead_ns(); }

// Copies at most `capacity` records and returns how many there are.
LATPRED_EXPORT std::int64_t latpred_itt_records(TaskRecord* out, std::int64_t capacity) {
  const std::vector<TaskRecord> records = latpred::itt::records();
  const auto count = static_cast<std::int64_t>(records.size());
  std::copy_n(records.begin(), std::min(count, capacity), out);
  return count;
}

// Copies at most `capacity` bytes of the name, without a closing zero, and returns its length.
LATPRED_EXPORT std::int64_t latpred_itt_name(std::int32_t index, char* out, std::int64_t capacity) {
  const std::string name = latpred::itt::name_of(index);
  const auto length = static_cast<std::int64_t>(name.size());
  std::copy_n(name.begin(), std::min(length, capacity), out);
  return length;
}
