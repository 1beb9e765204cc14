#include "mig.h"

#include <array>
#include <vector>

#include "latpred/error.h"
#include "latpred/partition.h"
#include "latpred/text.h"
#include "latpred/unit_prefixes.h"

namespace latpred {
namespace {

// The smallest profile whose usable memory holds the upper end of what is predicted.
std::optional<std::string> by_memory(const Device& device, const MemoryEstimate&, const Interval& interval) {
  for (const Partition& profile : mig_profiles(device)) {
    if (interval.upper <= profile.memory_bytes) return profile.name;
  }
  return std::nullopt;
}

// DIPPM's published rule: the point value in MiB, strictly between 0 and the profile's nominal size; made for the
// A100-40GB, so profiles that the device does not have are not answered.
std::optional<std::string> by_dippm(const Device& device, const MemoryEstimate& memory, const Interval&) {
  struct Row {
    double below_mib;
    std::string_view profile;
  };
  constexpr std::array kRows{Row{5000, "1g.5gb"}, Row{10000, "2g.10gb"}, Row{20000, "3g.20gb"}, Row{40000, "7g.40gb"}};
  for (const Row& row : kRows) {
    if (memory.total_bytes / kMebi >= row.below_mib) continue;
    for (const Partition& profile : mig_profiles(device)) {
      if (profile.name == row.profile) return profile.name;
    }
    throw InvalidArgumentError(concat("mig_rule 'dippm' names profiles of the A100-40GB; '", device.name,
                                      "' has none called '", row.profile, "': use mig_rule='memory'"));
  }
  return std::nullopt;
}

struct RuleRow {
  std::string_view name;
  std::optional<std::string> (*pick)(const Device&, const MemoryEstimate&, const Interval&);
};
constexpr std::array kRules{RuleRow{"memory", by_memory}, RuleRow{"dippm", by_dippm}};

}  // namespace

std::optional<std::string> pick_mig_profile(const Device& device, std::string_view rule, const MemoryEstimate& memory,
                                            const Interval& interval) {
  std::vector<std::string> valid;
  for (const RuleRow& row : kRules) {
    if (row.name == rule) return device.has_mig ? row.pick(device, memory, interval) : std::nullopt;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("mig_rule", rule, valid), {.valid = valid});
}

}  // namespace latpred
