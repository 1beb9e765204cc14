#pragma once

#include <optional>

#include "latpred/interval.h"

namespace latpred {

// What `checkpoint` says about widths by situation, put into `evidence`. Throws CheckpointError where a factor would
// narrow what it must widen.
void read_situation(const Checkpoint& checkpoint, Evidence& evidence);

// How unlike the nearest measured network this is: 0 at one of these, 1 at a distance where that stops to matter. On a
// device where few families were measured (`is_known`: some were) it is as new as it is there, as far as they are few.
[[nodiscard]] double novelty(const Evidence& evidence, const LatencyInput& input, bool is_known);

// The kernel that stands alone, with so large a share of the roofline that no other kernel's error evens its own out;
// null: there is none.
[[nodiscard]] const Kernel* lone_kernel(const LatencyInput& input);

// The half-width of `kernel` where it stands alone. None: no operator of its kind was measured by itself.
[[nodiscard]] std::optional<double> lone_width(const Evidence& evidence, const Kernel& kernel);

// Whether the device ran single operators in the arithmetic of the kernel that stands alone.
[[nodiscard]] bool is_measured_alone(const Evidence& evidence, const LatencyInput& input);

// Whether the device's versions of the runtime were told apart and the one that is asked for is none of them.
[[nodiscard]] bool is_version_of_other_devices(const Evidence& evidence, const LatencyInput& input);

// Whether the version that is asked for was measured on the device, as far as versions were told apart, or none is.
[[nodiscard]] bool is_version_measured(const Evidence& evidence, const LatencyInput& input);

// Half-width over the typical one. `is_known`: the whole device was measured.
[[nodiscard]] double relative_width(const Evidence& evidence, const LatencyInput& input, bool is_known);

}  // namespace latpred
