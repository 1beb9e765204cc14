#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace latpred {

// Everything that decides how a graph neural network looks and is trained. Equal configs, sizes, seeds and graphs give
// equal weights.
struct GraphConfig {
  std::string name = "fusion_edges";
  std::string task = "edges";  // "edges": which are fusible; "graphs": numbers, and types where there are any

  std::string layer = "gat";  // "sage", "gcn", "gin"
  std::int64_t layers = 1;    // 0: no graph at all, what is known of it as a whole only
  std::int64_t width = 128;
  std::int64_t heads = 1;         // of attention
  bool l2_norm = false;           // of SAGE's rows
  bool size_norm = true;          // rows over the root of the number of nodes, before each rectifier
  bool undirected = false;        // messages go both ways
  std::string columns = "nodes";  // where what is known of the whole graph joins: its "nodes", or the "readout"
  std::string readout = "mean";   // "sum", "max"
  std::int64_t dense_layers = 0;  // after the readout
  std::int64_t dense_width = 512;
  double dropout = 0;  // after each rectifier

  std::string input_scale = "standard";  // mean 0, deviation 1; "log": of the logarithms of sizes
  // "standard" likewise of targets; "log": of their logarithms, over their base where there is one; "milliseconds":
  // seconds as they are, times 1000
  std::string scale = "standard";
  double sum_weight = 0;               // of sums over graphs, where there are any, beside each graph's own loss
  std::string loss = "rmse";           // of scaled targets over a batch: "mse", "rmse", "l1", "huber" (delta 1)
  std::string schedule = "one_cycle";  // or "constant"
  double learning_rate = 1e-2;         // the highest
  std::int64_t batch_graphs = 32;
  std::int64_t epochs = 20;

  [[nodiscard]] bool is_of_edges() const { return task == "edges"; }
  [[nodiscard]] bool joins_nodes() const { return columns == "nodes"; }
};

// Lilou's "fusion_edges" and "fused_kernels", both as the paper's recipe and as "..._ours"; DIPPM's "pmgns" and its
// rivals under the same settings, "pmgns_gat", "pmgns_gcn", "pmgns_gin", "pmgns_mlp".
[[nodiscard]] const GraphConfig& graph_config(const std::string& name);
[[nodiscard]] std::vector<std::string> graph_config_names();

// Refuses numbers out of range and unknown choices.
void check(const GraphConfig& config);

// Every number of a config by its name, choices by their place: what a stored training must agree with.
[[nodiscard]] std::map<std::string, double> config_numbers(const GraphConfig& config);

// How wide a network's ends are: what its data decide.
struct GraphSizes {
  std::int64_t node_columns = 0;
  std::int64_t graph_columns = 0;
  std::int64_t operators = 0;  // of the one-hot part; 0: none
  std::int64_t targets = 0;    // task "graphs"
  std::int64_t types = 0;      // 0: none

  friend bool operator==(const GraphSizes&, const GraphSizes&) = default;
};
[[nodiscard]] std::map<std::string, double> size_numbers(const GraphSizes& sizes);
// Refuses sizes that the config cannot learn from.
void check(const GraphSizes& sizes, const GraphConfig& config);

}  // namespace latpred
