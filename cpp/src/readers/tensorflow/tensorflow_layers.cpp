#include <algorithm>
#include <string>

#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_operators.h"

// Convolutions, pools, norms and what else has a layout.
namespace latpred::readers::tensorflow {
namespace {

// "NHWC", "NDHWC", "NWC" against "NCHW", "NCDHW".
bool is_channels_last(const Node& node) { return node.text("data_format").ends_with('C'); }

void set_layout(const Node& node, Attributes& attributes) {
  if (is_channels_last(node)) attributes.set("channels_last", std::int64_t{1});
}

// One number for each dimension of the tensor -> those of the image.
std::vector<std::int64_t> of_image(const Node& node, std::string_view name, std::vector<std::int64_t> all,
                                   bool channels_last) {
  if (all.size() < 3) node.fail(concat("its '", name, "' ", shape_text(all), " must have a number for each dimension"));
  all.erase(all.begin());
  all.erase(channels_last ? all.end() - 1 : all.begin());
  return all;
}

std::vector<std::int64_t> of_image(const Node& node, std::string_view name) {
  return of_image(node, name, node.integers(name), is_channels_last(node));
}

// "SAME", "VALID", or "EXPLICIT" with a pair for each dimension of the tensor.
void set_padding(const Node& node, Attributes& attributes) {
  const std::string padding = node.text("padding");
  if (padding == "SAME") {
    attributes.set("auto_pad", std::string("SAME_UPPER"));
  } else if (padding == "EXPLICIT") {
    const std::vector<std::int64_t> pairs = node.integers("explicit_paddings");
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      begins.push_back(pairs[i]);
      ends.push_back(pairs[i + 1]);
    }
    begins = of_image(node, "explicit_paddings", begins, is_channels_last(node));
    ends = of_image(node, "explicit_paddings", ends, is_channels_last(node));
    begins.insert(begins.end(), ends.begin(), ends.end());
    attributes.set("pads", begins);
  } else if (padding != "VALID") {
    node.fail(concat("its padding '", padding, "' is none of SAME, VALID, EXPLICIT"));
  }
}

// A convolution may have groups, of which the format says nothing: they follow from the input's channels.
void set_groups(const Node& node, Attributes& attributes) {
  const auto x = node.sizes_of(0);
  const auto filter = node.sizes_of(1);
  if (!x || !filter || x->size() < 3 || filter->size() < 3) return;
  const std::int64_t channels = is_channels_last(node) ? x->back() : (*x)[1];
  const std::int64_t in = (*filter)[filter->size() - 2];
  if (in > 0 && channels > in && channels % in == 0) attributes.set("group", channels / in);
}

Attributes window_attributes(const Node& node) {
  Attributes attributes;
  set_layout(node, attributes);
  set_padding(node, attributes);
  attributes.set("strides", of_image(node, "strides"));
  attributes.set("dilations", of_image(node, "dilations"));
  return attributes;
}

void convolution(Node& node) {
  Attributes attributes = window_attributes(node);
  attributes.set("filter", std::string("HWIO"));
  set_groups(node, attributes);
  node.result(OperatorId::conv, {node.input(0), node.input(1)}, std::move(attributes));
}

void depthwise(Node& node) {
  Attributes attributes = window_attributes(node);
  attributes.set("filter", std::string("HWIM"));
  const auto filter = node.sizes_of(1);
  if (!filter || filter->size() < 3 || (*filter)[filter->size() - 2] < 1) {
    node.fail("has a filter whose channels the file does not tell");
  }
  attributes.set("group", (*filter)[filter->size() - 2]);
  node.result(OperatorId::conv, {node.input(0), node.input(1)}, std::move(attributes));
}

// Inputs: the sizes of the result, the filter, the image. The gradient of a convolution, which layers use as their
// transposed convolution.
void transposed_convolution(Node& node) {
  Attributes attributes = window_attributes(node);
  attributes.set("filter", std::string("HWOI"));
  const bool channels_last = is_channels_last(node);
  if (const auto sizes = node.known(0)) {
    attributes.set("output_shape", of_image(node, "input_sizes", *sizes, channels_last));
  } else if (const auto filter = node.sizes_of(1); filter && node.text("padding") == "VALID") {
    // The sizes are computed while the network runs. Layers make them so that every element of the image gets its
    // stride, which is more than the window where that is the smaller one.
    std::vector<std::int64_t> extra = attributes.integers("strides");
    for (std::size_t i = 0; i < extra.size() && i < filter->size(); ++i) {
      extra[i] = std::max<std::int64_t>(0, extra[i] - (*filter)[i]);
    }
    attributes.set("output_padding", extra);
  }
  if (const auto declared = node.declared(0); declared && !attributes.has("output_shape")) {
    // A layer may ask for rows beyond the last window (output_padding); the file knows where the image has sizes.
    std::vector<std::int64_t> sizes;
    for (const Dimension& dimension : *declared) sizes.push_back(dimension.size);
    sizes = of_image(node, "_output_shapes", sizes, channels_last);
    if (std::find(sizes.begin(), sizes.end(), kUnknownSize) == sizes.end()) attributes.set("output_shape", sizes);
  }
  node.result(OperatorId::conv_transpose, {node.input(2), node.input(1)}, std::move(attributes));
}

void pool(Node& node) {
  Attributes attributes;
  set_layout(node, attributes);
  set_padding(node, attributes);
  attributes.set("strides", of_image(node, "strides"));
  attributes.set("kernel_shape", of_image(node, "ksize"));
  // TensorFlow leaves what lies outside of the image out of an average.
  node.result(row_of(node).op, {node.input(0)}, std::move(attributes));
}

// Window and strides are inputs.
void pool_v2(Node& node) {
  Attributes attributes;
  set_layout(node, attributes);
  set_padding(node, attributes);
  const bool channels_last = is_channels_last(node);
  attributes.set("kernel_shape", of_image(node, "ksize", node.integers_of(1, "window"), channels_last));
  attributes.set("strides", of_image(node, "strides", node.integers_of(2, "strides"), channels_last));
  node.result(row_of(node).op, {node.input(0)}, std::move(attributes));
}

void pool_with_positions(Node& node) {
  Attributes attributes;
  attributes.set("channels_last", std::int64_t{1});
  set_padding(node, attributes);
  attributes.set("strides", of_image(node, "strides", node.integers("strides"), true));
  attributes.set("kernel_shape", of_image(node, "ksize", node.integers("ksize"), true));
  node.result(OperatorId::max_pool, {node.input(0)}, std::move(attributes), 2);
}

// x, scale, offset, mean, variance.
void batch_norm(Node& node) {
  Attributes attributes;
  set_layout(node, attributes);
  attributes.set("epsilon", node.real("epsilon"));
  if (node.integer("is_training") != 0) node.lowering().note_training();
  const VariableId normalized =
      node.part(OperatorId::batch_norm, {node.input(0), node.input(1), node.input(2), node.input(3), node.input(4)},
                std::move(attributes));
  // The statistics are handed on; what else there is belongs to training.
  node.set_results({normalized, node.input(3), node.input(4)});
}

void response_norm(Node& node) {
  const std::int64_t radius = node.integer("depth_radius");
  node.result(OperatorId::lrn, {node.input(0)},
              settings({{"size", 2 * radius + 1},
                        {"alpha", node.real("alpha")},
                        {"beta", node.real("beta")},
                        {"bias", node.real("bias")},
                        {"channels_last", std::int64_t{1}}}));
}

// Along the last axis, or with NCHW along the second.
void bias_add(Node& node) {
  if (is_channels_last(node)) {
    node.result(OperatorId::bias_add, {node.input(0), node.input(1)});
    return;
  }
  const auto sizes = node.sizes_of(0);
  if (!sizes) node.fail("adds a bias to channels of an image whose number of dimensions is not known");
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < sizes->size(); ++i) axes.push_back(static_cast<std::int64_t>(i) - 1);
  VariableId bias = node.input(1);
  if (!axes.empty()) bias = node.part(OperatorId::unsqueeze, {bias}, settings({{"axes", axes}}));
  node.result(OperatorId::add, {node.input(0), bias});
}

