// The same network in NCHW and in NHWC costs the same, all the way down the line.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "latpred/memory.h"
#include "latpred/text.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::PreparedNetwork;
using Settings = ProgramBuilder::Settings;

constexpr unsigned kNumNetworks = 60;

// Draws a network; `channels_last` decides nothing but the order in which the same sizes are written.
class Drawn {
 public:
  Drawn(unsigned seed, bool channels_last) : random_(seed), channels_last_(channels_last) {}

  Program program() {
    channels_ = pick({3, 16, 48});
    size_ = pick({16, 32, 56});
    if (pick({0, 0, 1}) == 1) {  // given in the other order and turned: strides go against the sizes
      x_ = net_.input("x", channels_last_ ? Shape{channels_, size_, size_} : Shape{size_, size_, channels_});
      x_ = net_.apply(OperatorId::transpose, {x_}, {{"perm", channels_last_ ? Shape{0, 2, 3, 1} : Shape{0, 3, 1, 2}}});
    } else {
      x_ = net_.input("x", channels_last_ ? Shape{size_, size_, channels_} : Shape{channels_, size_, size_});
    }
    for (std::int64_t layer = pick({2, 4, 7}); layer > 0; --layer) add_layer();
    x_ = apply(OperatorId::global_average_pool, {x_});
    x_ = net_.apply(OperatorId::flatten, {x_});
    x_ = net_.apply(OperatorId::gemm, {x_, net_.parameter({10, channels_})}, {{"transB", std::int64_t{1}}});
    net_.output(net_.apply(OperatorId::softmax, {x_}));
    return net_.build();
  }

