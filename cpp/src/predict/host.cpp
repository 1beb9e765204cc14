#include "host.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace latpred {
namespace {

// Of the norm that joins kernels and launches. Measured single operators near the dispatch floor lie between norms 3
// and 4 (NeuSight tables); a plain maximum is 2 points of error worse there.
constexpr double kHostNorm = 3;

}  // namespace

double join_host_s(double device_s, double host_s) {
  if (host_s <= 0) return device_s;
  const double longer = std::max(device_s, host_s);  // taken out of the powers, which would underflow
  return longer *
         std::pow(std::pow(device_s / longer, kHostNorm) + std::pow(host_s / longer, kHostNorm), 1 / kHostNorm);
}

LatencyOutput join_host(std::vector<double> kernel_s, double host_s) {
  const double device_s = std::accumulate(kernel_s.begin(), kernel_s.end(), 0.0);
  LatencyOutput output{.kernel_s = std::move(kernel_s), .host_s = host_s};
  output.host_wait_s = join_host_s(device_s, host_s) - device_s;
  output.latency_s = device_s + output.host_wait_s;
  return output;
}

LatencyOutput add_host(const LatencyInput& input, std::vector<double> kernel_s, double factor) {
  return join_host(std::move(kernel_s),
                   static_cast<double>(input.kernels.num_launches) * input.runtime.host_s_per_launch * factor);
}

}  // namespace latpred
