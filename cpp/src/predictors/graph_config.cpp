#include "predictors/graph_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/config_checks.h"
#include "predictors/graph_layers.h"
#include "predictors/graph_loss.h"
#include "predictors/schedule.h"

namespace latpred {
namespace {

// DIPPM's Table 3, and batches of one graph as its code has them.
GraphConfig dippm(const char* name, const char* layer, std::int64_t layers) {
  return {.name = name,
          .task = "graphs",
          .layer = layer,
          .layers = layers,
          .width = 512,
          .l2_norm = true,
          .size_norm = false,
          .columns = "readout",
          .readout = "sum",
          .dense_layers = 3,
          .dense_width = 512,
          .dropout = 0.05,
          .loss = "huber",
          .schedule = "constant",
          .learning_rate = 2.754e-5,
          .batch_graphs = 1,
          .epochs = 10};
}
constexpr std::int64_t kDippmLayers = 6;  // three blocks of two

const std::array<GraphConfig, 9>& configs() {
  static const std::array<GraphConfig, 9> table{{
      {},
      // GAT cannot tell a node from its neighbours of the same operator, SAGE can; two hops each way see the pattern
      // around an edge; sizes over seven orders of magnitude need logarithms; batches of few networks make enough steps
      // of some hundred.
      {.name = "fusion_edges_ours",
       .layer = "sage",
       .layers = 2,
       .width = 64,
       .size_norm = false,
       .undirected = true,
       .dropout = 0.15,
       .input_scale = "log",
       .learning_rate = 3e-3,
       .batch_graphs = 2,
       .epochs = 12},
      {.name = "fused_kernels",
       .task = "graphs",
       .layers = 3,
       .width = 256,
       .undirected = true,
       .scale = "milliseconds",
       .learning_rate = 5e-4,
       .batch_graphs = 512,
       .epochs = 100},
      {.name = "fused_kernels_ours",
       .task = "graphs",
       .layer = "sage",
       .layers = 2,
       .width = 96,
       .size_norm = false,
       .undirected = true,
       .columns = "readout",
       .dense_layers = 2,
       .dense_width = 128,
       .input_scale = "log",
       .scale = "log",
       .sum_weight = 3,
       .loss = "l1",
       .learning_rate = 1e-3,
       .batch_graphs = 864,
       .epochs = 100},
      dippm("pmgns", "sage", kDippmLayers),
      dippm("pmgns_gat", "gat", kDippmLayers),
      dippm("pmgns_gcn", "gcn", kDippmLayers),
      dippm("pmgns_gin", "gin", kDippmLayers),
      dippm("pmgns_mlp", "sage", 0),
  }};
  return table;
}

using Choices = std::vector<std::string>;
const Choices kTasks{"edges", "graphs"};
const Choices kColumns{"nodes", "readout"};
const Choices kInputScales{"standard", "log"};
const Choices kScales{"standard", "log", "milliseconds"};

}  // namespace

const GraphConfig& graph_config(const std::string& name) { return row_of("graph config", name, configs()); }

std::vector<std::string> graph_config_names() { return names_of(configs()); }

void check(const GraphConfig& config) {
  check_at_least("layers", config.layers, config.is_of_edges() ? 1 : 0);
  check_at_least("width", config.width, 1);
  check_at_least("heads", config.heads, 1);
  check_at_least("dense_layers", config.dense_layers, 0);
  check_at_least("dense_width", config.dense_width, 1);
  check_at_least("batch_graphs", config.batch_graphs, 1);
  check_at_least("epochs", config.epochs, 1);
  if (config.width % config.heads != 0) {
    throw InvalidArgumentError(concat("width must be a multiple of heads, got ", config.width, " / ", config.heads));
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) {
    throw InvalidArgumentError(concat("dropout must be >= 0 and < 1, got ", config.dropout));
  }
  check_positive("learning_rate", config.learning_rate);
  if (!(config.sum_weight >= 0) || (config.sum_weight > 0 && config.scale != "log")) {
    throw InvalidArgumentError(concat("sum_weight must be >= 0, and 0 unless scale is 'log', got ", config.sum_weight,
                                      " with scale '", config.scale, "'"));
  }
  if (config.layers == 0 && config.joins_nodes()) {
    throw InvalidArgumentError("without layers columns must join at the 'readout': nothing else reaches it");
  }
  (void)config_numbers(config);  // looks all choices up
}

std::map<std::string, double> config_numbers(const GraphConfig& config) {
  return {
      {"task", place_of("task", config.task, kTasks)},
      {"layer", place_of("graph layer", config.layer, graph_layer_names())},
      {"layers", static_cast<double>(config.layers)},
      {"width", static_cast<double>(config.width)},
      {"heads", static_cast<double>(config.heads)},
      {"l2_norm", config.l2_norm ? 1.0 : 0.0},
      {"size_norm", config.size_norm ? 1.0 : 0.0},
      {"undirected", config.undirected ? 1.0 : 0.0},
      {"columns", place_of("columns", config.columns, kColumns)},
      {"readout", place_of("readout", config.readout, readout_names())},
      {"dense_layers", static_cast<double>(config.dense_layers)},
      {"dense_width", static_cast<double>(config.dense_width)},
      {"dropout", config.dropout},
      {"input_scale", place_of("input_scale", config.input_scale, kInputScales)},
      {"scale", place_of("scale", config.scale, kScales)},
      {"sum_weight", config.sum_weight},
      {"loss", place_of("loss", config.loss, graph_loss_names())},
      {"schedule", place_of("schedule", config.schedule, schedule_names())},
      {"learning_rate", config.learning_rate},
      {"batch_graphs", static_cast<double>(config.batch_graphs)},
      {"epochs", static_cast<double>(config.epochs)},
  };
}

std::map<std::string, double> size_numbers(const GraphSizes& sizes) {
  return {
      {"node_columns", static_cast<double>(sizes.node_columns)},
      {"graph_columns", static_cast<double>(sizes.graph_columns)},
      {"operators", static_cast<double>(sizes.operators)},
      {"targets", static_cast<double>(sizes.targets)},
      {"types", static_cast<double>(sizes.types)},
  };
}

void check(const GraphSizes& sizes, const GraphConfig& config) {
  check_at_least("node_columns", sizes.node_columns, 0);
  check_at_least("graph_columns", sizes.graph_columns, config.layers == 0 ? 1 : 0);
  check_at_least("operators", sizes.operators, 0);
  check_at_least("node_columns + operators", sizes.node_columns + sizes.operators, config.layers == 0 ? 0 : 1);
  check_at_least("targets", sizes.targets, config.is_of_edges() ? 0 : 1);
  check_at_least("types", sizes.types, 0);
  if (config.is_of_edges() && (sizes.targets > 0 || sizes.types > 0)) {
    throw InvalidArgumentError(concat("config '", config.name, "' learns edges: it has no targets and no types"));
  }
  if (config.scale == "milliseconds" && sizes.targets > 1) {
    throw InvalidArgumentError("scale 'milliseconds' is of one target, the seconds");
  }
}

}  // namespace latpred
