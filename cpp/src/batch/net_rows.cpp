#include "batch/net_rows.h"

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

constexpr double kConvolution = 2;                    // of the operations
constexpr std::int64_t kOfNode = kNetOperations + 1;  // columns of a flat row for each node

void check_net_node(std::span<const double> node, std::int64_t graph, std::int64_t place) {
  check_attributes(node, graph, place);
  if (node[0] < kNetOperations && node[0] == std::floor(node[0])) return;
  throw InvalidArgumentError(concat("the operation must be 0 (input), 1 (dense) or 2 (convolution), got ", node[0],
                                    " at node ", place, " of graph ", graph));
}

// A layer among the others of its net.
struct Layer {
  const TokenTable& tokens;
  std::int64_t graph, place;
  double net_weights, largest_weights, net_units, weights_before;

  [[nodiscard]] double weights(std::int64_t at) const {
    return at < tokens.length(graph) ? tokens.node(graph, at)[1] : 0.0;
  }
  [[nodiscard]] bool is_convolution() const { return tokens.node(graph, place)[0] == kConvolution; }
  [[nodiscard]] double units(std::int64_t at) const { return tokens.node(graph, at)[2]; }
};

// An instruction holds so many floats: channels below it cost as much.
constexpr double kFloatsOfVector = 16;

double log_in_vector(double units) { return std::log(std::min(units, kFloatsOfVector)); }

enum class Of { kAll, kDense };

struct Column {
  std::string_view name;
  Of of;  // 0 for other layers
  double (*value)(const Layer&);
};
// Dense layers read their weights at the pace of the cache that holds them, so that neighbours matter; for convolutions
// those columns taught nothing but the noise of the nets that were trained on.
constexpr std::array<Column, 12> kLayerColumns{{
    {"is_convolution", Of::kAll, [](const Layer& layer) { return layer.is_convolution() ? 1.0 : 0.0; }},
    {"log_units_in", Of::kAll, [](const Layer& layer) { return std::log(layer.units(layer.place - 1)); }},
    {"log_units", Of::kAll, [](const Layer& layer) { return std::log(layer.units(layer.place)); }},
    {"log_units_in_of_vector", Of::kAll,
     [](const Layer& layer) { return log_in_vector(layer.units(layer.place - 1)); }},
    {"log_units_of_vector", Of::kAll, [](const Layer& layer) { return log_in_vector(layer.units(layer.place)); }},
    {"log_net_weights", Of::kAll, [](const Layer& layer) { return std::log1p(layer.net_weights); }},
    {"log_largest_weights", Of::kAll, [](const Layer& layer) { return std::log1p(layer.largest_weights); }},
    {"log_layers", Of::kDense,
     [](const Layer& layer) { return std::log(static_cast<double>(layer.tokens.length(layer.graph) - 1)); }},
    {"log_weights_of_last_layer", Of::kDense,
     [](const Layer& layer) { return std::log1p(layer.weights(layer.place - 1)); }},
    {"log_weights_of_next_layer", Of::kDense,
     [](const Layer& layer) { return std::log1p(layer.weights(layer.place + 1)); }},
    {"log_weights_before", Of::kDense, [](const Layer& layer) { return std::log1p(layer.weights_before); }},
    {"log_net_units", Of::kDense, [](const Layer& layer) { return std::log1p(layer.net_units); }},
}};

}  // namespace

void check(const NetTable& table) {
  const TokenTable& tokens = table.tokens;
  if (tokens.num_graphs < 1 || tokens.num_nodes < 2) {
    throw InvalidArgumentError(concat("a table of nets needs at least one net of two nodes, got ",
                                      shape_text({tokens.num_graphs, tokens.num_nodes, kNodeAttributes})));
  }
  check_size("attributes", tokens.attributes.size(), tokens.num_graphs * tokens.num_nodes * kNodeAttributes);
  check_size("lengths", tokens.lengths.size(), tokens.num_graphs);
  check_size("positions", table.positions.size(), tokens.num_graphs);
  if (!table.base_s.empty()) check_size("base_s", table.base_s.size(), tokens.num_graphs * tokens.num_nodes);
  if (!tokens.target_s.empty()) check_size("target_s", tokens.target_s.size(), tokens.num_graphs);
  for (std::int64_t g = 0; g < tokens.num_graphs; ++g) {
    const auto i = static_cast<std::size_t>(g);
    if (tokens.length(g) < 2 || tokens.length(g) > tokens.num_nodes) {
      throw InvalidArgumentError(
          concat("lengths must be from 2 to ", tokens.num_nodes, ", got ", tokens.length(g), " for graph ", g));
    }
    if (table.positions[i] < 1) {
      throw InvalidArgumentError(concat("positions must be >= 1, got ", table.positions[i], " for graph ", g));
    }
    for (std::int64_t place = 0; place < tokens.length(g); ++place) check_net_node(tokens.node(g, place), g, place);
    if (!tokens.target_s.empty() && !(std::isfinite(tokens.target_s[i]) && tokens.target_s[i] > 0)) {
      throw InvalidArgumentError(
          concat("target_s must be finite seconds > 0, got ", tokens.target_s[i], " for graph ", g));
    }
  }
}

