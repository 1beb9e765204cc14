#include "predictors/graph_layers.h"

#include <ATen/ops/diff.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/segment_reduce.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <cmath>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"
#include "predictors/graph_sums.h"

namespace latpred {
namespace {

constexpr double kSlope = 0.2;             // of GAT's leaky rectifier (Velickovic et al. 2018)
constexpr double kShortestLength = 1e-12;  // of a row that L2 normalisation divides by; torch's

at::Tensor uniform(std::vector<std::int64_t> shape, double bound, const at::Generator& generator) {
  return at::empty(shape, at::kFloat).uniform_(-bound, bound, generator);
}

// Glorot and Bengio's rule, PyTorch Geometric's start of attention and of linear maps without bias.
at::Tensor glorot(std::int64_t outputs, std::int64_t inputs, const at::Generator& generator) {
  return uniform({outputs, inputs}, std::sqrt(6.0 / static_cast<double>(outputs + inputs)), generator);
}

// How much each node attends to each of its neighbours and to itself hangs on both.
class GatLayer : public GraphLayer {
 public:
  GatLayer(const GraphLayerOptions& options, const at::Generator& generator) : heads_(options.heads) {
    const std::int64_t width = options.width / heads_;
    weight_ = register_parameter("weight", glorot(options.width, options.inputs, generator));
    at_source_ = register_parameter("attention_source", glorot(heads_, width, generator));
    at_target_ = register_parameter("attention_target", glorot(heads_, width, generator));
    bias_ = register_parameter("bias", at::zeros({options.width}));
  }

  at::Tensor forward(const at::Tensor& x, const GraphEdges& edges, at::Tensor* shares) const override {
    const at::Tensor values = at::linear(x, weight_);
    const at::Tensor by_head = values.view({x.size(0), heads_, -1});
    const at::Tensor from = (by_head * at_source_).sum(-1);  // [n, heads]
    const at::Tensor to = (by_head * at_target_).sum(-1);
    const at::Tensor scores = rows_at(from, edges.looped.source) + rows_at(to, edges.looped.target);
    const at::Tensor share = softmax_of_neighbours(at::leaky_relu(scores, kSlope), edges.looped);
    if (shares != nullptr) *shares = share;
    return weighted_sum(values, share, edges.looped) + bias_;
  }

 private:
  std::int64_t heads_;
  at::Tensor weight_, at_source_, at_target_, bias_;
};

// The mean of the neighbours through one map and the node itself through another.
class SageLayer : public GraphLayer {
 public:
  SageLayer(const GraphLayerOptions& options, const at::Generator& generator) : l2_norm_(options.l2_norm) {
    const LinearWeights neighbours = linear_weights(options.width, options.inputs, generator);
    weight_ = register_parameter("neighbour_weight", neighbours.weight);
    bias_ = register_parameter("neighbour_bias", neighbours.bias);
    own_weight_ = register_parameter("own_weight", linear_weights(options.width, options.inputs, generator).weight);
  }

  at::Tensor forward(const at::Tensor& x, const GraphEdges& edges, at::Tensor* /*shares*/) const override {
    const at::Tensor mean = weighted_sum(x, edges.mean_weight, edges.neighbours);
    const at::Tensor values = at::linear(mean, weight_, bias_) + at::linear(x, own_weight_);
    if (!l2_norm_) return values;
    return values / at::linalg_vector_norm(values, 2, {-1}, /*keepdim=*/true).clamp_min(kShortestLength);
  }

 private:
  bool l2_norm_;
  at::Tensor weight_, bias_, own_weight_;
};

// Kipf and Welling's: neighbours and the node itself, weighted by their degrees.
class GcnLayer : public GraphLayer {
 public:
  GcnLayer(const GraphLayerOptions& options, const at::Generator& generator) {
    weight_ = register_parameter("weight", glorot(options.width, options.inputs, generator));
    bias_ = register_parameter("bias", at::zeros({options.width}));
  }

  at::Tensor forward(const at::Tensor& x, const GraphEdges& edges, at::Tensor* /*shares*/) const override {
    return weighted_sum(at::linear(x, weight_), edges.gcn_weight, edges.looped) + bias_;
  }

