#include "latpred/text.h"
#include "profiler/cuda/gpu_parts.h"

namespace latpred {
namespace {

// The counter moves every 20 to 100 ms; one that stands still for so long does not count.
constexpr double kTickTimeout_s = 0.5;
// Between two readings of the power sensor, which is renewed every 20 ms at best.
constexpr double kPowerInterval_s = 0.02;
// Below this one step of the counter is more than 5 % of what was counted.
constexpr double kShortestWindow_s = 2;

class Window {
 public:
  Window(const nvml::Device& nvml, const std::function<void()>& run, Clock& clock)
      : nvml_(nvml), run_(run), clock_(clock) {}

  void run_for(double seconds) {
    for (const double end_s = clock_.now_s() + seconds; clock_.now_s() < end_s;) run();
  }

  // From one tick of the counter to another; false, with the reason in `note`, where it does not tick.
  bool count(double min_s, EnergyWindow& window) {
    std::optional<double> start_j = nvml_.energy_j();
    if (!start_j) {
      window.note = "the board has no energy counter";
      return false;
    }
    start_j = next_tick(*start_j);
    if (!start_j) {
      window.note = concat("the energy counter did not move within ", kTickTimeout_s, " s");
      return false;
    }
    const double start_s = clock_.now_s();
    runs_ = 0;
    run_for(min_s);
    const std::optional<double> last_j = nvml_.energy_j();
    const std::optional<double> end_j = last_j ? next_tick(*last_j) : std::nullopt;
    if (!end_j || *end_j <= *start_j) {
      window.note = "the energy counter stopped or went back during the window";
      return false;
    }
    window.source = "energy counter";
    fill(window, *end_j - *start_j, clock_.now_s() - start_s);
    return true;
  }

  // Trapezoids between readings of the power sensor.
  void integrate(double min_s, EnergyWindow& window) {
    std::optional<double> power_w = nvml_.power_w();
    const double start_s = clock_.now_s();
    double last_s = start_s;
    double energy_j = 0;
    runs_ = 0;
    while (power_w && last_s - start_s < min_s) {
      while (clock_.now_s() - last_s < kPowerInterval_s) run();
      const std::optional<double> next_w = nvml_.power_w();
      if (!next_w) break;
      const double now_s = clock_.now_s();
      energy_j += (*power_w + *next_w) / 2 * (now_s - last_s);
      last_s = now_s;
      power_w = next_w;
    }
    if (last_s - start_s < min_s) {
      throw ProfilerError(concat("energy cannot be measured: ", window.note,
                                 ", and its power sensor does not answer; measure on a GPU that is not shared out "
                                 "in instances"));
    }
    window.source = "power samples";
    fill(window, energy_j, last_s - start_s);
  }

 private:
  void run() {
    run_();
    ++runs_;
  }

  // Runs until the counter leaves `value_j`.
  std::optional<double> next_tick(double value_j) {
    for (const double end_s = clock_.now_s() + kTickTimeout_s; clock_.now_s() < end_s;) {
      run();
      const std::optional<double> now_j = nvml_.energy_j();
      if (!now_j) return std::nullopt;
      if (*now_j != value_j) return now_j;
    }
    return std::nullopt;
  }

  void fill(EnergyWindow& window, double energy_j, double window_s) const {
    window.energy_j = energy_j;
    window.window_s = window_s;
    window.runs = runs_;
    window.energy_per_run_j = energy_j / static_cast<double>(runs_);
    window.mean_power_w = energy_j / window_s;
  }

  const nvml::Device& nvml_;
  const std::function<void()>& run_;
  Clock& clock_;
  std::int64_t runs_ = 0;
};

}  // namespace

EnergyWindow Gpu::measure_energy(const std::function<void()>& run_once, StreamHandle stream,
                                 const EnergyProtocol& protocol, Clock& clock) const {
  if (!(protocol.min_s >= kShortestWindow_s)) {
    throw InvalidArgumentError(concat("min_s of an energy window must be >= ", kShortestWindow_s, ", got ",
                                      protocol.min_s, ": the board's counter moves about every 0.1 s"));
  }
  if (!(protocol.warm_up_s >= 0)) {
    throw InvalidArgumentError(concat("warm_up_s must be >= 0, got ", protocol.warm_up_s));
  }
  if (!parts_->nvml) throw ProfilerError(concat("energy cannot be measured: ", parts_->nvml_missing));
  const nvml::Device& nvml = *parts_->nvml;
  const std::function<void()> run = [&] {
    run_once();
    synchronize(stream);
  };
  Window measured(nvml, run, clock);
  measured.run_for(protocol.warm_up_s);
  EnergyWindow window;
  window.start_celsius = nvml.temperature_celsius();
  std::uint64_t reasons = nvml.clock_reasons().value_or(0);
  if (!measured.count(protocol.min_s, window)) measured.integrate(protocol.min_s, window);
  reasons |= nvml.clock_reasons().value_or(0);
  window.end_celsius = nvml.temperature_celsius();
  window.throttle_reasons = nvml::reason_names(reasons, true);
  return window;
}

}  // namespace latpred
