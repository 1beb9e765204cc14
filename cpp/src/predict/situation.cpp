#include "situation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "units.h"

namespace latpred {
namespace {

// The same numbers as fitting/situation.py, which says where they come from.
constexpr double kFarNetwork = 0.15;
constexpr double kFullBatch = 8;
constexpr double kSmallBatchOctaves = 3;
constexpr double kManyFamilies = 64;
constexpr double kLoneShare = 0.9;

double factor(const Json& terms, std::string_view name, double least) {
  const Json* found = terms.find(name);
  if (found == nullptr) return 1;
  const double value = found->at("value").number();
  if (!std::isfinite(value) || value < least) {
    throw CheckpointError(concat("interval term '", name, "' must be a number >= ", least, ", is ", value));
  }
  return value;
}

// What `table` has of a device by a runtime; null: nothing.
template <typename Table>
const auto* cell_of(const Table& table, std::string_view device, std::string_view runtime) {
  const typename Table::mapped_type::mapped_type* found = nullptr;
  if (const auto row = table.find(device); row != table.end()) {
    if (const auto cell = row->second.find(runtime); cell != row->second.end()) found = &cell->second;
  }
  return found;
}

template <typename Table>
double value_of(const Table& table, const LatencyInput& input, double otherwise) {
  const auto* found = cell_of(table, input.device.name, input.kernels.runtime);
  return found == nullptr ? otherwise : static_cast<double>(*found);
}

void read_tables(const Json* entry, std::string_view what, SituationTerms::Tables& tables) {
  if (entry == nullptr) return;
  for (const auto& [device, of_device] : entry->object()) {
    for (const auto& [runtime, term] : of_device.object()) {
      tables[device][runtime] = positive_value(concat(what, device, ", ", runtime), term);
    }
  }
}

double octaves_above(double larger, double smaller) { return std::max(0.0, std::log2(larger / smaller)); }

// 1 at a single item.
double batch_smallness(std::int64_t asked) {
  return std::min(octaves_above(kFullBatch, static_cast<double>(asked)), kSmallBatchOctaves) / kSmallBatchOctaves;
}

// Each octave beyond what was measured counts like one below a full batch, for all runtimes.
double batch_outsideness(const Evidence& evidence, std::int64_t asked) {
  const auto batch = static_cast<double>(asked);
  const double outside = octaves_above(static_cast<double>(evidence.smallest_batch), batch) +
                         octaves_above(batch, static_cast<double>(evidence.largest_batch));
  return outside / kSmallBatchOctaves;
}

// 1 with one family or none, 0 with many.
double family_scarcity(const Evidence& evidence, const LatencyInput& input) {
  const double families = value_of(evidence.families, input, 0);
  return std::max(0.0, std::log(kManyFamilies / std::max(families, 1.0))) / std::log(kManyFamilies);
}

}  // namespace

void read_situation(const Checkpoint& checkpoint, Evidence& evidence) {
  const Json& manifest = checkpoint.manifest;
  const Json& terms = manifest.at("interval_terms");
  SituationTerms& found = evidence.situation;
  found.near_network = factor(terms, "near_network", std::numeric_limits<double>::min());
  found.new_network = factor(terms, "new_network", 1);
  found.untried_network = factor(terms, "untried_network", 1);
  found.small_batch = factor(terms, "small_batch", 1);
  found.few_families = factor(terms, "few_families", 1);
  if (terms.find("other_version") != nullptr) found.other_version = factor(terms, "other_version", 0);
  if (const Json* runtimes = manifest.find("interval_runtimes")) {
    for (const auto& [name, term] : runtimes->object()) {
      found.runtimes[name] = positive_value(concat("interval term of runtime '", name, "'"), term);
    }
  }
  read_tables(manifest.find("interval_tables"), "interval factor of ", found.tables);
  read_tables(manifest.find("interval_new_tables"), "interval factor of new networks on ", found.new_tables);
  if (const Json* operators = manifest.find("interval_operators")) {
    for (std::size_t kind = 0; kind < kNumCostKinds; ++kind) {
      const std::string_view name = cost_kind_name(static_cast<CostKind>(kind));
      if (const Json* term = operators->find(name)) {
        found.operators[kind] = positive_value(concat("interval term of operator '", name, "'"), *term);
      }
    }
  }
  if (const Json* families = manifest.at("evidence").find("families")) {
    for (const auto& [device, of_device] : families->object()) {
      for (const auto& [runtime, count] : of_device.object()) evidence.families[device][runtime] = count.integer();
    }
  }
  evidence.alike = AlikeNetworks(checkpoint);
  if (found.tells_new_networks() && evidence.alike.empty()) {
    throw CheckpointError(
        "intervals of new networks ('new_network', 'untried_network', 'interval_new_tables') need 'alike_networks', "
        "which are missing");
  }
}

double novelty(const Evidence& evidence, const LatencyInput& input, bool is_known) {
  const auto newness = [](double distance) { return std::min(distance / kFarNetwork, 1.0); };
  const double anywhere = newness(evidence.alike.distance(input));
  if (!is_known) return anywhere;
  return std::max(anywhere, family_scarcity(evidence, input) * newness(evidence.alike.distance_there(input)));
}

const Kernel* lone_kernel(const LatencyInput& input) {
  const std::vector<Kernel>& kernels = input.kernels.rows;
  const auto roofline_s = [&](std::size_t k) { return input.features.physics.at(k).roofline_s; };
  double total_s = 0;
  std::size_t longest = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    total_s += roofline_s(k) * static_cast<double>(kernels[k].repeat);
    if (roofline_s(k) > roofline_s(longest)) longest = k;
  }
  if (kernels.empty() || total_s <= 0 || roofline_s(longest) < kLoneShare * total_s) return nullptr;
  return &kernels[longest];
}

