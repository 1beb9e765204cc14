#include "predictors/graph_layers.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include "golden_lines.h"
#include "latpred/json.h"
#include "message_of.h"

namespace latpred {
namespace {

constexpr double kTolerance = 1e-5;

std::vector<std::int64_t> integers(const Json& json) {
  std::vector<std::int64_t> result;
  for (const Json& item : json.array()) result.push_back(item.integer());
  return result;
}

at::Tensor tensor(const Json& json, std::vector<std::int64_t> shape) {
  std::vector<double> values;
  for (const Json& item : json.array()) values.push_back(item.number());
  return at::tensor(values, at::kDouble).to(at::kFloat).view(shape);
}

void expect_near(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  EXPECT_TRUE(at::allclose(found, expected, kTolerance, kTolerance)) << what << "\n" << found << "\n" << expected;
}

// What PyTorch Geometric gives (tools/fixtures/make_graph_layers.py).
struct Golden {
  Json json = parse_json(testing::golden_lines("graph_layers.json").at(0));
  std::int64_t inputs = json.at("inputs").integer();
  std::int64_t width = json.at("width").integer();
  std::vector<std::int64_t> first_node = integers(json.at("first_node"));

  [[nodiscard]] GraphBatch batch(bool undirected) const {
    const std::vector<std::int64_t> source = integers(json.at("edges").array()[0]);
    const std::vector<std::int64_t> target = integers(json.at("edges").array()[1]);
    std::vector<std::int64_t> edges = source;
    edges.insert(edges.end(), target.begin(), target.end());
    const GraphTable table{.edges = edges, .first_node = first_node};
    const std::vector<std::int64_t> all{0, 1};
    return collate(table, first_edges(table), all, undirected);
  }
};

TEST(GraphLayers, EqualPyTorchGeometrics) {
  const Golden golden;
  const std::int64_t nodes = golden.first_node.back();
  std::int64_t seen = 0;
  for (const Json& one : golden.json.at("layers").array()) {
    const std::string kind = one.at("layer").text();
    GraphLayerOptions options{.inputs = golden.inputs, .width = golden.width};
    if (const Json* heads = one.find("heads")) options.heads = heads->integer();
    if (const Json* l2_norm = one.find("l2_norm")) options.l2_norm = l2_norm->boolean();
    const auto layer = make_graph_layer(kind, options, at::make_generator<at::CPUGeneratorImpl>(1));
    {
      const torch::NoGradGuard no_grad;
      for (auto& parameter : layer->named_parameters()) {
        parameter.value().copy_(tensor(one.at("parameters").at(parameter.key()), parameter.value().sizes().vec()));
      }
    }
    const bool undirected = one.at("undirected").boolean();
    const GraphBatch batch = golden.batch(undirected);
    const GraphEdges edges = graph_edges(batch.neighbours);
    const at::Tensor x = tensor(one.at("x"), {nodes, golden.inputs}).requires_grad_();
    at::Tensor shares;
    const at::Tensor out = layer->forward(x, edges, &shares);
    const std::string what = kind + (undirected ? " undirected" : " directed");
    expect_near(out.detach(), tensor(one.at("out"), {nodes, golden.width}), what);
    (out * tensor(one.at("slope"), {nodes, golden.width})).sum().backward();
    expect_near(x.grad(), tensor(one.at("d_x"), {nodes, golden.inputs}), what + ", gradient of x");
    for (const auto& parameter : layer->named_parameters()) {
      expect_near(parameter.value().grad(),
                  tensor(one.at("d_parameters").at(parameter.key()), parameter.value().sizes().vec()),
                  what + ", gradient of " + parameter.key());
    }
    ++seen;
    ASSERT_EQ(shares.defined(), kind == "gat") << what;
    if (!shares.defined()) continue;
    // Theirs stand in another order: each edge once.
    const std::vector<std::int64_t> sources = integers(one.at("attention_edges").array()[0]);
    const std::vector<std::int64_t> targets = integers(one.at("attention_edges").array()[1]);
    const auto edge_count = static_cast<std::int64_t>(sources.size());
    const at::Tensor expected = tensor(one.at("attention"), {edge_count, options.heads});
    ASSERT_EQ(shares.size(0), edge_count);
    for (std::int64_t i = 0; i < edge_count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const at::Tensor same =
          edges.looped.source.eq(sources[place]).logical_and(edges.looped.target.eq(targets[place]));
      ASSERT_EQ(same.sum().item<std::int64_t>(), 1);
      expect_near(shares.detach().index_select(0, same.nonzero().flatten()).flatten(), expected[i], what + ", shares");
    }
  }
  EXPECT_EQ(seen, 12);
}

TEST(GraphLayers, NormsAndReadoutsToo) {
  const Golden golden;
  const Json& whole = golden.json.at("whole");
  const std::int64_t nodes = golden.first_node.back();
  const at::Tensor x = tensor(whole.at("x"), {nodes, golden.width});
  const GraphBatch batch = golden.batch(false);
  expect_near(graph_size_norm(x, batch), tensor(whole.at("size_norm"), {nodes, golden.width}), "size norm");
  for (const std::string& how : readout_names()) {
    const at::Tensor leaf = x.clone().requires_grad_();
    const at::Tensor out = read_out(how, leaf, batch);
    expect_near(out.detach(), tensor(whole.at(how), {2, golden.width}), how);
    out.sum().backward();
    EXPECT_NEAR(leaf.grad().sum().item<double>(), how == "sum" ? 36 : 8, kTolerance) << how;
  }
}

TEST(GraphLayers, UnknownOnesAreNamed) {
  const auto make = [] { (void)make_graph_layer("gatt", {}, at::make_generator<at::CPUGeneratorImpl>(1)); };
  EXPECT_EQ(testing::message_of<InvalidArgumentError>(make),
            "unknown graph layer 'gatt'; did you mean 'gat'? Valid: gat, sage, gcn, gin");
}

}  // namespace
}  // namespace latpred
