#pragma once

#include "latpred/device.h"
#include "latpred/kernel.h"
#include "latpred/partition.h"

namespace latpred {

// How a kernel keeps the board busy while it runs; shares of the whole board's units.
struct Activity {
  CostKind kind = CostKind::other;
  bool was_read_alone = false;  // its power was read kernel by kernel, not from networks
  double compute_share = 0;     // achieved over peak
  double memory_share = 0;      // achieved over bandwidth
  double busy_share = 1;        // of its time, launch and drain left out
};

// Power of a part of a board, in watts.
struct PowerBudget {
  double idle_w = 0;     // the part's share of the idle board
  double limit_w = 0;    // the most that the part can draw
  double dynamic_w = 0;  // what lies between idle and limit of the whole board
  double sm_share = 1;
};
[[nodiscard]] PowerBudget power_budget(const Device& device, const Partition& partition);

[[nodiscard]] double kernel_power_w(const PowerBudget& budget, const Activity& activity);
// While the host prepares the next launch: nothing runs, but the clocks stay up.
[[nodiscard]] double gap_power_w(const PowerBudget& budget);

}  // namespace latpred
