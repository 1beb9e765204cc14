#include "workloads/plain_net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
using testing::message_of;

namespace {

constexpr std::int64_t kPoolBytes = std::int64_t{1} << 20;

using Numbers = std::vector<double>;

Numbers numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().to(at::kDouble);
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

void apply_relu(Numbers& values) {
  for (double& value : values) value = std::max(value, 0.0);
}

Numbers dense(const Numbers& x, const PlainNet::Layer& layer, std::int64_t batch) {
  const Numbers weight = numbers(layer.weight);
  const Numbers bias = numbers(layer.bias);
  const auto units_in = static_cast<std::size_t>(layer.weight.size(1));
  Numbers out;
  for (std::size_t item = 0; item < static_cast<std::size_t>(batch); ++item) {
    for (std::size_t unit = 0; unit < bias.size(); ++unit) {
      double sum = bias[unit];
      for (std::size_t i = 0; i < units_in; ++i) sum += weight[unit * units_in + i] * x[item * units_in + i];
      out.push_back(sum);
    }
  }
  return out;
}

Numbers convolution(const Numbers& x, const PlainNet::Layer& layer, std::int64_t size) {
  const Numbers weight = numbers(layer.weight);
  const Numbers bias = numbers(layer.bias);
  const std::int64_t channels_in = layer.weight.size(1);
  Numbers out;
  for (std::size_t channel = 0; channel < bias.size(); ++channel) {
    for (std::int64_t row = 0; row < size; ++row) {
      for (std::int64_t column = 0; column < size; ++column) {
        double sum = bias[channel];
        for (std::int64_t in = 0; in < channels_in; ++in) {
          for (std::int64_t dy = 0; dy < 3; ++dy) {
            for (std::int64_t dx = 0; dx < 3; ++dx) {
              const std::int64_t y = row + dy - 1;
              const std::int64_t z = column + dx - 1;
              if (y < 0 || z < 0 || y >= size || z >= size) continue;
              const std::int64_t of_weight =
                  ((static_cast<std::int64_t>(channel) * channels_in + in) * 3 + dy) * 3 + dx;
              sum +=
                  weight[static_cast<std::size_t>(of_weight)] * x[static_cast<std::size_t>((in * size + y) * size + z)];
            }
          }
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

void expect_near(const Numbers& found, const Numbers& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(PlainNet, DenseLayersComputeWhatTheirSumsSay) {
  WeightPool pool(kPoolBytes);
  constexpr std::int64_t kBatch = 3;
  const PlainNet net({{5, 33, 17, 4}}, kBatch, pool);
  Numbers x = numbers(net.input());
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    if (i > 0) apply_relu(x);
    x = dense(x, net.layers()[i], kBatch);
  }
  EXPECT_EQ(net.run().sizes(), at::IntArrayRef({kBatch, 4}));
  expect_near(numbers(net.run()), x);
}

TEST(PlainNet, ConvolutionsComputeWhatTheirSumsSay) {
  WeightPool pool(kPoolBytes);
  constexpr std::int64_t kSize = 6;
  const PlainNet net({{3, 8, 5, 2}, kSize}, 1, pool);
  Numbers x = numbers(net.input());
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    if (i > 0) apply_relu(x);
    x = convolution(x, net.layers()[i], kSize);
  }
  EXPECT_EQ(net.run().sizes(), at::IntArrayRef({1, 2, kSize, kSize}));
  expect_near(numbers(net.run()), x);
}

TEST(PlainNet, RunsLeaveInputAndWeightsAsTheyWere) {
  WeightPool pool(kPoolBytes);
  const PlainNet net({{16, 16, 16}}, 1, pool);
  const Numbers first = numbers(net.run());
  EXPECT_EQ(numbers(net.run()), first);
}

TEST(PlainNet, NetsFollowEachOtherThroughThePool) {
  WeightPool pool(kPoolBytes);
  const PlainNet first({{16, 32}}, 1, pool);
  const PlainNet second({{16, 32}}, 1, pool);
  EXPECT_EQ(second.layers()[0].weight.storage_offset(), 16 * 32 + 32);
}

TEST(PlainNet, SizesThatMakeNoNetAreRefused) {
  WeightPool pool(kPoolBytes);
  const auto make = [&](const PlainNetSizes& sizes, std::int64_t batch = 1) {
    return message_of<InvalidArgumentError>([&] { static_cast<void>(PlainNet(sizes, batch, pool)); });
  };
  EXPECT_EQ(make({{16}}), "a net needs the width of its input and of at least one layer, got [16]");
  EXPECT_EQ(make({{16, 0}}), "each width of a net must be an integer >= 1, got [16, 0]");
  EXPECT_EQ(make({{16, 4}}, 0), "batch must be an integer >= 1, got 0");
  EXPECT_EQ(make({{16, 4}, -1}), "the size of images must be an integer >= 1, or 0 for dense layers, got -1");
  EXPECT_NE(make({{1024, 1024}}).find("ask for a larger pool"), std::string::npos);
}

}  // namespace
}  // namespace latpred
