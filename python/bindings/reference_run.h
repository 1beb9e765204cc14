#pragma once

#include <functional>
#include <string>

namespace latpred {

// A reference workload of some duration, as Python holds it.
struct ReferenceRun {
  std::string name;
  std::function<void()> run;
};

}  // namespace latpred
