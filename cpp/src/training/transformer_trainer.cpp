#include "training/transformer_trainer.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "batch/torch_error.h"
#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/loss.h"
#include "predictors/packed_transformer.h"
#include "predictors/schedule.h"
#include "predictors/transformer.h"
#include "training/steps.h"
#include "training/transformer_arrays.h"
#include "training/worker_pool.h"

namespace latpred {
namespace {

// Graphs in one piece of a step: what a piece leaves for its backward pass fits the second cache. The same for any
// number of threads, so that sums are added in the same order.
constexpr std::int64_t kPieceGraphs = 16;
constexpr std::int64_t kPredictedGraphs = 64;  // at a time: bounds the memory

constexpr int kMostThreads = 64;

// Some graphs of a packed table, copied one after another.
struct Piece {
  std::vector<float> tokens;
  std::vector<std::int64_t> first_token;
  std::vector<float> targets;

  void take(const PackedTokens& packed, std::span<const std::int64_t> which) {
    tokens.clear();
    first_token.assign(1, 0);
    targets.clear();
    for (const std::int64_t graph : which) {
      const auto g = static_cast<std::size_t>(graph);
      const float* begin = packed.tokens.data();
      tokens.insert(tokens.end(), begin + packed.first_token[g] * kNodeAttributes,
                    begin + packed.first_token[g + 1] * kNodeAttributes);
      first_token.push_back(first_token.back() + packed.first_token[g + 1] - packed.first_token[g]);
      if (!packed.targets.empty()) targets.push_back(packed.targets[g]);
    }
  }
  [[nodiscard]] PackedGraphs graphs() const { return {tokens, first_token}; }
};

std::span<const float> values_of(const Transformer& module) {
  return {module.values().const_data_ptr<float>(), static_cast<std::size_t>(module.values().numel())};
}

void check_fits(const TokenTable& table, const TransformerConfig& config) {
  check(table);
  if (config.most_nodes == 0) return;
  const auto longest = std::ranges::max_element(table.lengths);
  if (*longest <= config.most_nodes) return;
  throw InvalidArgumentError(concat("config '", config.name, "' knows positions of up to ", config.most_nodes,
                                    " nodes, graph ", longest - table.lengths.begin(), " has ", *longest,
                                    "; use a config with sinusoidal positions ('ours') for deeper ones"));
}

std::unique_ptr<Transformer> make_module(const TransformerConfig& config, std::uint64_t seed) {
  check(config);
  return with_short_errors([&] {
    auto module = std::make_unique<Transformer>(config, at::make_generator<at::CPUGeneratorImpl>(seed));
    module->eval();
    return module;
  });
}

// A module and the packed loops on its weights.
struct Network {
  std::unique_ptr<Transformer> module;
  PackedTransformer packed;

  Network(const TransformerConfig& config, std::uint64_t seed) : module(make_module(config, seed)), packed(config) {
    weights_changed();
  }
  void weights_changed() { packed.set_parameters(values_of(*module)); }

  [[nodiscard]] std::vector<float> scaled_latencies(const PackedTokens& tokens) const {
    std::vector<float> result(static_cast<std::size_t>(tokens.num_graphs()));
    PackedTransformer::Workspace workspace;
    Piece piece;
    std::vector<std::int64_t> which;
    for (std::int64_t begin = 0; begin < tokens.num_graphs(); begin += kPredictedGraphs) {
      which.resize(static_cast<std::size_t>(std::min(kPredictedGraphs, tokens.num_graphs() - begin)));
      std::iota(which.begin(), which.end(), begin);
      piece.take(tokens, which);
      packed.forward(piece.graphs(), {}, workspace,
                     std::span(result).subspan(static_cast<std::size_t>(begin), which.size()));
    }
    return result;
  }

  [[nodiscard]] std::vector<double> predict(const TokenTable& table) const {
    check_fits(table, module->config());
    TokenTable unlabelled = table;
    unlabelled.target_s = {};
    std::vector<double> seconds;
    for (const float value : scaled_latencies(pack(unlabelled, module->scale()))) {
      seconds.push_back(module->scale().seconds(value));
    }
    return seconds;
  }