std::int64_t num_flat_columns(std::int64_t most_nodes) { return most_nodes * (kOfNode + most_nodes); }

NetRows flat_rows(const NetTable& table, std::int64_t most_nodes) {
  check(table);
  const TokenTable& tokens = table.tokens;
  NetRows rows;
  rows.num_columns = num_flat_columns(most_nodes);
  rows.features.assign(static_cast<std::size_t>(tokens.num_graphs * rows.num_columns), 0.0);
  for (std::int64_t g = 0; g < tokens.num_graphs; ++g) {
    const std::int64_t length = tokens.length(g);
    if (length > most_nodes) {
      throw InvalidArgumentError(concat("flattened features hold ", most_nodes, " nodes, graph ", g, " has ", length));
    }
    rows.first_row.push_back(g);
    const auto row = std::span(rows.features).subspan(static_cast<std::size_t>(g * rows.num_columns));
    for (std::int64_t place = 0; place < length; ++place) {
      const auto node = tokens.node(g, place);
      const std::int64_t first = place * kOfNode;
      row[static_cast<std::size_t>(first + static_cast<std::int64_t>(node[0]))] = 1;
      row[static_cast<std::size_t>(first + kNetOperations)] = node[1];
      if (place + 1 < length) row[static_cast<std::size_t>(most_nodes * kOfNode + place * most_nodes + place + 1)] = 1;
    }
  }
  rows.first_row.push_back(tokens.num_graphs);
  return rows;
}

NetRows layer_rows(const NetTable& table) {
  check(table);
  const TokenTable& tokens = table.tokens;
  if (table.base_s.empty()) throw InvalidArgumentError("rows of layers need base_s, the seconds of each by a law");
  NetRows rows;
  rows.num_columns = static_cast<std::int64_t>(kLayerColumns.size());
  rows.first_row.push_back(0);
  for (std::int64_t g = 0; g < tokens.num_graphs; ++g) {
    Layer layer{.tokens = tokens,
                .graph = g,
                .place = 0,
                .net_weights = 0,
                .largest_weights = 0,
                .net_units = 0,
                .weights_before = 0};
    for (std::int64_t place = 0; place < tokens.length(g); ++place) {
      layer.net_weights += layer.weights(place);
      layer.largest_weights = std::max(layer.largest_weights, layer.weights(place));
      layer.net_units += layer.units(place);
    }
    for (layer.place = 1; layer.place < tokens.length(g); ++layer.place) {
      const double base_s = table.base_s[static_cast<std::size_t>(g * tokens.num_nodes + layer.place)];
      if (!(std::isfinite(base_s) && base_s > 0)) {
        throw InvalidArgumentError(concat("base_s must be finite seconds > 0 for every layer, got ", base_s,
                                          " at node ", layer.place, " of graph ", g));
      }
      rows.log_base.push_back(std::log(base_s));
      const bool is_convolution = layer.is_convolution();
      for (const Column& column : kLayerColumns) {
        rows.features.push_back(is_convolution && column.of == Of::kDense ? 0 : column.value(layer));
      }
      layer.weights_before += layer.weights(layer.place);
    }
    rows.first_row.push_back(static_cast<std::int64_t>(rows.log_base.size()));
  }
  return rows;
}

std::vector<std::string> layer_columns() {
  std::vector<std::string> names;
  for (const Column& column : kLayerColumns) names.emplace_back(column.name);
  return names;
}

std::uint64_t fingerprint(const NetTable& table) {
  std::uint64_t hash = fingerprint(table.tokens);
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001B3;
    hash ^= hash >> 32;  // as for tokens
  };
  for (const std::int64_t positions : table.positions) add(static_cast<std::uint64_t>(positions));
  for (const double seconds : table.base_s) add(std::bit_cast<std::uint64_t>(seconds));
  return hash;
}

}  // namespace latpred