std::optional<double> lone_width(const Evidence& evidence, const Kernel& kernel) {
  const double width = evidence.situation.operators.at(static_cast<std::size_t>(kernel.kind));
  return width > 0 ? std::optional(width) : std::nullopt;
}

bool is_measured_alone(const Evidence& evidence, const LatencyInput& input) {
  const auto of_device = evidence.operator_arithmetics.find(input.device.name);
  if (of_device == evidence.operator_arithmetics.end()) return false;
  const Kernel* lone = lone_kernel(input);
  return lone != nullptr && of_device->second.test(static_cast<std::size_t>(executed_arithmetic(*lone, input.device)));
}

bool is_version_of_other_devices(const Evidence& evidence, const LatencyInput& input) {
  const auto* measured = cell_of(evidence.device_versions, input.device.name, input.kernels.runtime);
  if (measured == nullptr || input.version.empty()) return false;
  return std::ranges::find(*measured, input.version) == measured->end();
}

bool is_version_measured(const Evidence& evidence, const LatencyInput& input) {
  return input.unmeasured_version.empty() && !is_version_of_other_devices(evidence, input);
}

double relative_width(const Evidence& evidence, const LatencyInput& input, bool is_known) {
  const SituationTerms& terms = evidence.situation;
  const double newness = terms.tells_new_networks() ? novelty(evidence, input, is_known) : 0;
  const double scarcity = is_known ? family_scarcity(evidence, input) : 0;  // the device's own terms say the rest
  const double of_network =
      terms.near_network * std::pow(terms.new_network, newness) * std::pow(terms.few_families, scarcity);
  const auto runtime = terms.runtimes.find(input.kernels.runtime);
  const double smallness = batch_smallness(input.graph.batch);
  const double of_runtime =
      runtime == terms.runtimes.end() ? 0 : runtime->second * std::pow(terms.small_batch, smallness);
  const bool is_unsaid = input.version.empty() && evidence.versions.contains(input.kernels.runtime);
  const double of_version = is_unsaid || !is_version_measured(evidence, input) ? terms.other_version : 0;
  const double of_new_table = std::pow(value_of(terms.new_tables, input, 1), newness);
  const double of_table = is_known ? value_of(terms.tables, input, 1) * of_new_table : 1;
  const double of_untried = std::pow(terms.untried_network, newness);
  const double outside = std::pow(terms.small_batch, batch_outsideness(evidence, input.graph.batch));
  return of_table * of_untried * outside * std::hypot(of_network, of_runtime, of_version);
}

}  // namespace latpred