  [[nodiscard]] std::vector<float> attention(const TokenTable& table) const {
    check_fits(table, module->config());
    return with_short_errors([&] {
      const at::NoGradGuard no_grad;
      const at::Tensor shares = module->attention(collate(table)).contiguous();
      const float* begin = shares.const_data_ptr<float>();
      return std::vector<float>(begin, begin + shares.numel());
    });
  }
};

}  // namespace

struct TransformerRegressor::State : Network {
  using Network::Network;
};

TransformerRegressor::TransformerRegressor(const TransformerConfig& config, const NamedArrays& arrays)
    : state_(std::make_unique<State>(config, 0)) {
  with_short_errors([&] { restore(arrays, *state_->module); });
  state_->weights_changed();
}
TransformerRegressor::~TransformerRegressor() = default;
TransformerRegressor::TransformerRegressor(TransformerRegressor&&) noexcept = default;

std::vector<double> TransformerRegressor::predict(const TokenTable& table) const { return state_->predict(table); }
std::vector<float> TransformerRegressor::attention(const TokenTable& table) const { return state_->attention(table); }
const TransformerConfig& TransformerRegressor::config() const { return state_->module->config(); }
std::int64_t TransformerRegressor::num_parameters() const { return state_->module->layout().num_values; }

struct TransformerTrainer::State : Network {
  const TransformerConfig config;
  const std::uint64_t seed;
  std::int64_t epochs_done = 0;
  std::optional<std::uint64_t> fingerprint;  // of the table that it is trained on
  AlignedFloats first_moment, second_moment;
  std::vector<AlignedFloats> gradients;  // of each piece
  std::vector<double> losses;            // likewise, summed
  WorkerPool pool;
  struct Worker {
    PackedTransformer::Workspace workspace;
    Piece piece;
    std::vector<float> outputs;
  };
  std::vector<Worker> workers;

  State(const TransformerConfig& the_config, std::uint64_t the_seed, int num_threads)
      : Network(the_config, the_seed), config(the_config), seed(the_seed), pool(num_threads) {
    const auto size = static_cast<std::size_t>(module->layout().padded_size);
    first_moment.resize(size);
    second_moment.resize(size);
    const auto pieces = static_cast<std::size_t>((config.batch_graphs + kPieceGraphs - 1) / kPieceGraphs);
    gradients.resize(pieces, AlignedFloats(size));
    losses.resize(pieces);
    workers.resize(static_cast<std::size_t>(num_threads));
  }

  // The gradient of one piece of a batch; its loss is the sum over its graphs.
  void compute_piece(const PackedTokens& tokens, std::span<const std::int64_t> batch, DropoutPlan dropout,
                     std::int64_t index, int worker_index) {
    Worker& worker = workers[static_cast<std::size_t>(worker_index)];
    const auto first = static_cast<std::size_t>(index * kPieceGraphs);
    const auto which = batch.subspan(first, std::min(static_cast<std::size_t>(kPieceGraphs), batch.size() - first));
    for (const std::int64_t graph : batch.first(first)) {
      const auto g = static_cast<std::size_t>(graph);
      dropout.first_token += tokens.first_token[g + 1] - tokens.first_token[g];
    }
    worker.piece.take(tokens, which);
    worker.outputs.resize(which.size());
    packed.forward(worker.piece.graphs(), dropout, worker.workspace, worker.outputs);
    const LossRow& loss = loss_row(config.loss);
    double total = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const double residual = static_cast<double>(worker.outputs[i]) - static_cast<double>(worker.piece.targets[i]);
      total += loss.value(residual, config.huber_delta);
      worker.outputs[i] =
          static_cast<float>(loss.slope(residual, config.huber_delta) / static_cast<double>(batch.size()));
    }
    losses[static_cast<std::size_t>(index)] = total;
    packed.backward(worker.piece.graphs(), dropout, worker.workspace, worker.outputs,
                    gradients[static_cast<std::size_t>(index)]);
  }

  // One step of Adam; the summed loss of the batch.
  double step(const PackedTokens& tokens, std::span<const std::int64_t> batch, std::int64_t steps_done,
              std::int64_t all_steps) {
    const auto pieces = static_cast<std::int64_t>((batch.size() + kPieceGraphs - 1) / kPieceGraphs);
    const DropoutPlan dropout{config.dropout,
                              seed * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(steps_done)};  // the golden ratio
    pool.run(pieces, [&](std::int64_t i, int worker) { compute_piece(tokens, batch, dropout, i, worker); });

    const double share_done = static_cast<double>(steps_done) / static_cast<double>(all_steps);
    const double rate = config.learning_rate * schedule_row(config.schedule).rate(share_done);
    std::vector<const float*> parts;
    for (std::int64_t i = 0; i < pieces; ++i) parts.push_back(gradients[static_cast<std::size_t>(i)].data());
    packed.kernels().adam(parts.data(), pieces, module->values().numel(), adam_step(rate, steps_done),
                          module->values().mutable_data_ptr<float>(), first_moment.data(), second_moment.data());
    weights_changed();
    return std::accumulate(losses.begin(), losses.begin() + pieces, 0.0);
  }
};

TransformerTrainer::TransformerTrainer(const TransformerConfig& config, std::uint64_t seed, int num_threads) {
  if (num_threads < 1 || num_threads > kMostThreads) {
    throw InvalidArgumentError(concat("threads must be from 1 to ", kMostThreads, ", got ", num_threads));
  }
  state_ = std::make_unique<State>(config, seed, num_threads);
}
TransformerTrainer::~TransformerTrainer() = default;
TransformerTrainer::TransformerTrainer(TransformerTrainer&&) noexcept = default;

