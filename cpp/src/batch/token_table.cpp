#include "batch/token_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "batch/table_checks.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

struct Attribute {
  std::string_view name;
  double least;
  double (*logarithm)(double);
};
double same(double value) { return value; }
double log_of(double value) { return std::log(value); }
double log_of_one_more(double value) { return std::log1p(value); }  // an input has no weights
constexpr std::array<Attribute, kNodeAttributes> kAttributes{{
    {"the operation", 0, &same},
    {"the weight count", 0, &log_of_one_more},
    {"the output width", 1, &log_of},
}};
constexpr double kLastOperation = 1;  // dense

void check_node(std::span<const double> node, std::int64_t graph, std::int64_t place) {
  check_attributes(node, graph, place);
  if (node[0] == 0 || node[0] == kLastOperation) return;
  throw InvalidArgumentError(
      concat("the operation must be 0 (input) or 1 (dense), got ", node[0], " at node ", place, " of graph ", graph));
}

// A column that does not vary says nothing: it is left at 0 instead of being divided by 0.
double deviation_or_one(double variance) { return variance > 0 ? std::sqrt(variance) : 1.0; }

struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(double value) {
    count += 1;
    const double before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
  [[nodiscard]] double deviation() const { return deviation_or_one(squares / count); }
};

double changed(double value, std::int64_t attribute, bool is_logarithmic) {
  return is_logarithmic ? kAttributes[static_cast<std::size_t>(attribute)].logarithm(value) : value;
}

}  // namespace

void check_attributes(std::span<const double> node, std::int64_t graph, std::int64_t place) {
  for (std::size_t i = 0; i < kAttributes.size(); ++i) {
    if (is_finite_as_float(node[i]) && node[i] >= kAttributes[i].least) continue;
    throw InvalidArgumentError(concat(kAttributes[i].name, " must be a finite number >= ", kAttributes[i].least,
                                      ", got ", node[i], " at node ", place, " of graph ", graph));
  }
}

float TokenScale::token(double value, std::int64_t attribute) const {
  const auto i = static_cast<std::size_t>(attribute);
  return static_cast<float>((changed(value, attribute, is_logarithmic) - mean[i]) / deviation[i]);
}

float TokenScale::target(double seconds) const {
  return static_cast<float>(((is_logarithmic ? std::log(seconds) : seconds) - target_mean) / target_deviation);
}

double TokenScale::seconds(double scaled_target) const {
  const double value = scaled_target * target_deviation + target_mean;
  return is_logarithmic ? std::exp(value) : value;
}

std::int64_t PackedTokens::most_nodes() const {
  std::int64_t most = 0;
  for (std::size_t g = 0; g + 1 < first_token.size(); ++g) most = std::max(most, first_token[g + 1] - first_token[g]);
  return most;
}

void check(const TokenTable& table) {
  if (table.num_graphs < 1 || table.num_nodes < 1) {
    throw InvalidArgumentError(concat("a table of tokens needs at least one graph and one node, got ",
                                      shape_text({table.num_graphs, table.num_nodes, kNodeAttributes})));
  }
  check_size("attributes", table.attributes.size(), table.num_graphs * table.num_nodes * kNodeAttributes);
  check_size("lengths", table.lengths.size(), table.num_graphs);
  if (!table.target_s.empty()) check_size("target_s", table.target_s.size(), table.num_graphs);
  for (std::int64_t g = 0; g < table.num_graphs; ++g) {
    if (table.length(g) < 1 || table.length(g) > table.num_nodes) {
      throw InvalidArgumentError(
          concat("lengths must be from 1 to ", table.num_nodes, ", got ", table.length(g), " for graph ", g));
    }
    for (std::int64_t place = 0; place < table.length(g); ++place) check_node(table.node(g, place), g, place);
  }
  for (std::size_t g = 0; g < table.target_s.size(); ++g) {
    if (is_finite_as_float(table.target_s[g]) && table.target_s[g] > 0) continue;
    throw InvalidArgumentError(
        concat("target_s must be finite seconds > 0, got ", table.target_s[g], " for graph ", g));
  }
}

TokenScale scale_of(const TokenTable& table, bool is_logarithmic) {
  std::array<Moments, kNodeAttributes> tokens;
  Moments targets;
  for (std::int64_t g = 0; g < table.num_graphs; ++g) {
    for (std::int64_t place = 0; place < table.length(g); ++place) {
      const auto node = table.node(g, place);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i].add(changed(node[i], static_cast<std::int64_t>(i), is_logarithmic));
      }
    }
    const double seconds = table.target_s[static_cast<std::size_t>(g)];
    targets.add(is_logarithmic ? std::log(seconds) : seconds);
  }
  TokenScale scale;
  scale.is_logarithmic = is_logarithmic;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    scale.mean[i] = tokens[i].mean;
    scale.deviation[i] = tokens[i].deviation();
  }
  scale.target_mean = targets.mean;
  scale.target_deviation = targets.deviation();
  return scale;
}

PackedTokens pack(const TokenTable& table, const TokenScale& scale) {
  PackedTokens packed;
  packed.first_token.push_back(0);
  for (std::int64_t g = 0; g < table.num_graphs; ++g) {
    for (std::int64_t place = 0; place < table.length(g); ++place) {
      const auto node = table.node(g, place);
      for (std::int64_t i = 0; i < kNodeAttributes; ++i) {
        packed.tokens.push_back(scale.token(node[static_cast<std::size_t>(i)], i));
      }
    }
    packed.first_token.push_back(packed.first_token.back() + table.length(g));
  }
  for (const double seconds : table.target_s) packed.targets.push_back(scale.target(seconds));
  return packed;
}

std::uint64_t fingerprint(const TokenTable& table) {
  // FNV-1a over whole words.
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001B3;
    hash ^= hash >> 32;  // words differ in their high bits, which a product alone never brings down
  };
  for (std::int64_t g = 0; g < table.num_graphs; ++g) {
    add(static_cast<std::uint64_t>(table.length(g)));
    for (std::int64_t place = 0; place < table.length(g); ++place) {
      for (const double value : table.node(g, place)) add(std::bit_cast<std::uint64_t>(value));
    }
  }
  for (const double seconds : table.target_s) add(std::bit_cast<std::uint64_t>(seconds));
  return hash;
}

}  // namespace latpred
