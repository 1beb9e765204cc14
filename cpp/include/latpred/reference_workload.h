#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace latpred {

// Workloads whose duration is known beforehand, to check the instrument with.
struct ReferenceWorkload {
  std::string_view name;
  std::string_view description;
  // A function that takes about `seconds` whenever it is called.
  std::function<void()> (*make)(double seconds);
};
[[nodiscard]] const std::vector<ReferenceWorkload>& reference_workloads();
// Throws InvalidArgumentError with the nearest name and the list.
[[nodiscard]] const ReferenceWorkload& reference_workload(std::string_view name);

}  // namespace latpred
