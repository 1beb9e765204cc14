#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace latpred {

// Threads that wait for lists of short tasks; the caller works too and never waits for a thread that has not woken up.
// Who runs which task is left to chance, so a task must write only what is its own.
class WorkerPool {
 public:
  explicit WorkerPool(int num_threads);  // the caller's included
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls task(i, worker) for every i below num_tasks, `worker` below num_threads, and returns when all are done.
  // Tasks must not throw.
  using Task = std::function<void(std::int64_t, int)>;
  void run(std::int64_t num_tasks, const Task& task);

 private:
  // Runs tasks while there are any; `lock` is held before and after.
  void take_tasks(int worker, std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  const Task* task_ = nullptr;
  std::int64_t next_ = 0, num_tasks_ = 0, unfinished_ = 0;
  bool is_ending_ = false;
};

}  // namespace latpred