 private:
  std::int64_t pick(const std::vector<std::int64_t>& choices) {
    return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random_)];
  }
  VariableId apply(OperatorId op, const std::vector<VariableId>& inputs, Settings settings = {}) {
    if (channels_last_) settings.emplace_back("channels_last", std::int64_t{1});
    return net_.apply(op, inputs, settings);
  }
  VariableId per_channel() { return net_.parameter({channels_}); }

  void add_layer() {
    using Layer = void (Drawn::*)();
    static const std::vector<Layer> kLayers{&Drawn::convolution, &Drawn::convolution, &Drawn::depthwise,
                                            &Drawn::transposed,  &Drawn::pool,        &Drawn::norm,
                                            &Drawn::skip,        &Drawn::join,        &Drawn::shuffle,
                                            &Drawn::enlarge,     &Drawn::activation,  &Drawn::squeeze_and_excite};
    (this->*kLayers[std::uniform_int_distribution<std::size_t>(0, kLayers.size() - 1)(random_)])();
  }

  void convolution() {
    const std::int64_t window = pick({1, 3, 5});
    const std::int64_t stride = size_ > 4 ? pick({1, 2}) : 1;
    const std::int64_t groups = channels_ % 4 == 0 ? pick({1, 1, 4}) : 1;
    const std::int64_t out = pick({16, 24, 64});
    const std::int64_t in = channels_ / groups;
    const bool tflite = pick({0, 1}) == 1;
    const std::int64_t pad = window / 2;
    Settings settings{{"strides", Shape{stride, stride}}, {"pads", Shape{pad, pad, pad, pad}}, {"group", groups}};
    if (pick({0, 1}) == 1) settings.emplace_back("kernel_shape", Shape{window, window});
    Shape weight{out, in, window, window};
    if (channels_last_) {
      settings.emplace_back("filter", std::string(tflite ? "OHWI" : "HWIO"));
      weight = tflite ? Shape{out, window, window, in} : Shape{window, window, in, out};
    }
    x_ = apply(OperatorId::conv, {x_, net_.parameter(weight), net_.parameter({out})}, settings);
    channels_ = out;
    size_ = (size_ + 2 * pad - window) / stride + 1;
  }

  void depthwise() {
    const std::int64_t multiplier = pick({1, 2});
    const bool tflite = pick({0, 1}) == 1;
    const std::int64_t out = channels_ * multiplier;
    Settings settings{{"auto_pad", std::string("SAME_UPPER")}, {"group", channels_}};
    Shape weight{out, 1, 3, 3};
    if (channels_last_) {
      settings.emplace_back("filter", std::string(tflite ? "1HWO" : "HWIM"));
      weight = tflite ? Shape{1, 3, 3, out} : Shape{3, 3, channels_, multiplier};
    }
    x_ = apply(OperatorId::conv, {x_, net_.parameter(weight)}, settings);
    channels_ = out;
  }

  void transposed() {
    if (size_ > 60) return;
    const std::int64_t out = pick({8, 32});
    Settings settings{{"strides", Shape{2, 2}}};
    if (channels_last_) settings.emplace_back("filter", std::string("HWOI"));
    const Shape weight = channels_last_ ? Shape{2, 2, out, channels_} : Shape{channels_, out, 2, 2};
    x_ = apply(OperatorId::conv_transpose, {x_, net_.parameter(weight), net_.parameter({out})}, settings);
    channels_ = out;
    size_ *= 2;
  }

  void pool() {
    if (size_ < 4) return;
    const std::vector<OperatorId> pools{OperatorId::max_pool, OperatorId::average_pool};
    if (pick({0, 0, 1}) == 1) {
      x_ = apply(OperatorId::adaptive_average_pool, {x_}, {{"output_size", Shape{4, 4}}});
      size_ = 4;
      return;
    }
    x_ = apply(pools[pick({0, 1})], {x_}, {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}});
    size_ /= 2;
  }

  void norm() {
    switch (pick({0, 0, 1, 2, 3})) {
      case 0:
        x_ = apply(OperatorId::batch_norm, {x_, per_channel(), per_channel(), per_channel(), per_channel()});
        return;
      case 1:
        if (channels_ % 8 != 0) return;
        x_ = apply(OperatorId::group_norm, {x_, per_channel(), per_channel()}, {{"num_groups", std::int64_t{8}}});
        return;
      case 2:
        x_ = apply(OperatorId::instance_norm, {x_, per_channel(), per_channel()});
        return;
      default:
        x_ = apply(OperatorId::lrn, {x_}, {{"size", std::int64_t{5}}});
    }
  }

  void skip() { x_ = net_.apply(OperatorId::add, {x_, net_.apply(OperatorId::relu, {x_})}); }

  void join() {
    x_ = net_.apply(OperatorId::concat, {x_, net_.apply(OperatorId::sigmoid, {x_})},
                    {{"axis", std::int64_t{channels_last_ ? 3 : 1}}});
    channels_ *= 2;
  }

  void shuffle() {
    if (channels_ % 4 == 0 && size_ < 60) {
      x_ = apply(OperatorId::depth_to_space, {x_}, {{"blocksize", std::int64_t{2}}});
      channels_ /= 4;
      size_ *= 2;
    } else if (size_ % 2 == 0) {
      x_ = apply(OperatorId::space_to_depth, {x_}, {{"blocksize", std::int64_t{2}}});
      channels_ *= 4;
      size_ /= 2;
    }
  }

  void enlarge() {
    if (size_ > 60) return;
    x_ = apply(OperatorId::resize, {x_},
               {{"sizes", Shape{2 * size_, 2 * size_}},
                {"channels_last", std::int64_t{channels_last_ ? 1 : 0}},
                {"mode", std::string("linear")}});
    size_ *= 2;
  }

  void activation() {
    if (pick({0, 1}) == 1) {
      x_ = net_.apply(OperatorId::relu, {x_});
    } else {
      x_ = apply(OperatorId::prelu, {x_, per_channel()});
    }
  }

  void squeeze_and_excite() {
    VariableId gate = apply(OperatorId::global_average_pool, {x_});
    const Shape weight = channels_last_ ? Shape{1, 1, channels_, channels_} : Shape{channels_, channels_, 1, 1};
    Settings settings;
    if (channels_last_) settings.emplace_back("filter", std::string("HWIO"));
    gate = apply(OperatorId::conv, {gate, net_.parameter(weight)}, settings);
    x_ = net_.apply(OperatorId::mul, {x_, net_.apply(OperatorId::sigmoid, {gate})});
  }

  std::mt19937 random_;
  bool channels_last_;
  ProgramBuilder net_;
  VariableId x_ = kAbsent;
  std::int64_t channels_ = 0;
  std::int64_t size_ = 0;
};

