#include "predictors/graph_sums.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "predictors/packed_kernels.h"

namespace latpred {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// PyTorch Geometric's, against division by nothing.
constexpr float kSoftmaxEpsilon = 1e-16F;

const std::int64_t* integers(const at::Tensor& tensor) { return tensor.const_data_ptr<std::int64_t>(); }

void add_scaled(const float* from, float scale, std::int64_t size, float* to) {
  for (std::int64_t i = 0; i < size; ++i) to[i] += scale * from[i];
}

float dot(const float* left, const float* right, std::int64_t size) {
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += left[i] * right[i];
  return sum;
}

class WeightedSum : public torch::autograd::Function<WeightedSum> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_in, const at::Tensor& weights_in,
                            const at::Tensor& first, const at::Tensor& source) {
    const at::Tensor x = x_in.contiguous();
    const at::Tensor weights = weights_in.contiguous();
    context->save_for_backward({x, weights, first, source});
    const std::int64_t num_nodes = first.numel() - 1;
    const std::int64_t heads = weights.size(1);
    const std::int64_t width = x.size(1) / heads;
    const at::Tensor out = at::zeros({num_nodes, x.size(1)}, x.options());
    const auto* from = x.const_data_ptr<float>();
    const auto* weight = weights.const_data_ptr<float>();
    auto* to = out.mutable_data_ptr<float>();
    const std::int64_t* const first_edge = integers(first);
    const std::int64_t* const from_node = integers(source);
    for (std::int64_t n = 0; n < num_nodes; ++n) {
      for (std::int64_t e = first_edge[n]; e < first_edge[n + 1]; ++e) {
        for (std::int64_t h = 0; h < heads; ++h) {
          add_scaled(from + (from_node[e] * heads + h) * width, weight[e * heads + h], width,
                     to + (n * heads + h) * width);
        }
      }
    }
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weights = saved[1];
    const at::Tensor& first = saved[2];
    const at::Tensor& source = saved[3];
    const at::Tensor d_out = gradients[0].contiguous();
    const std::int64_t num_nodes = first.numel() - 1;
    const std::int64_t heads = weights.size(1);
    const std::int64_t width = x.size(1) / heads;
    const bool wants_weights = context->needs_input_grad(1);
    const at::Tensor d_x = at::zeros_like(x);
    const at::Tensor d_weights = wants_weights ? at::empty_like(weights) : at::Tensor();
    const auto* from = x.const_data_ptr<float>();
    const auto* weight = weights.const_data_ptr<float>();
    const auto* d_to = d_out.const_data_ptr<float>();
    auto* d_from = d_x.mutable_data_ptr<float>();
    auto* d_weight = wants_weights ? d_weights.mutable_data_ptr<float>() : nullptr;
    const std::int64_t* const first_edge = integers(first);
    const std::int64_t* const from_node = integers(source);
    for (std::int64_t n = 0; n < num_nodes; ++n) {
      for (std::int64_t e = first_edge[n]; e < first_edge[n + 1]; ++e) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const std::int64_t at_source = (from_node[e] * heads + h) * width;
          const float* d_row = d_to + (n * heads + h) * width;
          add_scaled(d_row, weight[e * heads + h], width, d_from + at_source);
          if (wants_weights) d_weight[e * heads + h] = dot(d_row, from + at_source, width);
        }
      }
    }
    return {d_x, d_weights, at::Tensor(), at::Tensor()};
  }
};

