#include <algorithm>
#include <cmath>
#include <numeric>

#include "latpred/text.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// Whether each dimension is reduced. Axes stand in an attribute or, since opset 13 or 18, in input 1; none means all,
// unless `noop_with_empty_axes` says that nothing is reduced.
std::vector<bool> reduced_axes(const RuleContext& context) {
  const std::int64_t rank = context.rank(0);
  const auto axes = context.parameter("axes", 1);
  if (!axes || axes->empty()) {
    return std::vector<bool>(static_cast<std::size_t>(rank),
                             context.attributes().integer("noop_with_empty_axes", 0) == 0);
  }
  std::vector<bool> result(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : *axes) result[context.normalized_axis(axis, rank)] = true;
  return result;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!reduced[axis]) result.push_back(shape[axis]);
    if (reduced[axis] && keep) result.push_back(1);
  }
  return result;
}

bool keeps_dimensions(const RuleContext& context) { return context.attributes().integer("keepdims", 1) != 0; }

// Output 1, where asked for: where the largest or smallest stood (torch.max).
std::vector<bool> reduce_shape(RuleContext& context) {
  std::vector<bool> reduced = reduced_axes(context);
  const Shape shape = reduced_shape(context.shape(0), reduced, keeps_dimensions(context));
  context.set_output(0, context.dtype(0), shape);
  context.set_output(1, DType::int64, shape);
  return reduced;
}

void reduce(RuleContext& context) { (void)reduce_shape(context); }

double sum(double a, double b) { return a + b; }
double product(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

// Shape arithmetic: element counts as products of a shape, and the like.
template <double (*kCombine)(double, double), bool kIsMean = false>
void foldable(RuleContext& context) {
  const std::vector<bool> reduced = reduce_shape(context);
  const Value* input = context.value(0);
  if (input == nullptr || size_of(*input) == 0) return;
  const Shape& shape = context.shape(0);
  const Shape kept = reduced_shape(shape, reduced, true);
  const std::int64_t count = element_count(kept);
  std::vector<double> results(static_cast<std::size_t>(count));
  std::vector<bool> started(results.size());
  for (std::int64_t i = 0; i < size_of(*input); ++i) {
    std::vector<std::int64_t> at = coordinates(i, shape);
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (reduced[axis]) at[axis] = 0;
    }
    const std::int64_t to = position(at, kept);
    results[to] = started[to] ? kCombine(results[to], real_at(*input, i)) : real_at(*input, i);
    started[to] = true;
  }
  const std::int64_t num_averaged = size_of(*input) / count;
  const double divisor = kIsMean ? static_cast<double>(num_averaged) : 1.0;
  Value value;
  for (const double result : results) {
    if (is_real(context.dtype(0))) {
      value.reals.push_back(result / divisor);
    } else {
      value.integers.push_back(to_integer(result / divisor));
    }
  }
  context.set_value(0, std::move(value));
}

// Output 1, where asked for: the mean that it computes on the way (torch.var_mean).
void reduce_variance(RuleContext& context) {
  const Shape shape = reduced_shape(context.shape(0), reduced_axes(context), keeps_dimensions(context));
  context.set_output(0, context.dtype(0), shape);
  context.set_output(1, context.dtype(0), shape);
}

void truth(RuleContext& context) {
  context.set_output(0, DType::boolean,
                     reduced_shape(context.shape(0), reduced_axes(context), keeps_dimensions(context)));
}

void sort(RuleContext& context) {
  if (context.rank(0) > 0) (void)context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0));
  context.set_output(0, context.dtype(0), context.shape(0));
  context.set_output(1, DType::int64, context.shape(0));
}

// How many elements fall into each of `bins`.
void histogram(RuleContext& context) {
  const auto bins = context.parameter("bins", 1);
  if (!bins || bins->size() != 1 || bins->front() < 0) context.fail("its 'bins' must be one number");
  context.set_output(0, context.dtype(0), {bins->front()});
}

void arg_reduce(RuleContext& context) {
  std::vector<bool> reduced(context.shape(0).size());
  reduced[context.normalized_axis(context.attributes().integer("axis", 0), context.rank(0))] = true;
  context.set_output(0, DType::int64, reduced_shape(context.shape(0), reduced, keeps_dimensions(context)));
}

void cumulative(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

void top_k(RuleContext& context) {
  Shape shape = context.shape(0);
  const std::int64_t axis = context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0));
  const auto k = context.parameter("k", 1);
  if (!k || k->size() != 1) context.fail("needs one K");
  if ((*k)[0] < 0 || (*k)[0] > shape[axis]) {
    context.fail(concat("K = ", (*k)[0], " does not lie in the ", shape[axis], " elements of dimension ", axis));
  }
  shape[axis] = (*k)[0];
  context.set_output(0, context.dtype(0), shape);
  context.set_output(1, DType::int64, shape);
}

void det(RuleContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 2 || x[x.size() - 1] != x[x.size() - 2]) {
    context.fail(concat("needs square matrices, got ", shape_text(x)));
  }
  context.set_output(0, context.dtype(0), {x.begin(), x.end() - 2});
}

}  // namespace

const std::vector<RuleRow>& reduction_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::reduce_l1, reduce},
      {OperatorId::reduce_l2, reduce},
      {OperatorId::reduce_log_sum, reduce},
      {OperatorId::reduce_log_sum_exp, reduce},
      {OperatorId::reduce_max, foldable<larger>},
      {OperatorId::reduce_mean, foldable<sum, true>},
      {OperatorId::reduce_min, foldable<smaller>},
      {OperatorId::reduce_prod, foldable<product>},
      {OperatorId::reduce_sum, foldable<sum>},
      {OperatorId::reduce_sum_square, reduce},
      {OperatorId::arg_max, arg_reduce},
      {OperatorId::arg_min, arg_reduce},
      {OperatorId::cum_sum, cumulative},
      {OperatorId::cum_prod, cumulative},
      {OperatorId::top_k, top_k},
      {OperatorId::det, det},
      {OperatorId::reduce_variance, reduce_variance},
      {OperatorId::reduce_any, truth},
      {OperatorId::reduce_all, truth},
      {OperatorId::sort, sort},
      {OperatorId::histogram, histogram},
  };
  return rows;
}

}  // namespace latpred::shapes
