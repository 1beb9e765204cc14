#include "training/graph_trainer.h"

#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "batch/torch_error.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/schedule.h"
#include "training/flat_network.h"
#include "training/one_thread.h"
#include "training/steps.h"

namespace latpred {
namespace {

constexpr std::int64_t kPredictedNodes = 2048;  // at a time: what layers leave of them stays in the second cache

// Of the learning-rate finder.
constexpr double kSmoothing = 0.9;
constexpr double kExplosion = 4;  // times the least loss

const std::string kSizes = "sizes.";

GraphSizes sizes_of(const GraphTable& table) {
  return {table.num_node_columns, table.num_graph_columns, table.num_operators, table.num_targets, table.num_types};
}

void check_fits(const GraphTable& table, const GraphSizes& sizes) {
  check(table);
  const auto found = size_numbers(sizes_of(table));
  for (const auto& [name, size] : size_numbers(sizes)) {
    if (found.at(name) == size) continue;
    throw InvalidArgumentError(
        concat("this network was made for ", size, " ", name, ", the graphs have ", found.at(name)));
  }
}

void check_labelled(const GraphTable& table, const GraphConfig& config) {
  const std::string missing = config.is_of_edges()                         ? (table.fusible.empty() ? "fusible" : "")
                              : table.targets.empty()                      ? "targets"
                              : table.num_types > 0 && table.types.empty() ? "types"
                                                                           : "";
  if (missing.empty()) return;
  throw InvalidArgumentError(concat("task '", config.task, "' learns from ", missing, ", the graphs have none"));
}

std::vector<std::int64_t> numbers_from(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(end - begin));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

// What a step takes some of: graphs, or sums with all their terms.
class Units {
 public:
  Units(const GraphTable& table, const GraphConfig& config)
      : first_term_(config.sum_weight > 0 ? table.first_term : std::span<const std::int64_t>()),
        count_(first_term_.empty() ? table.num_graphs() : table.num_sums()),
        per_step_(std::max(config.batch_graphs * count_ / table.num_graphs(), std::int64_t{1})) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t per_step() const { return per_step_; }
  [[nodiscard]] std::int64_t num_steps() const { return (count_ + per_step_ - 1) / per_step_; }
  // The graphs of the units of one step of those in `order`.
  [[nodiscard]] std::vector<std::int64_t> graphs(std::span<const std::int64_t> order, std::int64_t step) const {
    const auto first = static_cast<std::size_t>(step * per_step_);
    const auto units = order.subspan(first, std::min(static_cast<std::size_t>(per_step_), order.size() - first));
    if (first_term_.empty()) return {units.begin(), units.end()};
    std::vector<std::int64_t> result;
    for (const std::int64_t unit : units) {
      const auto terms =
          numbers_from(first_term_[static_cast<std::size_t>(unit)], first_term_[static_cast<std::size_t>(unit) + 1]);
      result.insert(result.end(), terms.begin(), terms.end());
    }
    return result;
  }

