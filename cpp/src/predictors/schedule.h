#pragma once

#include <string>
#include <vector>

namespace latpred {

// Share of the highest learning rate when this share of all steps is done.
struct ScheduleRow {
  const char* name;
  double (*rate)(double share_done);
};
[[nodiscard]] const ScheduleRow& schedule_row(const std::string& name);
[[nodiscard]] std::vector<std::string> schedule_names();

// Up in a fifth of the steps, then down to next to nothing, along cosines.
[[nodiscard]] double one_cycle_rate(double share_done);

}  // namespace latpred
