#include "predictors/transformer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "latpred/error.h"
#include "message_of.h"
#include "predictors/packed_transformer.h"
#include "tokens.h"

namespace latpred {
using testing::Chains;
using testing::message_of;

namespace {

constexpr double kTolerance = 1e-5;

TransformerConfig small_config(const std::string& name) {
  TransformerConfig config = transformer_config(name);
  config.width = 32;
  config.heads = 2;
  config.feed_forward_width = 64;
  return config;
}

// A transformer whose every parameter is drawn, so that none is at a place where a wrong gradient is still 0.
std::unique_ptr<Transformer> drawn_module(const TransformerConfig& config, const TokenTable& table) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(5);
  auto module = std::make_unique<Transformer>(config, generator);
  const at::NoGradGuard no_grad;
  for (auto& parameter : module->named_parameters()) {
    parameter.value().add_(at::empty_like(parameter.value()).uniform_(-0.2, 0.2, generator));
  }
  module->set_scale(scale_of(table, config.is_logarithmic()));
  return module;
}

std::span<const float> values_of(const Transformer& module) {
  return {module.values().const_data_ptr<float>(), static_cast<std::size_t>(module.values().numel())};
}

struct PackedRun {
  PackedTokens tokens;
  std::vector<float> outputs;
  std::vector<float> gradient;  // of the sum of outputs times `slopes`
};

PackedRun run_packed(const Transformer& module, const TokenTable& table, const std::vector<float>& slopes,
                     const DropoutPlan& dropout, const PackedKernels& kernels) {
  PackedTransformer packed(module.config(), kernels);
  packed.set_parameters(values_of(module));
  PackedRun run{pack(table, module.scale()), {}, {}};
  const PackedGraphs graphs{run.tokens.tokens, run.tokens.first_token};
  PackedTransformer::Workspace workspace;
  run.outputs.resize(slopes.size());
  packed.forward(graphs, dropout, workspace, run.outputs);
  run.gradient.resize(static_cast<std::size_t>(module.layout().padded_size));
  packed.backward(graphs, dropout, workspace, slopes, run.gradient);
  return run;
}

// The packed scales of dropout where the padded module has them.
std::vector<at::Tensor> padded_scales(const TransformerConfig& config, const DropoutPlan& dropout,
                                      const PackedTokens& tokens, const at::Tensor& mask) {
  std::vector<at::Tensor> result;
  for (std::int64_t site = 0; site < 2 * config.blocks; ++site) {
    std::vector<float> scales = dropout_scales(dropout, site, tokens.first_token.back(), config.width);
    const at::Tensor rows = at::from_blob(scales.data(), {tokens.first_token.back(), config.width}).clone();
    const at::Tensor padded = torch::ones({mask.size(0), mask.size(1), config.width});
    padded.masked_scatter_(mask.unsqueeze(2).expand_as(padded), rows);
    result.push_back(padded);
  }
  return result;
}

TEST(Transformer, PackedLoopsComputeItsValuesAndGradients) {
  for (const std::string name : {"paper", "ours"}) {
    const TransformerConfig config = small_config(name);
    const Chains chains(40, 1, name == "paper" ? 10 : 19, 3);  // 19: scores of a row span two vectors
    const auto module = drawn_module(config, chains.table());
    std::vector<float> slopes(static_cast<std::size_t>(chains.size()));
    for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] = std::sin(static_cast<float>(i) + 1);
    const TokenBatch batch = collate(chains.table());
    for (const double share : {0.0, 0.3}) {
      const DropoutPlan dropout{share, 77, 0};
      for (const PackedKernels* kernels : packed_kernels()) {
        if (!kernels->is_supported()) continue;
        SCOPED_TRACE(name + " " + kernels->name + " dropout " + std::to_string(share));
        const PackedRun run = run_packed(*module, chains.table(), slopes, dropout, *kernels);
        module->zero_grad();
        const auto scales =
            share > 0 ? padded_scales(config, dropout, run.tokens, batch.mask) : std::vector<at::Tensor>{};
        const at::Tensor outputs = module->forward_scaled(module->scale_tokens(batch.tokens), batch.mask, scales);
        (outputs * at::from_blob(slopes.data(), {chains.size()})).sum().backward();
        for (std::size_t i = 0; i < slopes.size(); ++i) {
          EXPECT_NEAR(run.outputs[i], outputs[static_cast<std::int64_t>(i)].item<float>(), kTolerance);
        }
        for (const TransformerLayout::Slot& slot : module->layout().slots) {
          const at::Tensor expected = module->named_parameters()[slot.name].grad().contiguous();
          const float* numbers = expected.const_data_ptr<float>();
          // Relative to the largest of the tensor: sums of many terms of both signs lie in each.
          const double size = std::max(1.0, expected.abs().max().item<double>());
          EXPECT_GT(expected.abs().max().item<double>(), 0) << slot.name;
          for (std::int64_t i = 0; i < slot.size(); ++i) {
            ASSERT_NEAR(run.gradient[static_cast<std::size_t>(slot.offset + i)], numbers[i], kTolerance * size)
                << slot.name << " at " << i;
          }
        }
      }
    }
  }
}

