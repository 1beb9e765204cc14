#include "predictors/schedule.h"

#include <array>
#include <cmath>
#include <numbers>

#include "predictors/config_checks.h"

namespace latpred {
namespace {

constexpr std::array<ScheduleRow, 2> kSchedules{{
    {"constant", [](double) { return 1.0; }},
    {"one_cycle", &one_cycle_rate},
}};

}  // namespace

const ScheduleRow& schedule_row(const std::string& name) { return row_of("schedule", name, kSchedules); }

std::vector<std::string> schedule_names() { return names_of(kSchedules); }

double one_cycle_rate(double share_done) {
  constexpr double kWarmShare = 0.2;
  constexpr double kFirstRate = 1.0 / 25;
  constexpr double kLastRate = 1e-4 / 25;
  const auto cosine = [](double from, double to, double done) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * done)) / 2;
  };
  return share_done < kWarmShare ? cosine(kFirstRate, 1, share_done / kWarmShare)
                                 : cosine(1, kLastRate, (share_done - kWarmShare) / (1 - kWarmShare));
}

}  // namespace latpred
