#include "operators/layout.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::size_t kMinWeightRank = 3;  // out, in and a window of one dimension

// Letters as in the names of 2-D weights: H and W stand for a window of any number of dimensions. I: input channels,
// O: output channels, M: outputs for each input channel (depth-wise), 1: always one.
constexpr std::array<std::string_view, 7> kFilters{"OIHW", "IOHW", "HWIO", "HWOI", "HWIM", "OHWI", "1HWO"};

constexpr std::size_t kNowhere = std::string_view::npos;

// Where letter `letter` of `order` stands in a weight of `rank` dimensions.
std::size_t place(std::string_view order, char letter, std::size_t rank) {
  const std::size_t at = order.find(letter);
  return at == kNowhere || at < order.find('H') ? at : at + rank - order.size();
}

std::int64_t size_at(const Shape& weight, std::size_t at) { return at == kNowhere ? 1 : weight[at]; }

}  // namespace

bool has_channels_last(const Attributes& attributes) { return attributes.integer("channels_last", 0) != 0; }

std::size_t channel_axis(const Attributes& attributes, std::size_t rank) {
  if (rank < 2) return 0;
  return has_channels_last(attributes) ? rank - 1 : 1;
}

Shape channels_first(const Attributes& attributes, Shape shape) {
  if (shape.size() > 2 && has_channels_last(attributes)) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

Shape in_file_order(const Attributes& attributes, Shape shape) {
  if (shape.size() > 2 && has_channels_last(attributes)) {
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  }
  return shape;
}

Filter filter_of(OperatorId op, const Attributes& attributes, const Shape& weight) {
  const bool is_transposed = op == OperatorId::conv_transpose;
  const std::string order = attributes.text("filter", is_transposed ? "IOHW" : "OIHW");
  if (std::find(kFilters.begin(), kFilters.end(), order) == kFilters.end()) {
    throw ShapeError(unknown_name_message("order of a weight, attribute 'filter':", order,
                                          std::vector<std::string>(kFilters.begin(), kFilters.end())));
  }
  const std::size_t rank = weight.size();
  if (rank < kMinWeightRank) {
    throw ShapeError(concat("weight ", shape_text(weight), " needs input and output channels and a window"));
  }
  Filter filter{.in = size_at(weight, place(order, 'I', rank)), .out = size_at(weight, place(order, 'O', rank))};
  // A depth-wise weight holds a group for each input channel.
  if (const std::size_t multiplier = place(order, 'M', rank); multiplier != kNowhere) {
    filter.out = weight[multiplier];
    if (!is_transposed) {
      if (__builtin_mul_overflow(filter.in, filter.out, &filter.out)) {
        throw ShapeError(concat("weight ", shape_text(weight), " has more than 2^63 output channels"));
      }
      filter.in = 1;
    }
  }
  const auto first = weight.begin() + static_cast<std::ptrdiff_t>(order.find('H'));
  filter.window.assign(first, first + static_cast<std::ptrdiff_t>(rank - 2));
  return filter;
}

}  // namespace latpred
