#include "training/worker_pool.h"

namespace latpred {

WorkerPool::WorkerPool(int num_threads) {
  for (int worker = 1; worker < num_threads; ++worker) {
    threads_.emplace_back([this, worker] {
      std::unique_lock lock(mutex_);
      while (!is_ending_) {
        take_tasks(worker, lock);
        started_.wait(lock, [this] { return is_ending_ || next_ < num_tasks_; });
      }
    });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::take_tasks(int worker, std::unique_lock<std::mutex>& lock) {
  while (next_ < num_tasks_) {
    const std::int64_t i = next_++;
    lock.unlock();
    (*task_)(i, worker);
    lock.lock();
    if (--unfinished_ == 0) finished_.notify_one();
  }
}

void WorkerPool::run(std::int64_t num_tasks, const Task& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  next_ = 0;
  num_tasks_ = unfinished_ = num_tasks;
  if (!threads_.empty()) started_.notify_all();
  take_tasks(0, lock);
  finished_.wait(lock, [this] { return unfinished_ == 0; });
}

}  // namespace latpred