TEST(Transformer, DropsTheAskedShareAndKeepsTheMean) {
  const std::vector<float> scales = dropout_scales({0.1, 3, 0}, 1, 2000, 64);
  const double dropped = static_cast<double>(std::count(scales.begin(), scales.end(), 0.0f));
  const auto size = static_cast<double>(scales.size());
  EXPECT_NEAR(dropped / size, 0.1, 4 * std::sqrt(0.09 / size));  // four deviations of a binomial
  EXPECT_NEAR(std::accumulate(scales.begin(), scales.end(), 0.0) / size, 1, 0.005);
  EXPECT_NE(scales, dropout_scales({0.1, 4, 0}, 1, 2000, 64));
  EXPECT_NE(scales, dropout_scales({0.1, 3, 0}, 2, 2000, 64));
  // A later part of the same batch drops what the whole drops there.
  const std::vector<float> part = dropout_scales({0.1, 3, 500}, 1, 1500, 64);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), scales.begin() + 500 * 64));
}

TEST(Transformer, PaddingNeverChangesAPrediction) {
  const Chains chains(12, 1, 10, 9);
  const TransformerConfig config = small_config("paper");
  const auto module = drawn_module(config, chains.table());
  const at::NoGradGuard no_grad;
  const at::Tensor expected = module->forward(collate(chains.table()));
  Chains wide(12, 1, 10, 9);
  wide.num_nodes = 14;
  wide.attributes.assign(12 * 14 * 3, std::nan(""));
  for (std::int64_t g = 0; g < 12; ++g) {
    const auto valid = chains.lengths[static_cast<std::size_t>(g)] * kNodeAttributes;
    std::copy_n(chains.attributes.begin() + g * 10 * 3, valid, wide.attributes.begin() + g * 14 * 3);
  }
  const at::Tensor found = module->forward(collate(wide.table()));
  EXPECT_LT((found - expected).abs().max().item<double>(), kTolerance * expected.abs().max().item<double>());
}

TEST(Transformer, AttentionOfValidNodesSumsToOne) {
  const Chains chains(9, 1, 10, 4);
  const auto module = drawn_module(small_config("ours"), chains.table());
  const at::NoGradGuard no_grad;
  const TokenBatch batch = collate(chains.table());
  const at::Tensor shares = module->attention(batch);
  ASSERT_EQ(shares.sizes(), (std::vector<std::int64_t>{9, 2, 2, 10, 10}));
  const at::Tensor expected = batch.mask.to(at::kFloat).view({9, 1, 1, 10}).expand({9, 2, 2, 10});
  EXPECT_LT((shares.sum(-1) - expected).abs().max().item<double>(), kTolerance);
  EXPECT_EQ(shares.masked_select(batch.mask.logical_not().view({9, 1, 1, 1, 10})).abs().sum().item<double>(), 0);
}

TEST(Transformer, TheBlockIsTheOneThatWasRead) {
  // By hand: one node of one graph attends to itself alone, so attention is its value. With all projections but the
  // embedding at 0, each half adds the bias of its last LayerNorm.
  TransformerConfig config = small_config("paper");
  config.blocks = 1;
  Transformer module(config, at::make_generator<at::CPUGeneratorImpl>(1));
  const at::NoGradGuard no_grad;
  for (auto& parameter : module.named_parameters()) {
    if (parameter.key().starts_with("block_")) parameter.value().zero_();
  }
  auto parameters = module.named_parameters();
  parameters["block_0_attention_norm_after_bias"].fill_(0.5);
  parameters["block_0_feed_forward_norm_after_bias"].fill_(0.25);
  const at::Tensor token = torch::tensor({1.0f, 2.0f, -1.0f}).view({1, 1, 3});
  const at::Tensor x = at::matmul(parameters["embedding_weight"], token.view({3})) + parameters["embedding_bias"] +
                       parameters["positions"][0] + 0.75;
  const double expected =
      (parameters["output_weight"][0] * x).sum().item<double>() + parameters["output_bias"].item<double>();
  const at::Tensor found = module.forward_scaled(token, torch::ones({1, 1}, torch::kBool));
  EXPECT_NEAR(found.item<double>(), expected, kTolerance);
}

TEST(TransformerConfig, RefusesWhatItCannotBe) {
  const auto message = [](auto change) {
    TransformerConfig config;
    change(config);
    return message_of<InvalidArgumentError>([&] { check(config); });
  };
  EXPECT_EQ(message([](auto& config) { config.width = 48; }), "width must be a multiple of 32, got 48");
  EXPECT_EQ(message([](auto& config) { config.heads = 8; }), "width / heads must be a multiple of 16, got 64 / 8");
  EXPECT_EQ(message([](auto& config) { config.dropout = 1; }), "dropout must be >= 0 and < 1, got 1");
  EXPECT_EQ(message([](auto& config) { config.loss = "l2"; }),
            "unknown loss 'l2'; did you mean 'l1'? Valid: mse, l1, huber");
  EXPECT_EQ(message([](auto& config) { config.most_nodes = 0; }), "most_nodes must be an integer >= 1, got 0");
  EXPECT_NE(message_of<InvalidArgumentError>([] { (void)transformer_config("theirs"); }).find("ours"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred
