#include "shapes/rescale.h"

#include <array>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::shapes {
namespace {

// In double, which does not overflow.
double product(std::int64_t size, std::int64_t batch) { return static_cast<double>(size) * static_cast<double>(batch); }

// The one dimension that differs between both walks, where it differs by the batches' ratio.
std::optional<std::size_t> scaled_dimension(const Shape& saved, const Shape& now, const Rebatch& batch) {
  if (saved.size() != now.size()) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i] == now[i]) continue;
    if (found || product(saved[i], batch.asked) != product(now[i], batch.saved)) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<std::int64_t> scaled(std::int64_t size, const Rebatch& batch) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(size, batch.asked, &product) || product % batch.saved != 0) return std::nullopt;
  return product / batch.saved;
}

}  // namespace

// The input's dimension i grew by the ratio r of the batches. In row-major order the batch then has P = the product of
// the sizes before i in front of it, and it must keep that place in the result: the entry with the same product before
// it grows by r, else the one inside which the place lies; of what steps and batch were joined in, the one of the
// batch's size. Right for [B, T, H] -> [B * T, H], [T, B, H] -> [T * B, H], their inverses and [1, n] alike.
std::optional<Shape> rescaled_reshape(const RuleContext& context, const std::optional<Shape>& literal) {
  const Rebatch* batch = context.rebatch();
  const Shape* saved_input = context.saved_input_shape(0);
  const Shape* saved_output = context.saved_output_shape(0);
  if (batch == nullptr || saved_input == nullptr || saved_output == nullptr) return std::nullopt;
  // A file with a symbol for its batch means what it says wherever that is possible.
  if (literal && !batch->is_static) return std::nullopt;
  const auto grown = scaled_dimension(*saved_input, context.shape(0), *batch);
  if (!grown || element_count(*saved_input) == 0) return std::nullopt;
  // At a batch of 1 converters write a transposition that moves the batch as a reshape.
  if (context.attributes().integer("may_transpose", 0) != 0) fail_baked(context);
  const std::int64_t before =
      element_count({saved_input->begin(), saved_input->begin() + static_cast<std::ptrdiff_t>(*grown)});
  const std::int64_t within = before * (*saved_input)[*grown];
  const bool is_joined = (*saved_input)[*grown] > batch->saved;  // with steps, on either side of it
  std::array<std::vector<std::size_t>, 3> places;                // the surest first
  std::int64_t product = 1;
  for (std::size_t j = 0; j < saved_output->size(); ++j) {
    const std::int64_t size = (*saved_output)[j];
    // [T, 1, H] -> [T, H]: steps and a batch of 1 became one, since layers tell what features there are.
    const bool is_features = batch->saved == 1 && before > 1 && j > 0 && j + 1 == saved_output->size();
    if (is_joined && before <= product && product * size <= within && size == batch->saved) places[0].push_back(j);
    if (product == before && !is_features) places[1].push_back(j);
    if (product < before && before <= product * size) places[2].push_back(j);
    product *= size;
  }
  for (const std::vector<std::size_t>& alike : places) {
    for (const std::size_t j : alike) {
      const auto size = scaled((*saved_output)[j], *batch);
      if (!size) continue;
      Shape result = *saved_output;
      result[j] = *size;
      if (element_count(result) == element_count(context.shape(0))) return result;
    }
  }
  return std::nullopt;
}

Shape rescaled_expand(const RuleContext& context, const Shape& target) {
  const Rebatch* batch = context.rebatch();
  const Shape* saved_input = context.saved_input_shape(0);
  if (batch == nullptr || saved_input == nullptr) return target;
  const Shape& input = context.shape(0);
  const auto grown = scaled_dimension(*saved_input, input, *batch);
  if (!grown) return target;
  const std::size_t from_back = input.size() - *grown;
  if (from_back > target.size()) return target;
  Shape result = target;
  std::int64_t& size = result[result.size() - from_back];
  if (size == (*saved_input)[*grown] && size != 1) size = input[*grown];
  return result;
}

void fail_baked(const RuleContext& context) {
  const Statement& statement = context.statement();
  throw ShapeError(concat("input '", context.rebatch()->input, "' is fixed at batch ", context.rebatch()->saved,
                          " and ", operator_row(statement.op).name, " '", statement.name,
                          "' bakes it in; re-export with a dynamic batch dimension"),
                   {.node = statement.name, .op = statement.source_operator});
}

}  // namespace latpred::shapes
