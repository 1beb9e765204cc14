#include "latpred/node_features.h"

#include <algorithm>
#include <array>

#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/text.h"
#include "operators/layout.h"
#include "operators/products.h"

namespace latpred {
namespace {

// DIPPM's operators, in the order of its code; TVM's names.
enum class Relay : std::int8_t {
  other = -1,  // all zero in the one-hot part
  conv2d,
  conv2d_transpose,
  dense,
  batch_matmul,
  bias_add,
  softmax,
  dropout,
  layer_norm,
  reshape,
  transpose,
  add,
  split,
  multiply,
  squeeze,
  adaptive_avg_pool2d,
  max_pool2d,
};
constexpr std::array<std::string_view, 16> kRelayNames{
    "conv2d",
    "conv2d_transpose",
    "dense",
    "batch_matmul",
    "bias_add",
    "softmax",
    "dropout",
    "layer_norm",
    "reshape",
    "transpose",
    "add",
    "split",
    "multiply",
    "squeeze",
    "adaptive_avg_pool2d",
    "max_pool2d",
};

struct RelayRow {
  OperatorId op;
  Relay relay;
};
constexpr RelayRow kRelay[] = {
    {OperatorId::conv, Relay::conv2d},
    {OperatorId::conv_integer, Relay::conv2d},
    {OperatorId::qlinear_conv, Relay::conv2d},
    {OperatorId::fused_conv, Relay::conv2d},
    {OperatorId::conv_transpose, Relay::conv2d_transpose},
    {OperatorId::linear, Relay::dense},
    {OperatorId::gemm, Relay::dense},
    {OperatorId::fused_gemm, Relay::dense},
    {OperatorId::qgemm, Relay::dense},
    {OperatorId::matmul_nbits, Relay::dense},
    {OperatorId::bias_add, Relay::bias_add},
    {OperatorId::softmax, Relay::softmax},
    {OperatorId::dropout, Relay::dropout},
    {OperatorId::layer_norm, Relay::layer_norm},
    {OperatorId::reshape, Relay::reshape},
    {OperatorId::flatten, Relay::reshape},
    {OperatorId::transpose, Relay::transpose},
    {OperatorId::add, Relay::add},
    {OperatorId::split, Relay::split},
    {OperatorId::mul, Relay::multiply},
    {OperatorId::squeeze, Relay::squeeze},
    {OperatorId::adaptive_average_pool, Relay::adaptive_avg_pool2d},
    {OperatorId::global_average_pool, Relay::adaptive_avg_pool2d},
    {OperatorId::max_pool, Relay::max_pool2d},
};

Relay relay_of(const Graph& graph, const Node& node) {
  const auto* row = std::ranges::find(kRelay, node.op, &RelayRow::op);
  if (row != std::end(kRelay)) return row->relay;
  if (operator_row(node.op).kind != CostKind::matmul) return Relay::other;
  // A product with a stored matrix is a dense layer, whatever its file calls it.
  const Tensor* second = input_tensor(graph, node, operands_of(node.op).b);
  return second != nullptr && second->is_weight() ? Relay::dense : Relay::batch_matmul;
}

// Settings along the image's last two axes; a missing first one is as if there were one row.
struct Axis {
  double stride = 1, pad_begin = 0, pad_end = 0, dilation = 1, window = 1;
};

std::array<Axis, 2> image_axes(const Graph& graph, const Node& node, const Convolution& conv) {
  const std::size_t rank = conv.window.size();
  const Shape strides = node.attributes.integers("strides", Shape(rank, 1));
  const Shape dilations = node.attributes.integers("dilations", Shape(rank, 1));
  const Shape pads = node.attributes.integers("pads", Shape(2 * rank, 0));
  const bool is_same = node.attributes.text("auto_pad", "").starts_with("SAME");
  const Shape in = channels_first(node.attributes, input_tensor(graph, node, operands_of(node.op).a)->shape);
  const Shape out = channels_first(node.attributes, output_tensor(graph, node, 0)->shape);
  std::array<Axis, 2> axes;
  for (std::size_t i = rank > 2 ? rank - 2 : 0; i < rank; ++i) {
    Axis& axis = axes[i + 2 - rank];
    axis.stride = static_cast<double>(strides.at(i));
    axis.dilation = static_cast<double>(dilations.at(i));
    axis.window = static_cast<double>(conv.window[i]);
    if (is_same && !conv.is_transposed) {
      const std::int64_t reach = (out[i + 2] - 1) * strides[i] + (conv.window[i] - 1) * dilations[i] + 1;
      const std::int64_t total = std::max(std::int64_t{0}, reach - in[i + 2]);
      const std::int64_t begin = total / 2;
      axis.pad_begin = static_cast<double>(begin);
      axis.pad_end = static_cast<double>(total - begin);
    } else {
      axis.pad_begin = static_cast<double>(pads.at(i));
      axis.pad_end = static_cast<double>(pads.at(i + rank));
    }
  }
  return axes;
}

constexpr std::size_t kShapeNumbers = 4;

void add_dippm_node(const Graph& graph, const Node& node, std::vector<double>& row) {
  const Relay relay = relay_of(graph, node);
  for (std::size_t i = 0; i < kRelayNames.size(); ++i)
    row.push_back(static_cast<std::int8_t>(relay) == static_cast<int>(i) ? 1 : 0);

  std::array<double, 12> settings{};
  const bool is_conv = relay == Relay::conv2d || relay == Relay::conv2d_transpose;
  const auto conv = is_conv ? convolution_of(graph, node) : std::nullopt;
  if (conv) {
    const auto [rows, columns] = image_axes(graph, node, *conv);
    settings = {rows.stride,
                columns.stride,
                rows.pad_begin,
                columns.pad_begin,
                rows.pad_end,
                columns.pad_end,
                rows.dilation,
                columns.dilation,
                static_cast<double>(conv->groups),
                static_cast<double>(conv->out_channels),
                rows.window,
                columns.window};
  }
  row.insert(row.end(), settings.begin(), settings.end());

  std::array<double, kShapeNumbers> sizes{};
  const Tensor* out = output_tensor(graph, node, 0);
  for (std::size_t i = 0; out != nullptr && i < out->shape.size(); ++i) {
    const auto size = static_cast<double>(out->shape[i]);
    if (i < kShapeNumbers) {
      sizes[i] = size;
    } else {
      sizes.back() *= size;
    }
  }
  row.insert(row.end(), sizes.begin(), sizes.end());
}

void add_dippm_graph(const Graph& graph, std::vector<double>& row) {
  double macs = 0, convolutions = 0, dense = 0, rectifiers = 0;
  for (const Node& node : graph.nodes) {
    const auto repeat = static_cast<double>(node.repeat);
    const Relay relay = relay_of(graph, node);
    const bool is_conv = relay == Relay::conv2d || relay == Relay::conv2d_transpose;
    if (is_conv || relay == Relay::dense || relay == Relay::batch_matmul) macs += node.cost.macs * repeat;
    if (is_conv) convolutions += repeat;
    if (relay == Relay::dense) dense += repeat;
    if (node.op == OperatorId::relu) rectifiers += repeat;
  }
  row.insert(row.end(), {macs, static_cast<double>(graph.batch), convolutions, dense, rectifiers});
}

void add_lilou_node(const Graph& graph, const Node& node, std::vector<double>& row) {
  double in = 0, out = 0, parameters = 0;
  for (const TensorId id : node.inputs) {
    if (id == kAbsent) continue;
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind == TensorKind::constant) continue;
    (tensor.is_weight() ? parameters : in) += static_cast<double>(tensor.num_elements());
  }
  for (const TensorId id : node.outputs) {
    if (id != kAbsent) out += static_cast<double>(graph.tensors[id].num_elements());
  }
  row.insert(row.end(), {in, out, parameters, node.cost.flops * static_cast<double>(node.repeat)});
}

std::vector<GraphColumn> dippm_node_columns() {
  std::vector<GraphColumn> columns;
  for (const std::string_view name : kRelayNames) {
    columns.push_back({concat("is_", name), "1", "1 where the node is this operator of TVM's"});
  }
  const std::array<GraphColumn, 12> settings{{
      {"stride_rows", "1", "of convolutions, as the eleven after it; 0 elsewhere"},
      {"stride_columns", "1", ""},
      {"padding_top", "1", ""},
      {"padding_left", "1", ""},
      {"padding_bottom", "1", ""},
      {"padding_right", "1", ""},
      {"dilation_rows", "1", ""},
      {"dilation_columns", "1", ""},
      {"groups", "1", ""},
      {"channels", "1", "given out"},
      {"window_rows", "1", ""},
      {"window_columns", "1", ""},
  }};
  columns.insert(columns.end(), settings.begin(), settings.end());
  for (std::size_t i = 0; i < kShapeNumbers; ++i) {
    columns.push_back({concat("output_size_", i), "1",
                       i == 0   ? "of the first output, batch included; 0 where it has fewer sizes"
                       : i == 3 ? "times the sizes after it"
                                : ""});
  }
  return columns;
}

struct Recipe {
  NodeFeatureSet set;
  void (*add_node)(const Graph&, const Node&, std::vector<double>&);
  void (*add_graph)(const Graph&, std::vector<double>&);
};

const std::array<Recipe, 2>& recipes() {
  static const std::array<Recipe, 2> table{{
      {{"dippm",
        "32 numbers of each node and five of the graph, as DIPPM's predictor reads them",
        dippm_node_columns(),
        {{"macs", "1", "multiply-accumulates of convolutions, dense layers and matrix products"},
         {"batch", "1", ""},
         {"convolutions", "1", "how many, transposed ones included"},
         {"dense_layers", "1", "how many"},
         {"relus", "1", "how many"}}},
       &add_dippm_node,
       &add_dippm_graph},
      {{"lilou",
        "sizes and FLOPs of each node beside its operator, as Lilou's predictors read them",
        {{"input_elements", "1", "of activations read"},
         {"output_elements", "1", "written"},
         {"parameter_elements", "1", "weights and statistics read"},
         {"flops", "1", "2 x MACs + element-wise operations"}},
        {}},
       &add_lilou_node,
       [](const Graph&, std::vector<double>&) {}},
  }};
  return table;
}

const Recipe& recipe_of(std::string_view name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) {
    if (recipe.set.name == name) return recipe;
    names.emplace_back(recipe.set.name);
  }
  throw InvalidArgumentError(unknown_name_message("feature set", name, names));
}

}  // namespace

NodeFeatures node_features(const Graph& graph, std::string_view set) {
  const Recipe& recipe = recipe_of(set);
  NodeFeatures result{.set = &recipe.set};
  for (const Node& node : graph.nodes) {
    recipe.add_node(graph, node, result.nodes);
    result.operators.push_back(static_cast<std::int64_t>(node.op));
  }
  const auto adjacency = graph.adjacency();
  for (const auto& edge : adjacency) result.edges.push_back(edge.first);
  for (const auto& edge : adjacency) result.edges.push_back(edge.second);
  recipe.add_graph(graph, result.graph);
  return result;
}

}  // namespace latpred
