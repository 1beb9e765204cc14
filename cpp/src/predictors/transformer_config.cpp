#include "predictors/transformer_config.h"

#include <array>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/config_checks.h"
#include "predictors/loss.h"
#include "predictors/packed_kernels.h"
#include "predictors/schedule.h"

namespace latpred {
namespace {

const std::array<TransformerConfig, 2> kConfigs{{
    {},
    {.name = "ours",
     .dropout = 0,  // labels are measured: more of them costs less than noise inside
     .positions = "sinusoidal",
     .most_nodes = 0,
     .scale = "log",
     .loss = "huber",
     .huber_delta = 0.02,  // about 5 % of a latency: what repeated measurements differ by
     .schedule = "one_cycle",
     .learning_rate = 2e-3,
     .batch_graphs = 64,
     .epochs = 60},
}};

const std::vector<std::string> kPositions{"learned", "sinusoidal"};
const std::vector<std::string> kScales{"standard", "log"};

void check_multiple(std::string_view name, std::int64_t value, std::int64_t unit) {
  if (value < unit || value % unit != 0) {
    throw InvalidArgumentError(concat(name, " must be a multiple of ", unit, ", got ", value));
  }
}

}  // namespace

const TransformerConfig& transformer_config(const std::string& name) {
  return row_of("transformer config", name, kConfigs);
}

void check(const TransformerConfig& config) {
  check_multiple("width", config.width, kWidthUnit);
  check_multiple("feed_forward_width", config.feed_forward_width, kWidthUnit);
  check_at_least("heads", config.heads, 1);
  check_at_least("blocks", config.blocks, 1);
  check_at_least("batch_graphs", config.batch_graphs, 1);
  check_at_least("epochs", config.epochs, 1);
  check_at_least("most_nodes", config.most_nodes, config.has_learned_positions() ? 1 : 0);
  if (config.width % config.heads != 0 || config.head_width() % kScoreUnit != 0) {
    throw InvalidArgumentError(
        concat("width / heads must be a multiple of ", kScoreUnit, ", got ", config.width, " / ", config.heads));
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) {
    throw InvalidArgumentError(concat("dropout must be >= 0 and < 1, got ", config.dropout));
  }
  check_positive("learning_rate", config.learning_rate);
  check_positive("huber_delta", config.huber_delta);
  (void)config_numbers(config);  // looks all choices up
}

std::map<std::string, double> config_numbers(const TransformerConfig& config) {
  return {
      {"width", static_cast<double>(config.width)},
      {"heads", static_cast<double>(config.heads)},
      {"feed_forward_width", static_cast<double>(config.feed_forward_width)},
      {"blocks", static_cast<double>(config.blocks)},
      {"dropout", config.dropout},
      {"positions", place_of("positions", config.positions, kPositions)},
      {"most_nodes", static_cast<double>(config.most_nodes)},
      {"scale", place_of("scale", config.scale, kScales)},
      {"loss", place_of("loss", config.loss, loss_names())},
      {"huber_delta", config.huber_delta},
      {"schedule", place_of("schedule", config.schedule, schedule_names())},
      {"learning_rate", config.learning_rate},
      {"batch_graphs", static_cast<double>(config.batch_graphs)},
      {"epochs", static_cast<double>(config.epochs)},
  };
}

}  // namespace latpred
