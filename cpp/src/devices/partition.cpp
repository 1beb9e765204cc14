#include "latpred/partition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "latpred/error.h"
#include "latpred/text.h"
#include "latpred/unit_prefixes.h"
#include "mig_profiles.h"

namespace latpred {
namespace {

constexpr double kPercent = 100;

std::vector<Partition> make_mig_profiles(const Device& device) {
  const MigTable table = mig_table(device.name);
  std::vector<Partition> result;
  for (const MigProfileRow& row : table.profiles) {
    const double slice_share = row.memory_slices / table.memory_slices_of_device;
    result.push_back({.name = std::string(row.name),
                      .sms = row.sms,
                      .sm_share = row.sms / device.sms,
                      .memory_bytes = row.memory_gib * kGibi,
                      .bandwidth_share = slice_share,
                      .l2_share = slice_share,
                      .max_instances = row.max_instances});
  }
  return result;
}

std::string_view sm_unit(const Device& device) { return device.is_gpu ? "sm" : "cores"; }

// Why `name` is no MIG profile of `device`, and what would be.
[[noreturn]] void refuse(const Device& device, std::string_view name) {
  std::vector<std::string> valid;
  for (const Partition& profile : mig_profiles(device)) valid.push_back(profile.name);
  std::string message;
  if (!device.is_gpu) {
    message = concat("partition '", name, "' of ", device.name, ": a processor has no MIG profiles and no SMs");
  } else if (!device.has_mig) {
    message = concat("partition '", name, "' of ", device.name, ": the device has no MIG");
  } else if (valid.empty()) {
    message = concat("partition '", name, "' of ", device.name,
                     ": it has MIG, but the SMs of its profiles are not known to latpred, so none is offered");
  } else {
    message = concat(unknown_name_message("partition", name, valid), " (MIG profiles of ", device.name, ")");
  }
  message += concat("; give a share ('50%') or a number of ", device.is_gpu ? "SMs" : "cores", " ('",
                    std::max(1.0, std::floor(device.sms / 2)), sm_unit(device), "'), or nothing for the whole device");
  throw InvalidArgumentError(message, {.valid = valid});
}

// SMs alone are granted: memory, its bandwidth and the L2 stay whole, as under MPS or a green context.
Partition sm_partition(const Device& device, std::string_view name, double sms) {
  Partition result;
  result.name = name;
  result.sms = sms;
  result.sm_share = sms / device.sms;
  result.memory_bytes = device.memory_bytes;
  result.max_instances = static_cast<int>(std::floor(device.sms / sms));
  return result;
}

// The number before `suffix`, or nothing when `name` is not of that form.
std::optional<double> number_before(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - suffix.size());
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Partition share_partition(const Device& device, std::string_view name, double percent) {
  // MPS rounds down to whole SMs. The tiny addend keeps 7 % of 100 SMs at 7 in binary arithmetic.
  constexpr double kRounding = 1e-9;
  const double sms = std::floor(device.sms * percent / kPercent + kRounding);
  if (!(percent > 0 && percent <= kPercent) || sms < 1) {
    throw InvalidArgumentError(concat("partition '", name, "' of ", device.name,
                                      ": expected a share over 0% and up to ", "100% that leaves at least one of its ",
                                      device.sms, " ", device.is_gpu ? "SMs" : "cores"));
  }
  return sm_partition(device, name, sms);
}

Partition count_partition(const Device& device, std::string_view name, double sms) {
  if (sms < 1 || sms > device.sms || sms != std::floor(sms)) {
    throw InvalidArgumentError(concat("partition '", name, "' of ", device.name, ": expected a whole number of ",
                                      device.is_gpu ? "SMs" : "cores", " from 1 to ", device.sms));
  }
  return sm_partition(device, name, sms);
}

}  // namespace

double Partition::bandwidth_bytes_per_s(const Device& device) const {
  return std::min(bandwidth_share * device.bandwidth_bytes_per_s, sms * device.bandwidth_bytes_per_s_per_sm.value);
}

const std::vector<Partition>& mig_profiles(const Device& device) {
  static const std::map<std::string, std::vector<Partition>> tables = [] {
    std::map<std::string, std::vector<Partition>> result;
    for (const Device& row : devices()) result[row.name] = make_mig_profiles(row);
    return result;
  }();
  static const std::vector<Partition> none;
  const auto found = tables.find(device.name);
  return found == tables.end() ? none : found->second;
}

Partition partition(const Device& device, std::string_view name) {
  if (name.empty()) return sm_partition(device, name, device.sms);
  for (const Partition& profile : mig_profiles(device)) {
    if (profile.name == name) return profile;
  }
  if (const auto percent = number_before(name, "%")) return share_partition(device, name, *percent);
  if (const auto count = number_before(name, sm_unit(device))) return count_partition(device, name, *count);
  refuse(device, name);
}

}  // namespace latpred
