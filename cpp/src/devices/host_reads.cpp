#include "latpred/host_reads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Between two sizes by the logarithm of the size; beyond the last as there.
double read_at(const std::vector<HostRead>& reads, double HostRead::* bytes_per_s, double bytes_of_each) {
  const auto above = std::find_if(reads.begin(), reads.end(),
                                  [&](const HostRead& read) { return read.bytes_of_each >= bytes_of_each; });
  if (above == reads.begin()) return reads.front().*bytes_per_s;
  if (above == reads.end()) return reads.back().*bytes_per_s;
  const HostRead& below = *(above - 1);
  const double share =
      std::log(bytes_of_each / below.bytes_of_each) / std::log(above->bytes_of_each / below.bytes_of_each);
  return std::lerp(below.*bytes_per_s, (*above).*bytes_per_s, share);
}

}  // namespace

Device with_speed(Device host, double fp32_flops_per_s, const std::vector<HostRead>& reads, std::string note) {
  const auto is_smaller = [](const HostRead& a, const HostRead& b) { return a.bytes_of_each < b.bytes_of_each; };
  if (!(fp32_flops_per_s > 0) || reads.empty() || !std::is_sorted(reads.begin(), reads.end(), is_smaller)) {
    throw InvalidArgumentError(concat("the speed of ", host.name,
                                      " needs multiply-adds above 0 and reads by ascending ", "size, got ",
                                      fp32_flops_per_s, " FLOP/s and ", reads.size(), " reads"));
  }
  host.fp32_flops_per_s = fp32_flops_per_s;
  host.sustained_share = {1, false};  // it was sustained when it was measured
  host.note = std::move(note);
  return with_reads(std::move(host), reads, std::numeric_limits<double>::infinity(), 1);
}

double working_set_bytes(const Kernels& kernels) {
  double weight_bytes = 0;
  double activation_bytes = 0;
  for (const Kernel& kernel : kernels.rows) {
    weight_bytes += kernel.weight_bytes;
    activation_bytes = std::max(activation_bytes, kernel.bytes_in + kernel.bytes_out);
  }
  return weight_bytes + activation_bytes;
}

Device with_reads(Device host, const std::vector<HostRead>& reads, double working_set_bytes, double cores) {
  host.bandwidth_bytes_per_s = read_at(reads, &HostRead::all_bytes_per_s, working_set_bytes / host.sms);
  host.bandwidth_bytes_per_s_per_sm = {read_at(reads, &HostRead::one_bytes_per_s, working_set_bytes / cores), false};
  return host;
}

}  // namespace latpred
