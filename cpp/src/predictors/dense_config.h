#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batch/net_rows.h"

namespace latpred {

// Everything that decides how a dense network over plain nets looks and is trained. The defaults are those of Mendoza
// and Wang where they say them: flattened features, layers of 100 units, their number searched for. Not said there:
// rectifiers, Adam at 1e-3, squared error of the standardised target.
struct DenseConfig {
  std::string name = "paper";

  std::string rows = "flat";     // a net is one row; "layers": each layer is one, their times are added up
  std::int64_t most_nodes = 10;  // of flat rows; deeper nets are refused. 0: no limit
  std::int64_t hidden_layers = 13;
  std::int64_t width = 100;  // of each

  std::string loss = "mse";           // as for transformers
  double huber_delta = 1;             // residual from which huber grows linearly; of layers: of the logarithm
  std::string schedule = "constant";  // as for transformers
  double learning_rate = 1e-3;        // the highest
  std::int64_t batch_nets = 128;
  std::int64_t epochs = 100;
};

// "paper", and "ours": a net's time is the sum of its layers', each a factor of what a law says.
[[nodiscard]] const DenseConfig& dense_config(const std::string& name);

// What a row is.
struct DenseRows {
  const char* name;
  std::int64_t (*num_columns)(const DenseConfig& config);
  NetRows (*make)(const NetTable& table, const DenseConfig& config);
  bool are_summed;  // a net's seconds are the sum over its rows of e^output times the law's; else one row is a net
};
[[nodiscard]] const DenseRows& dense_rows(const std::string& name);

// Refuses numbers out of range and unknown choices.
void check(const DenseConfig& config);

// Every number of a config by its name, choices by their place: what a stored training must agree with.
[[nodiscard]] std::map<std::string, double> config_numbers(const DenseConfig& config);

}  // namespace latpred
