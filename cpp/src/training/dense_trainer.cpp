#include "training/dense_trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/loss.h"
#include "predictors/schedule.h"
#include "training/dense_network.h"
#include "training/steps.h"

namespace latpred {
namespace {

std::int64_t num_features_of(const DenseConfig& config) {
  check(config);
  return dense_rows(config.rows).num_columns(config);
}

}  // namespace

struct DenseRegressor::State : DenseNetwork {
  using DenseNetwork::DenseNetwork;
};

DenseRegressor::DenseRegressor(const DenseConfig& config, const NamedArrays& arrays)
    : state_(std::make_unique<State>(config, num_features_of(config))) {
  state_->restore(arrays);
}
DenseRegressor::~DenseRegressor() = default;
DenseRegressor::DenseRegressor(DenseRegressor&&) noexcept = default;

std::vector<double> DenseRegressor::predict(const NetTable& table) const { return state_->predict(table); }
const DenseConfig& DenseRegressor::config() const { return state_->config(); }
std::int64_t DenseRegressor::num_parameters() const { return state_->packed().layout().num_values; }

struct DenseTrainer::State {
  DenseNetwork network;
  const std::uint64_t seed;
  std::int64_t epochs_done = 0;
  std::optional<std::uint64_t> fingerprint;  // of the table that it is trained on
  AlignedFloats first_moment, second_moment, gradient;

  std::optional<DenseBatch> batch;  // of that table, kept from epoch to epoch
  std::vector<double> targets;      // [G]

  PackedDense::Workspace workspace;
  std::vector<float> outputs, slopes;  // of the rows of a step

  State(const DenseConfig& config, std::uint64_t the_seed) : network(config, num_features_of(config)), seed(the_seed) {
    network.draw(seed);
    for (AlignedFloats* values : {&first_moment, &second_moment, &gradient}) values->resize(network.parameters.size());
  }

  void take(const NetTable& table) {
    const std::uint64_t found = latpred::fingerprint(table);
    if (fingerprint && *fingerprint != found) {
      throw InvalidArgumentError(
          concat("this training began with other nets or targets: its scales and its order are of those; after epoch ",
                 epochs_done, " it must go on with the same"));
    }
    if (batch) return;
    const DenseRows& kind = dense_rows(network.config().rows);
    const NetRows rows = kind.make(table, network.config());
    if (!fingerprint) network.scale = scale_of(rows, table.tokens.target_s, kind.are_summed);
    fingerprint = found;
    batch = network.batch(rows);
    targets.clear();
    for (const double seconds : table.tokens.target_s) targets.push_back(network.target(seconds));
  }