 private:
  at::Tensor weight_, bias_;
};

// The sum of the node and its neighbours through two linear maps with a rectifier between (Xu et al. 2019; epsilon 0).
class GinLayer : public GraphLayer {
 public:
  GinLayer(const GraphLayerOptions& options, const at::Generator& generator) {
    const LinearWeights in = linear_weights(options.width, options.inputs, generator);
    const LinearWeights out = linear_weights(options.width, options.width, generator);
    weight_in_ = register_parameter("weight_in", in.weight);
    bias_in_ = register_parameter("bias_in", in.bias);
    weight_out_ = register_parameter("weight_out", out.weight);
    bias_out_ = register_parameter("bias_out", out.bias);
  }

  at::Tensor forward(const at::Tensor& x, const GraphEdges& edges, at::Tensor* /*shares*/) const override {
    const at::Tensor sum = x + weighted_sum(x, edges.one, edges.neighbours);
    return at::linear(at::relu(at::linear(sum, weight_in_, bias_in_)), weight_out_, bias_out_);
  }

 private:
  at::Tensor weight_in_, bias_in_, weight_out_, bias_out_;
};

template <typename Layer>
std::shared_ptr<GraphLayer> make(const GraphLayerOptions& options, const at::Generator& generator) {
  return std::make_shared<Layer>(options, generator);
}

struct LayerRow {
  std::string_view name;
  std::shared_ptr<GraphLayer> (*make)(const GraphLayerOptions&, const at::Generator&);
};
constexpr std::array<LayerRow, 4> kLayers{{
    {"gat", &make<GatLayer>},
    {"sage", &make<SageLayer>},
    {"gcn", &make<GcnLayer>},
    {"gin", &make<GinLayer>},
}};

constexpr std::array<std::string_view, 3> kReadouts{"sum", "mean", "max"};  // as segment_reduce calls them

}  // namespace

GraphEdges graph_edges(const Neighbours& neighbours) {
  GraphEdges edges{.neighbours = neighbours, .looped = with_self_loops(neighbours)};
  const auto degree = [](const Neighbours& some) { return at::diff(some.first).to(at::kFloat); };
  edges.mean_weight = degree(neighbours).clamp_min(1).reciprocal().index_select(0, neighbours.target).unsqueeze(1);
  const at::Tensor root = degree(edges.looped).rsqrt();
  edges.gcn_weight =
      (root.index_select(0, edges.looped.source) * root.index_select(0, edges.looped.target)).unsqueeze(1);
  edges.one = at::ones({neighbours.source.numel(), 1}, at::kFloat);
  return edges;
}

std::shared_ptr<GraphLayer> make_graph_layer(const std::string& kind, const GraphLayerOptions& options,
                                             const at::Generator& generator) {
  for (const LayerRow& row : kLayers) {
    if (row.name == kind) return row.make(options, generator);
  }
  throw InvalidArgumentError(unknown_name_message("graph layer", kind, graph_layer_names()));
}

std::vector<std::string> graph_layer_names() {
  std::vector<std::string> names;
  for (const LayerRow& row : kLayers) names.emplace_back(row.name);
  return names;
}

at::Tensor graph_size_norm(const at::Tensor& x, const GraphBatch& batch) {
  const at::Tensor sizes = at::diff(batch.first_node).to(at::kFloat);
  return x * sizes.rsqrt().index_select(0, batch.graph).unsqueeze(1);
}

at::Tensor read_out(const std::string& how, const at::Tensor& x, const GraphBatch& batch) {
  return at::segment_reduce(x, how, at::diff(batch.first_node), {}, {}, 0, /*unsafe=*/true);
}

std::vector<std::string> readout_names() { return {kReadouts.begin(), kReadouts.end()}; }

LinearWeights linear_weights(std::int64_t outputs, std::int64_t inputs, const at::Generator& generator) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const at::Tensor weight = uniform({outputs, inputs}, bound, generator);
  return {weight, uniform({outputs}, bound, generator)};
}

}  // namespace latpred
