#include "shapes/broadcast.h"

#include <algorithm>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::shapes {

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= result.size(); ++back) {
    const std::int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      throw ShapeError(concat("shapes ", shape_text(a), " and ", shape_text(b), " do not broadcast"));
    }
    result[result.size() - back] = left == 1 ? right : left;
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t back = 1; back <= from.size(); ++back) {
    if (from[from.size() - back] != 1 && from[from.size() - back] != to[to.size() - back]) return false;
  }
  return true;
}

Shape broadcast_inputs(const RuleContext& context, std::size_t first) {
  Shape result;
  for (std::size_t i = first; i < context.num_inputs(); ++i) {
    if (context.has_input(i)) result = broadcast(result, context.shape(i));
  }
  return result;
}

std::int64_t broadcast_source(std::int64_t index, const Shape& to, const Shape& from) {
  std::int64_t source = 0;
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= to.size(); ++back) {
    const std::int64_t size = to[to.size() - back];
    const std::int64_t position = index % size;
    index /= size;
    if (back > from.size()) break;
    const std::int64_t from_size = from[from.size() - back];
    if (from_size != 1) source += position * stride;
    stride *= from_size;
  }
  return source;
}

}  // namespace latpred::shapes
