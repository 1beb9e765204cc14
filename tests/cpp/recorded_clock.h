#pragma once

#include <string>
#include <utility>
#include <vector>

#include "latpred/measure.h"

namespace latpred::testing {

// Plays recorded samples back, the last one for ever; its own time goes on by their wall clock.
class RecordedClock : public Clock {
 public:
  explicit RecordedClock(std::vector<Sample> samples) : samples_(std::move(samples)) {}

  void start() override { is_running_ = true; }
  [[nodiscard]] Sample stop() override {
    is_running_ = false;
    const Sample sample = samples_[next_];
    if (next_ + 1 < samples_.size()) ++next_;
    ++stops_;
    now_s_ += sample.wall_s;
    return sample;
  }
  [[nodiscard]] double now_s() override { return now_s_; }
  [[nodiscard]] std::string name() const override { return "recorded"; }
  [[nodiscard]] std::string device_fingerprint() const override { return "a tape"; }

  [[nodiscard]] bool is_running() const { return is_running_; }
  [[nodiscard]] int stops() const { return stops_; }

 private:
  std::vector<Sample> samples_;
  std::size_t next_ = 0;
  double now_s_ = 1000;  // any origin
  bool is_running_ = false;
  int stops_ = 0;
};

// Runs that nothing disturbed.
inline std::vector<Sample> undisturbed(const std::vector<double>& times_s) {
  std::vector<Sample> result;
  for (const double time_s : times_s) result.push_back({.wall_s = time_s, .cpu_s = time_s});
  return result;
}

}  // namespace latpred::testing