 private:
  std::span<const std::int64_t> first_term_;
  std::int64_t count_;
  std::int64_t per_step_;
};

void append(const at::Tensor& tensor, std::vector<double>& values) {
  const at::Tensor numbers = tensor.to(at::kDouble).contiguous();
  const auto* begin = numbers.const_data_ptr<double>();
  values.insert(values.end(), begin, begin + numbers.numel());
}

GraphAnswers predict_with(const GraphNetwork& network, const GraphTable& table) {
  check_fits(table, network.sizes());
  return with_short_errors([&] {
    const OneThread one_thread;
    const at::NoGradGuard no_grad;
    const std::vector<std::int64_t> first_edge = first_edges(table);
    GraphAnswers answers;
    std::int64_t begin = 0;
    while (begin < table.num_graphs()) {
      std::int64_t end = begin + 1;
      const auto first = [&](std::int64_t graph) { return table.first_node[static_cast<std::size_t>(graph)]; };
      while (end < table.num_graphs() && first(end + 1) - first(begin) <= kPredictedNodes) ++end;
      const GraphBatch batch = collate(table, first_edge, numbers_from(begin, end), network.config().undirected);
      const GraphOutputs outputs = network.forward(batch);
      if (network.config().is_of_edges()) {
        append(at::softmax(outputs.edges, 1).select(1, 1), answers.fusible);
      } else {
        append(network.targets_of(outputs, batch), answers.targets);
        if (network.sizes().types > 0) append(at::softmax(outputs.types, 1), answers.types);
      }
      begin = end;
    }
    return answers;
  });
}

GraphAttention attention_with(const GraphNetwork& network, const GraphTable& table) {
  check_fits(table, network.sizes());
  return with_short_errors([&] {
    const OneThread one_thread;
    const at::NoGradGuard no_grad;
    const GraphBatch batch =
        collate(table, first_edges(table), numbers_from(0, table.num_graphs()), network.config().undirected);
    GraphAttention result;
    for (const at::Tensor& layer : network.attention(batch)) {
      const at::Tensor shares = layer.contiguous();
      const auto* begin = shares.const_data_ptr<float>();
      result.shares.emplace_back(begin, begin + shares.numel());
    }
    if (result.shares.empty()) return result;
    const Neighbours looped = with_self_loops(batch.neighbours);
    for (const at::Tensor& ends : {looped.source, looped.target}) {
      const auto* begin = ends.const_data_ptr<std::int64_t>();
      result.edges.insert(result.edges.end(), begin, begin + ends.numel());
    }
    return result;
  });
}

FlatNetwork make_network(const GraphConfig& config, const GraphSizes& sizes, std::uint64_t seed) {
  check(config);
  check(sizes, config);
  return with_short_errors([&] { return FlatNetwork(config, sizes, seed); });
}

}  // namespace

struct GraphPredictor::State {
  FlatNetwork flat;
};

GraphPredictor::GraphPredictor(const GraphConfig& config, const GraphSizes& sizes, const NamedArrays& arrays)
    : state_(new State{make_network(config, sizes, 0)}) {
  with_short_errors([&] { state_->flat.load_arrays(arrays); });
}
GraphPredictor::~GraphPredictor() = default;
GraphPredictor::GraphPredictor(GraphPredictor&&) noexcept = default;

GraphAnswers GraphPredictor::predict(const GraphTable& table) const {
  return predict_with(state_->flat.network(), table);
}
GraphAttention GraphPredictor::attention(const GraphTable& table) const {
  return attention_with(state_->flat.network(), table);
}
const GraphConfig& GraphPredictor::config() const { return state_->flat.network().config(); }
const GraphSizes& GraphPredictor::sizes() const { return state_->flat.network().sizes(); }
std::int64_t GraphPredictor::num_parameters() const { return state_->flat.num_parameters(); }

struct GraphTrainer::State {
  FlatNetwork flat;
  std::uint64_t seed;
  std::int64_t epochs_done = 0;
  std::optional<std::uint64_t> fingerprint;  // of the table that scales come from

  [[nodiscard]] const GraphConfig& config() const { return flat.network().config(); }

  void take_table(const GraphTable& table) {
    const std::uint64_t found = latpred::fingerprint(table);
    if (!fingerprint) {
      flat.network().set_scale(table);
      fingerprint = found;
    } else if (*fingerprint != found) {
      throw InvalidArgumentError(
          concat("this training began with other graphs or labels: its scales and its order are of those; after epoch ",
                 epochs_done, " it must go on with the same"));
    }
  }
};

GraphTrainer::GraphTrainer(const GraphConfig& config, const GraphSizes& sizes, std::uint64_t seed)
    : state_(new State{make_network(config, sizes, seed), seed}) {}
GraphTrainer::~GraphTrainer() = default;
GraphTrainer::GraphTrainer(GraphTrainer&&) noexcept = default;

double GraphTrainer::fit_epoch(const GraphTable& table) {
  State& state = *state_;
  const GraphConfig& config = state.config();
  check_fits(table, sizes());
  check_labelled(table, config);
  if (state.epochs_done >= config.epochs) {
    throw InvalidArgumentError(concat("all ", config.epochs, " epochs of this config are done"));
  }
  return with_short_errors([&] {
    const OneThread one_thread;
    state.take_table(table);
    const std::vector<std::int64_t> first_edge = first_edges(table);
    const Units units(table, config);
    const std::vector<std::int64_t> order = order_of_epoch(units.count(), state.seed, state.epochs_done);
    const std::int64_t steps = units.num_steps();
    double summed = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::vector<std::int64_t> which = units.graphs(order, i);
      const std::int64_t done = state.epochs_done * steps + i;
      const double share_done = static_cast<double>(done) / static_cast<double>(config.epochs * steps);
      const double rate = config.learning_rate * schedule_row(config.schedule).rate(share_done);
      const GraphBatch batch = collate(table, first_edge, which, config.undirected);
      summed += state.flat.step(batch, rate, done, state.seed) * static_cast<double>(which.size());
      if (std::isfinite(summed)) continue;
      throw Error(concat("the loss is no longer a number, in step ", i, " of epoch ", state.epochs_done + 1,
                         ": try a smaller learning_rate than ", config.learning_rate));
    }
    ++state.epochs_done;
    return summed / static_cast<double>(table.num_graphs());
  });
}

