#pragma once

#include <cstdint>
#include <string>
#include <vector>

// One log for the process: tasks of any number of threads, in memory.
namespace latpred::itt {

// One executed task. Python reads an array of these through ctypes: change both sides together.
struct TaskRecord {
  std::int64_t begin_ns;  // monotonic clock
  std::int64_t wall_ns;
  std::int64_t cpu_ns;  // of the thread that ran the task: less than wall_ns where it was preempted
  std::int32_t name;    // of name_of()
  std::int32_t depth;   // 0: inside no other task
};

// Remembers a name for good; equal names get equal indices.
std::int32_t intern(const std::string& name);
[[nodiscard]] std::string name_of(std::int32_t index);  // empty: no such name

void start();  // forgets earlier records
void stop();

void begin(std::int32_t name);
void end();

// Of all threads, by begin. To be called while nothing runs.
[[nodiscard]] std::vector<TaskRecord> records();

// What reading the clocks adds to the cpu_ns of a task: the median of empty ones. Forgets earlier records.
[[nodiscard]] std::int64_t clock_overhead_ns();

}  // namespace latpred::itt
