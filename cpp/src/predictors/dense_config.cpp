#include "predictors/dense_config.h"

#include <array>

#include "predictors/config_checks.h"
#include "predictors/loss.h"
#include "predictors/schedule.h"

namespace latpred {
namespace {

const std::array<DenseConfig, 2> kConfigs{{
    {},
    {.name = "ours",
     .rows = "layers",
     .most_nodes = 0,
     .hidden_layers = 3,
     .width = 96,
     .loss = "huber",
     .huber_delta = 0.02,  // 2 % of a latency: below what repeated measurements differ by
     .schedule = "one_cycle",
     .learning_rate = 4e-3,
     .batch_nets = 64,
     .epochs = 80},
}};

constexpr std::array<DenseRows, 2> kRows{{
    {"flat", [](const DenseConfig& config) { return num_flat_columns(config.most_nodes); },
     [](const NetTable& table, const DenseConfig& config) { return flat_rows(table, config.most_nodes); }, false},
    {"layers", [](const DenseConfig&) { return static_cast<std::int64_t>(layer_columns().size()); },
     [](const NetTable& table, const DenseConfig&) { return layer_rows(table); }, true},
}};

}  // namespace

const DenseConfig& dense_config(const std::string& name) { return row_of("dense config", name, kConfigs); }

const DenseRows& dense_rows(const std::string& name) { return row_of("rows", name, kRows); }

void check(const DenseConfig& config) {
  check_at_least("most_nodes", config.most_nodes, dense_rows(config.rows).are_summed ? 0 : 2);
  check_at_least("hidden_layers", config.hidden_layers, 1);
  check_at_least("width", config.width, 1);
  check_at_least("batch_nets", config.batch_nets, 1);
  check_at_least("epochs", config.epochs, 1);
  check_positive("learning_rate", config.learning_rate);
  check_positive("huber_delta", config.huber_delta);
  (void)config_numbers(config);  // looks all choices up
}

std::map<std::string, double> config_numbers(const DenseConfig& config) {
  return {
      {"rows", place_of("rows", config.rows, names_of(kRows))},
      {"most_nodes", static_cast<double>(config.most_nodes)},
      {"hidden_layers", static_cast<double>(config.hidden_layers)},
      {"width", static_cast<double>(config.width)},
      {"loss", place_of("loss", config.loss, loss_names())},
      {"huber_delta", config.huber_delta},
      {"schedule", place_of("schedule", config.schedule, schedule_names())},
      {"learning_rate", config.learning_rate},
      {"batch_nets", static_cast<double>(config.batch_nets)},
      {"epochs", static_cast<double>(config.epochs)},
  };
}

}  // namespace latpred