double GraphTrainer::loss(const GraphTable& table) const {
  check_fits(table, sizes());
  check_labelled(table, config());
  return with_short_errors([&] {
    const OneThread one_thread;
    const at::NoGradGuard no_grad;
    const GraphNetwork& network = state_->flat.network();
    const std::vector<std::int64_t> first_edge = first_edges(table);
    const Units units(table, config());
    const std::vector<std::int64_t> in_order = numbers_from(0, units.count());
    double summed = 0;
    for (std::int64_t i = 0; i < units.num_steps(); ++i) {
      const std::vector<std::int64_t> which = units.graphs(in_order, i);
      const GraphBatch batch = collate(table, first_edge, which, config().undirected);
      summed += network.loss(batch, network.forward(batch)).item<double>() * static_cast<double>(which.size());
    }
    return summed / static_cast<double>(table.num_graphs());
  });
}

LearningRates GraphTrainer::find_learning_rate(const GraphTable& table, double lowest, double highest,
                                               std::int64_t steps) const {
  check_fits(table, sizes());
  check_labelled(table, config());
  if (!(lowest > 0) || !(highest > lowest) || steps < 2) {
    throw InvalidArgumentError(
        concat("rates must grow from a number > 0 in at least 2 steps, got ", lowest, " to ", highest, " in ", steps));
  }
  return with_short_errors([&] {
    const OneThread one_thread;
    State trial{FlatNetwork(config(), sizes(), seed()), seed(), 0, state_->fingerprint};
    trial.flat.copy_from(state_->flat);
    trial.take_table(table);
    const std::vector<std::int64_t> first_edge = first_edges(table);
    const Units units(table, config());
    const std::vector<std::int64_t> order = order_of_epoch(units.count(), seed(), 0);
    LearningRates found;
    const std::int64_t window = std::max(std::int64_t{1}, steps / 10);
    double smoothed = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::vector<std::int64_t> which = units.graphs(order, i % units.num_steps());
      const double share = static_cast<double>(i) / static_cast<double>(steps - 1);
      const double rate = lowest * std::pow(highest / lowest, share);
      const double loss = trial.flat.step(collate(table, first_edge, which, config().undirected), rate, i, seed());
      smoothed = kSmoothing * smoothed + (1 - kSmoothing) * loss;
      const double unbiased = smoothed / (1 - std::pow(kSmoothing, static_cast<double>(i + 1)));
      if (!std::isfinite(unbiased)) break;
      found.rates.push_back(rate);
      found.losses.push_back(unbiased);
      // Of small batches the first losses are anything.
      const auto settled = found.losses.begin() + std::min(window, i);
      if (unbiased > kExplosion * *std::min_element(settled, found.losses.end())) break;
    }
    // Slopes between means of some losses before and after: one batch is easier than the next.
    const auto mean = [&](std::int64_t begin) {
      const auto first = found.losses.begin() + begin;
      return std::accumulate(first, first + window, 0.0) / static_cast<double>(window);
    };
    double fastest = 0;
    for (std::int64_t i = window; i + window < static_cast<std::int64_t>(found.losses.size()); ++i) {
      const double slope = mean(i + 1) - mean(i - window);
      if (slope >= fastest) continue;
      fastest = slope;
      found.steepest = found.rates[static_cast<std::size_t>(i)];
    }
    return found;
  });
}

GraphAnswers GraphTrainer::predict(const GraphTable& table) const {
  return predict_with(state_->flat.network(), table);
}
GraphAttention GraphTrainer::attention(const GraphTable& table) const {
  return attention_with(state_->flat.network(), table);
}

NamedArrays GraphTrainer::arrays() const { return state_->flat.arrays(); }

NamedArrays GraphTrainer::state() const {
  NamedArrays arrays = this->arrays();
  state_->flat.store_moments(arrays);
  store_numbers(kConfig, config_numbers(config()), arrays);
  store_numbers(kSizes, size_numbers(sizes()), arrays);
  store_progress(seed(), {epochs_done(), state_->fingerprint}, arrays);
  return arrays;
}

void GraphTrainer::load_state(const NamedArrays& stored) {
  // Without a schedule a training may be made longer.
  check_same_training(stored, kConfig, config_numbers(config()), config().schedule == "constant" ? "epochs" : "");
  check_same_training(stored, kSizes, size_numbers(sizes()));
  check_same_seed(stored, seed());
  const Progress progress = progress_of(stored);
  State& state = *state_;
  with_short_errors([&] {
    FlatNetwork loaded(config(), sizes(), seed());  // all of it is looked at before any of it is taken
    loaded.load_arrays(stored);
    loaded.load_moments(stored);
    state.flat.copy_from(loaded);
  });
  state.epochs_done = progress.epochs_done;
  state.fingerprint = progress.fingerprint;
}

const GraphConfig& GraphTrainer::config() const { return state_->config(); }
const GraphSizes& GraphTrainer::sizes() const { return state_->flat.network().sizes(); }
std::uint64_t GraphTrainer::seed() const { return state_->seed; }
std::int64_t GraphTrainer::epochs_done() const { return state_->epochs_done; }
std::int64_t GraphTrainer::num_parameters() const { return state_->flat.num_parameters(); }

}  // namespace latpred