class SoftmaxOfNeighbours : public torch::autograd::Function<SoftmaxOfNeighbours> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& scores_in, const at::Tensor& first) {
    const at::Tensor scores = scores_in.contiguous();
    const at::Tensor shares = at::empty_like(scores);
    const std::int64_t heads = scores.size(1);
    const auto* score = scores.const_data_ptr<float>();
    auto* share = shares.mutable_data_ptr<float>();
    const std::int64_t* const first_edge = integers(first);
    for (std::int64_t n = 0; n + 1 < first.numel(); ++n) {
      const std::int64_t begin = first_edge[n];
      const std::int64_t end = first_edge[n + 1];
      for (std::int64_t h = 0; h < heads && begin < end; ++h) {
        float most = score[begin * heads + h];
        for (std::int64_t e = begin; e < end; ++e) most = std::max(most, score[e * heads + h]);
        float sum = kSoftmaxEpsilon;
        for (std::int64_t e = begin; e < end; ++e) sum += share[e * heads + h] = std::exp(score[e * heads + h] - most);
        for (std::int64_t e = begin; e < end; ++e) share[e * heads + h] /= sum;
      }
    }
    context->save_for_backward({shares, first});
    return shares;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& shares = saved[0];
    const at::Tensor& first = saved[1];
    const at::Tensor d_shares = gradients[0].contiguous();
    const at::Tensor d_scores = at::empty_like(shares);
    const std::int64_t heads = shares.size(1);
    const auto* share = shares.const_data_ptr<float>();
    const auto* d_share = d_shares.const_data_ptr<float>();
    auto* d_score = d_scores.mutable_data_ptr<float>();
    const std::int64_t* const first_edge = integers(first);
    for (std::int64_t n = 0; n + 1 < first.numel(); ++n) {
      for (std::int64_t h = 0; h < heads; ++h) {
        float mean = 0;
        for (std::int64_t e = first_edge[n]; e < first_edge[n + 1]; ++e) {
          mean += share[e * heads + h] * d_share[e * heads + h];
        }
        for (std::int64_t e = first_edge[n]; e < first_edge[n + 1]; ++e) {
          d_score[e * heads + h] = share[e * heads + h] * (d_share[e * heads + h] - mean);
        }
      }
    }
    return {d_scores, at::Tensor()};
  }
};

class RowsAt : public torch::autograd::Function<RowsAt> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& index) {
    context->save_for_backward({index});
    context->saved_data["rows"] = x.size(0);
    return at::index_select(x, 0, index);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor index = context->get_saved_variables()[0];
    const at::Tensor d_out = gradients[0].contiguous();
    const std::int64_t width = d_out.size(1);
    const at::Tensor d_x = at::zeros({context->saved_data["rows"].toInt(), width}, d_out.options());
    const auto* from = d_out.const_data_ptr<float>();
    auto* to = d_x.mutable_data_ptr<float>();
    const std::int64_t* const row = integers(index);
    for (std::int64_t e = 0; e < index.numel(); ++e) add_scaled(from + e * width, 1, width, to + row[e] * width);
    return {d_x, at::Tensor()};
  }
};

class Rectified : public torch::autograd::Function<Rectified> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_in, double share, std::int64_t key) {
    const at::Tensor x = x_in.contiguous();
    at::Tensor out = at::empty_like(x);
    const Dropout dropout = dropout_of(share, static_cast<std::uint32_t>(key));
    fastest_packed_kernels().rectify(x.const_data_ptr<float>(), dropout, x.numel(), out.mutable_data_ptr<float>());
    context->save_for_backward({out});
    context->saved_data["scale"] = static_cast<double>(dropout.scale);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    // What is above 0 was neither negative nor dropped.
    const at::Tensor out = context->get_saved_variables()[0];
    const at::Tensor d_out = gradients[0].contiguous();
    at::Tensor d_x = at::empty_like(out);
    fastest_packed_kernels().rectify_backward(d_out.const_data_ptr<float>(), out.const_data_ptr<float>(),
                                              static_cast<float>(context->saved_data["scale"].toDouble()), out.numel(),
                                              d_x.mutable_data_ptr<float>());
    return {d_x, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor weighted_sum(const at::Tensor& x, const at::Tensor& weights, const Neighbours& neighbours) {
  return WeightedSum::apply(x, weights, neighbours.first, neighbours.source);
}

at::Tensor softmax_of_neighbours(const at::Tensor& scores, const Neighbours& neighbours) {
  return SoftmaxOfNeighbours::apply(scores, neighbours.first);
}

at::Tensor rectified(const at::Tensor& x, double dropout, const at::Generator* generator) {
  if (generator == nullptr || dropout == 0) return at::relu(x);
  auto* random = at::check_generator<at::CPUGeneratorImpl>(*generator);
  return Rectified::apply(x, dropout, static_cast<std::int64_t>(random->random()));
}

at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index) { return RowsAt::apply(x, index); }

}  // namespace latpred