  // One step of Adam; the summed loss of the nets.
  double step(std::span<const std::int64_t> nets, double rate, std::int64_t steps_done) {
    const PackedDense& packed = network.packed();
    const std::int64_t size = packed.layout().row_size();
    const auto rows_of = [&](std::int64_t net) {
      const auto g = static_cast<std::size_t>(net);
      return std::pair(batch->first_row[g], batch->first_row[g + 1] - batch->first_row[g]);
    };
    std::int64_t num_rows = 0;
    for (const std::int64_t net : nets) num_rows += rows_of(net).second;
    float* to = packed.rows(num_rows, workspace);
    for (const std::int64_t net : nets) {
      const auto [first, count] = rows_of(net);
      to = std::copy_n(batch->rows.begin() + first * size, count * size, to);
    }
    outputs.resize(static_cast<std::size_t>(num_rows));
    slopes.resize(outputs.size());
    packed.forward(workspace, outputs);

    const DenseConfig& config = network.config();
    const LossRow& loss = loss_row(config.loss);
    double total = 0;
    std::size_t place = 0;
    for (const std::int64_t net : nets) {
      const auto [first, count] = rows_of(net);
      const auto shares = std::span(slopes).subspan(place, static_cast<std::size_t>(count));
      const double output =
          network.read_out(std::span(outputs).subspan(place, shares.size()),
                           batch->log_base.empty() ? nullptr : batch->log_base.data() + first, shares);
      const double residual = output - targets[static_cast<std::size_t>(net)];
      total += loss.value(residual, config.huber_delta);
      const double slope = loss.slope(residual, config.huber_delta) / static_cast<double>(nets.size());
      for (float& share : shares) share *= static_cast<float>(slope);
      place += shares.size();
    }
    packed.backward(workspace, slopes, gradient);
    const float* parts[] = {gradient.data()};
    packed.kernels().adam(parts, 1, packed.layout().padded_size, adam_step(rate, steps_done), network.parameters.data(),
                          first_moment.data(), second_moment.data());
    network.parameters_changed();
    return total;
  }
};

DenseTrainer::DenseTrainer(const DenseConfig& config, std::uint64_t seed)
    : state_(std::make_unique<State>(config, seed)) {}
DenseTrainer::~DenseTrainer() = default;
DenseTrainer::DenseTrainer(DenseTrainer&&) noexcept = default;

double DenseTrainer::fit_epoch(const NetTable& table) {
  State& state = *state_;
  if (table.tokens.target_s.empty()) {
    throw InvalidArgumentError("training needs target_s, the seconds of each net, got none");
  }
  if (state.epochs_done >= config().epochs) {
    throw InvalidArgumentError(concat("all ", config().epochs, " epochs of this config are done"));
  }
  check(table);
  state.take(table);
  const std::vector<std::int64_t> order = order_of_epoch(table.num_graphs(), state.seed, state.epochs_done);
  const auto batch_nets = static_cast<std::size_t>(config().batch_nets);
  const std::size_t steps = (order.size() + batch_nets - 1) / batch_nets;
  double summed = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::int64_t steps_done = state.epochs_done * static_cast<std::int64_t>(steps) + static_cast<std::int64_t>(i);
    const double share_done =
        static_cast<double>(steps_done) / static_cast<double>(config().epochs * static_cast<std::int64_t>(steps));
    const double rate = config().learning_rate * schedule_row(config().schedule).rate(share_done);
    const std::size_t first = i * batch_nets;
    summed += state.step(std::span(order).subspan(first, std::min(batch_nets, order.size() - first)), rate, steps_done);
    if (!std::isfinite(summed)) {
      throw Error(concat("the loss is no longer a number, in step ", i, " of epoch ", state.epochs_done + 1,
                         ": try a smaller learning_rate than ", config().learning_rate));
    }
  }
  ++state.epochs_done;
  return summed / static_cast<double>(order.size());
}

std::vector<double> DenseTrainer::predict(const NetTable& table) const { return state_->network.predict(table); }

NamedArrays DenseTrainer::arrays() const {
  NamedArrays arrays;
  state_->network.store(arrays);
  return arrays;
}

NamedArrays DenseTrainer::state() const {
  NamedArrays arrays = this->arrays();
  state_->network.store_values(state_->first_moment, kFirstMoment, arrays);
  state_->network.store_values(state_->second_moment, kSecondMoment, arrays);
  store_numbers(kConfig, config_numbers(config()), arrays);
  store_progress(state_->seed, {epochs_done(), state_->fingerprint}, arrays);
  return arrays;
}

void DenseTrainer::load_state(const NamedArrays& stored) {
  State& state = *state_;
  check_same_training(stored, kConfig, config_numbers(config()));
  check_same_seed(stored, state.seed);
  // All of it is looked at before any of it is taken.
  AlignedFloats first = state.first_moment;
  AlignedFloats second = state.second_moment;
  state.network.restore_values(stored, kFirstMoment, first);
  state.network.restore_values(stored, kSecondMoment, second);
  const Progress progress = progress_of(stored);
  state.network.restore(stored);
  state.first_moment = std::move(first);
  state.second_moment = std::move(second);
  state.epochs_done = progress.epochs_done;
  state.fingerprint = progress.fingerprint;
  state.batch.reset();
}

const DenseConfig& DenseTrainer::config() const { return state_->network.config(); }
std::int64_t DenseTrainer::epochs_done() const { return state_->epochs_done; }
std::int64_t DenseTrainer::num_parameters() const { return state_->network.packed().layout().num_values; }

}  // namespace latpred
