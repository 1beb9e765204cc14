#pragma once

#include <span>
#include <string>
#include <string_view>

namespace latpred {

struct MigProfileRow {
  std::string_view name;
  double sms;
  double memory_gib;  // usable, as the driver lists it
  int memory_slices;
  int max_instances;
};

// What one chip can be cut into.
struct MigTable {
  double memory_slices_of_device;
  std::span<const MigProfileRow> profiles;  // smallest first: fewest SMs, then least memory
};

// The table of `device_name`; empty profiles where there is no MIG or the sizes of its profiles are not known.
[[nodiscard]] MigTable mig_table(std::string_view device_name);

}  // namespace latpred
