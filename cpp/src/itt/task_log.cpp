#include "itt/task_log.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace latpred::itt {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
// A network of a thousand kernels run sixty times, without growing while the clock runs.
constexpr std::size_t kReservedRecords = std::size_t{1} << 16;
constexpr int kOverheadTasks = 1001;

struct OpenTask {
  std::int64_t wall_ns;
  std::int64_t cpu_ns;
  std::int32_t name;
};

struct ThreadLog {
  std::uint64_t session = 0;  // the start() that its records belong to
  std::vector<OpenTask> open;
  std::vector<TaskRecord> done;
};

struct Log {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadLog>> threads;
  std::unordered_map<std::string, std::int32_t> index_of;
  std::vector<std::string> names;
  std::atomic<std::uint64_t> session{0};
  std::atomic<bool> is_recording{false};
};

// Never destroyed: OpenVINO's threads may still end tasks while the process is being left.
Log& log() {
  static Log* const kept = new Log;
  return *kept;
}

std::int64_t now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNanosecondsPerSecond + time.tv_nsec;
}

ThreadLog& log_of_this_thread() {
  thread_local ThreadLog* own = nullptr;
  if (own == nullptr) {
    auto made = std::make_unique<ThreadLog>();
    made->done.reserve(kReservedRecords);
    own = made.get();
    const std::lock_guard lock(log().mutex);
    log().threads.push_back(std::move(made));
  }
  const std::uint64_t session = log().session.load(std::memory_order_acquire);
  if (own->session != session) {
    own->session = session;
    own->open.clear();
    own->done.clear();
  }
  return *own;
}

bool is_recording() { return log().is_recording.load(std::memory_order_acquire); }

}  // namespace

std::int32_t intern(const std::string& name) {
  const std::lock_guard lock(log().mutex);
  const auto [found, is_new] = log().index_of.try_emplace(name, static_cast<std::int32_t>(log().names.size()));
  if (is_new) log().names.push_back(name);
  return found->second;
}

std::string name_of(std::int32_t index) {
  const std::lock_guard lock(log().mutex);
  const auto at = static_cast<std::size_t>(index);
  return index >= 0 && at < log().names.size() ? log().names[at] : std::string();
}

void start() {
  log().session.fetch_add(1, std::memory_order_release);
  log().is_recording.store(true, std::memory_order_release);
}

void stop() { log().is_recording.store(false, std::memory_order_release); }

// The thread's clock is a system call, the wall clock is none: it is read inside, so that wall_ns holds neither.
void begin(std::int32_t name) {
  if (!is_recording()) return;
  ThreadLog& own = log_of_this_thread();
  const std::int64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  own.open.push_back({now_ns(CLOCK_MONOTONIC), cpu_ns, name});
}

void end() {
  if (!is_recording()) return;
  const std::int64_t wall_ns = now_ns(CLOCK_MONOTONIC);
  const std::int64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  ThreadLog& own = log_of_this_thread();
  if (own.open.empty()) return;  // begun before start()
  const OpenTask task = own.open.back();
  own.open.pop_back();
  const auto depth = static_cast<std::int32_t>(own.open.size());
  own.done.push_back({task.wall_ns, wall_ns - task.wall_ns, cpu_ns - task.cpu_ns, task.name, depth});
}

std::vector<TaskRecord> records() {
  const std::lock_guard lock(log().mutex);
  const std::uint64_t session = log().session.load(std::memory_order_acquire);
  std::vector<TaskRecord> found;
  for (const auto& thread : log().threads) {
    if (thread->session == session) found.insert(found.end(), thread->done.begin(), thread->done.end());
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const TaskRecord& a, const TaskRecord& b) { return a.begin_ns < b.begin_ns; });
  return found;
}

std::int64_t clock_overhead_ns() {
  const std::int32_t nothing = intern("");
  start();
  for (int i = 0; i < kOverheadTasks; ++i) {
    begin(nothing);
    end();
  }
  stop();
  std::vector<std::int64_t> times;
  for (const TaskRecord& task : records()) times.push_back(task.cpu_ns);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace latpred::itt
