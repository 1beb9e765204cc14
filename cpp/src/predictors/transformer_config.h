#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace latpred {

// Everything that decides how a transformer over nodes looks and is trained. Equal configs, seeds and graphs give equal
// weights. The defaults are Khan's.
struct TransformerConfig {
  std::string name = "paper";

  std::int64_t width = 64;  // of a token inside
  std::int64_t heads = 4;
  std::int64_t feed_forward_width = 128;
  std::int64_t blocks = 2;
  double dropout = 0.1;
  std::string positions = "learned";  // or "sinusoidal", which knows every place
  std::int64_t most_nodes = 10;       // learned positions; graphs with more nodes are refused. 0: no limit

  std::string scale = "standard";     // of attributes and seconds: mean 0, deviation 1; "log": of their logarithms
  std::string loss = "mse";           // of the scaled target; "l1", "huber"
  double huber_delta = 1;             // residual, in deviations of the target, from which huber grows linearly
  std::string schedule = "constant";  // of the learning rate; "one_cycle": up and down along cosines
  double learning_rate = 1e-3;        // the highest
  std::int64_t batch_graphs = 64;
  std::int64_t epochs = 100;

  [[nodiscard]] std::int64_t head_width() const { return width / heads; }
  [[nodiscard]] bool is_logarithmic() const { return scale == "log"; }
  [[nodiscard]] bool has_learned_positions() const { return positions == "learned"; }
};

// "paper": Khan's recipe. "ours": what learns latencies over six orders of magnitude, and graphs deeper than trained
// on.
[[nodiscard]] const TransformerConfig& transformer_config(const std::string& name);

// Refuses numbers out of range, widths that the loops cannot split and unknown choices.
void check(const TransformerConfig& config);

// Every number of a config by its name, choices by their place: what a stored training must agree with.
[[nodiscard]] std::map<std::string, double> config_numbers(const TransformerConfig& config);

}  // namespace latpred