void expect_equal(const Cost& a, const Cost& b) {
  EXPECT_EQ(a.macs, b.macs);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.bytes_in, b.bytes_in);
  EXPECT_EQ(a.bytes_out, b.bytes_out);
  EXPECT_EQ(a.weight_bytes, b.weight_bytes);
}

void expect_equal(const Gemm& a, const Gemm& b) {
  EXPECT_EQ(a.batch, b.batch);
  EXPECT_EQ(a.m, b.m);
  EXPECT_EQ(a.n, b.n);
  EXPECT_EQ(a.k, b.k);
}

TEST(LayoutNetworks, CostTheSame) {
  for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    const Graph first = resolve(std::make_shared<Program>(Drawn(seed, false).program()), {.batch = 3});
    const Graph last = resolve(std::make_shared<Program>(Drawn(seed, true).program()), {.batch = 3});
    ASSERT_EQ(first.nodes.size(), last.nodes.size());
    EXPECT_EQ(first.num_parameters(), last.num_parameters());
    for (std::size_t i = 0; i < first.nodes.size(); ++i) {
      SCOPED_TRACE(first.nodes[i].name);
      expect_equal(first.nodes[i].cost, last.nodes[i].cost);
      EXPECT_EQ(cost_kind(first, first.nodes[i]), cost_kind(last, last.nodes[i]));
      expect_equal(gemm_of(first, first.nodes[i]), gemm_of(last, last.nodes[i]));
    }
  }
}

TEST(LayoutNetworks, MakeTheSameKernels) {
  for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
    const Graph first = resolve(std::make_shared<Program>(Drawn(seed, false).program()), {.batch = 2});
    const Graph last = resolve(std::make_shared<Program>(Drawn(seed, true).program()), {.batch = 2});
    for (const Runtime& runtime : runtimes()) {
      for (const char* precision : {"default", "fp32"}) {
        SCOPED_TRACE(concat("seed ", seed, ", ", runtime.name, ", ", precision));
        const Kernels of_first = fuse(first, runtime.name, precision);
        const Kernels of_last = fuse(last, runtime.name, precision);
        ASSERT_EQ(of_first.rows.size(), of_last.rows.size());
        for (std::size_t k = 0; k < of_first.rows.size(); ++k) {
          const Kernel& a = of_first.rows[k];
          const Kernel& b = of_last.rows[k];
          SCOPED_TRACE(a.name);
          EXPECT_EQ(a.name, b.name);
          EXPECT_EQ(a.kind, b.kind);
          EXPECT_EQ(a.members, b.members);
          EXPECT_EQ(a.flops, b.flops);
          EXPECT_EQ(a.bytes_in, b.bytes_in);
          EXPECT_EQ(a.bytes_out, b.bytes_out);
          EXPECT_EQ(a.weight_bytes, b.weight_bytes);
          expect_equal(Gemm{a.gemm_batch, a.m, a.n, a.k}, Gemm{b.gemm_batch, b.m, b.n, b.k});
          EXPECT_EQ(a.groups, b.groups);
          EXPECT_EQ(a.window, b.window);
          EXPECT_EQ(a.is_3x3, b.is_3x3);
          EXPECT_EQ(a.stride, b.stride);
          EXPECT_EQ(a.positions, b.positions);
          EXPECT_EQ(a.row, b.row);
          EXPECT_EQ(a.interpolates, b.interpolates);
          EXPECT_EQ(a.channels_last, b.channels_last);
        }
      }
    }
  }
}

TEST(LayoutNetworks, TakeTheSameTimeAndMemory) {
  const Device& on = device("A100");
  for (const PredictorRow& row : predictors()) {
    const auto predictor = row.make(testing::shipped_checkpoint(row));
    for (unsigned seed = 0; seed < kNumNetworks; ++seed) {
      SCOPED_TRACE(concat(row.name, ", seed ", seed));
      const PreparedNetwork first(Drawn(seed, false).program(), 4, on);
      const PreparedNetwork last(Drawn(seed, true).program(), 4, on);
      EXPECT_EQ(predictor->latency(first.input()).latency_s, predictor->latency(last.input()).latency_s);
      for (const bool autograd : {false, true}) {
        EXPECT_EQ(estimate_memory(first.graph, first.kernels, on, {.autograd = autograd}).total_bytes,
                  estimate_memory(last.graph, last.kernels, on, {.autograd = autograd}).total_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace latpred