struct Interpolation {
  std::string_view op;
  std::string_view mode;
};
constexpr Interpolation kInterpolations[] = {
    {"ResizeBilinear", "linear"},
    {"ResizeBicubic", "cubic"},
    {"ResizeNearestNeighbor", "nearest"},
    {"ResizeArea", "linear"},
};

// Image NHWC, height and width.
void resize(Node& node) {
  std::string mode;
  for (const Interpolation& row : kInterpolations) {
    if (row.op == node.op()) mode = row.mode;
  }
  node.result(
      OperatorId::resize, {node.input(0), kAbsent, kAbsent, node.input(1)},
      settings({{"mode", mode}, {"axes", std::vector<std::int64_t>{1, 2}}, {"channels_last", std::int64_t{1}}}));
}

void blocks(Node& node) {
  Attributes attributes = settings({{"blocksize", node.integer("block_size")}});
  set_layout(node, attributes);
  node.result(row_of(node).op, {node.input(0)}, std::move(attributes));
}

// x, block, pads or crops.
void batch_blocks(Node& node) { node.result(row_of(node).op, {node.input(0), node.input(1), node.input(2)}); }

const std::vector<OperatorRow> kLayers{
    {"Conv2D", OperatorId::conv, convolution},
    {"Conv3D", OperatorId::conv, convolution},
    {"DepthwiseConv2dNative", OperatorId::conv, depthwise},
    {"Conv2DBackpropInput", OperatorId::conv_transpose, transposed_convolution},
    {"Conv3DBackpropInputV2", OperatorId::conv_transpose, transposed_convolution},
    {"MaxPool", OperatorId::max_pool, pool},
    {"AvgPool", OperatorId::average_pool, pool},
    {"MaxPool3D", OperatorId::max_pool, pool},
    {"AvgPool3D", OperatorId::average_pool, pool},
    {"MaxPoolV2", OperatorId::max_pool, pool_v2},
    {"MaxPoolWithArgmax", OperatorId::max_pool, pool_with_positions},
    {"FusedBatchNorm", OperatorId::batch_norm, batch_norm},
    {"FusedBatchNormV2", OperatorId::batch_norm, batch_norm},
    {"FusedBatchNormV3", OperatorId::batch_norm, batch_norm},
    {"LRN", OperatorId::lrn, response_norm},
    {"BiasAdd", OperatorId::bias_add, bias_add},
    {"BiasAddV1", OperatorId::bias_add, bias_add},
    {"ResizeBilinear", OperatorId::resize, resize},
    {"ResizeBicubic", OperatorId::resize, resize},
    {"ResizeNearestNeighbor", OperatorId::resize, resize},
    {"ResizeArea", OperatorId::resize, resize},
    {"DepthToSpace", OperatorId::depth_to_space, blocks},
    {"SpaceToDepth", OperatorId::space_to_depth, blocks},
    {"SpaceToBatchND", OperatorId::space_to_batch, batch_blocks},
    {"BatchToSpaceND", OperatorId::batch_to_space, batch_blocks},
};

}  // namespace

const std::vector<OperatorRow>& layer_rows() { return kLayers; }

}  // namespace latpred::readers::tensorflow