double TransformerTrainer::fit_epoch(const TokenTable& table) {
  State& state = *state_;
  check_fits(table, state.config);
  if (table.target_s.empty())
    throw InvalidArgumentError("training needs target_s, the seconds of each graph, got none");
  if (state.epochs_done >= state.config.epochs) {
    throw InvalidArgumentError(concat("all ", state.config.epochs, " epochs of this config are done"));
  }
  const std::uint64_t found = latpred::fingerprint(table);
  if (!state.fingerprint) {
    with_short_errors([&] { state.module->set_scale(scale_of(table, state.config.is_logarithmic())); });
    state.fingerprint = found;
  } else if (*state.fingerprint != found) {
    throw InvalidArgumentError(
        concat("this training began with other graphs or targets: its scales and its order are of those; after epoch ",
               state.epochs_done, " it must go on with the same"));
  }
  const PackedTokens tokens = pack(table, state.module->scale());
  const std::vector<std::int64_t> order = order_of_epoch(table.num_graphs, state.seed, state.epochs_done);
  const std::int64_t batch_graphs = state.config.batch_graphs;
  const std::int64_t steps = (table.num_graphs + batch_graphs - 1) / batch_graphs;
  double summed = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto first = static_cast<std::size_t>(i * batch_graphs);
    const auto size = std::min(static_cast<std::size_t>(batch_graphs), order.size() - first);
    summed += state.step(tokens, std::span(order).subspan(first, size), state.epochs_done * steps + i,
                         state.config.epochs * steps);
    if (!std::isfinite(summed)) {
      throw Error(concat("the loss is no longer a number, in step ", i, " of epoch ", state.epochs_done + 1,
                         ": try a smaller learning_rate than ", state.config.learning_rate));
    }
  }
  ++state.epochs_done;
  return summed / static_cast<double>(table.num_graphs);
}

double TransformerTrainer::loss(const TokenTable& table) const {
  check_fits(table, config());
  if (table.target_s.empty()) throw InvalidArgumentError("a loss needs target_s, the seconds of each graph, got none");
  const PackedTokens tokens = pack(table, state_->module->scale());
  const std::vector<float> outputs = state_->scaled_latencies(tokens);
  double total = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double residual = static_cast<double>(outputs[i]) - static_cast<double>(tokens.targets[i]);
    total += loss_row(config().loss).value(residual, config().huber_delta);
  }
  return total / static_cast<double>(outputs.size());
}

std::vector<double> TransformerTrainer::predict(const TokenTable& table) const { return state_->predict(table); }
std::vector<float> TransformerTrainer::attention(const TokenTable& table) const { return state_->attention(table); }

NamedArrays TransformerTrainer::arrays() const {
  NamedArrays arrays;
  store(*state_->module, arrays);
  return arrays;
}

NamedArrays TransformerTrainer::state() const {
  NamedArrays arrays = this->arrays();
  const TransformerLayout& layout = state_->module->layout();
  store_values(layout, state_->first_moment.data(), kFirstMoment, arrays);
  store_values(layout, state_->second_moment.data(), kSecondMoment, arrays);
  store_numbers(kConfig, config_numbers(config()), arrays);
  store_progress(seed(), {epochs_done(), state_->fingerprint}, arrays);
  return arrays;
}

void TransformerTrainer::load_state(const NamedArrays& stored) {
  // Without a schedule a training may be made longer.
  check_same_training(stored, kConfig, config_numbers(config()), config().schedule == "constant" ? "epochs" : "");
  check_same_seed(stored, seed());
  State& state = *state_;
  const TransformerLayout& layout = state.module->layout();
  // All of it is looked at before any of it is taken.
  AlignedFloats first = state.first_moment;
  AlignedFloats second = state.second_moment;
  restore_values(stored, layout, kFirstMoment, first.data());
  restore_values(stored, layout, kSecondMoment, second.data());
  const Progress progress = progress_of(stored);
  with_short_errors([&] { restore(stored, *state.module); });
  state.weights_changed();
  state.first_moment = std::move(first);
  state.second_moment = std::move(second);
  state.epochs_done = progress.epochs_done;
  state.fingerprint = progress.fingerprint;
}

const TransformerConfig& TransformerTrainer::config() const { return state_->config; }
std::uint64_t TransformerTrainer::seed() const { return state_->seed; }
std::int64_t TransformerTrainer::epochs_done() const { return state_->epochs_done; }
std::int64_t TransformerTrainer::num_parameters() const { return state_->module->layout().num_values; }

}  // namespace latpred
