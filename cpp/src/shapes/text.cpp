#include <algorithm>
#include <limits>

#include "latpred/text.h"
#include "shapes/broadcast.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

void string_concat(RuleContext& context) {
  context.set_output(0, DType::string, broadcast(context.shape(0), context.shape(1)));
}

// Stop words vanish, so that only an upper bound is known where there are any.
void string_normalizer(RuleContext& context) {
  context.set_output(0, DType::string, context.shape(0));
  const AttributeValue* stopwords = context.attributes().find("stopwords");
  const auto* words = stopwords != nullptr ? std::get_if<std::vector<std::string>>(stopwords) : nullptr;
  if (words != nullptr && !words->empty()) {
    context.warn("how many words remain depends on the data; the upper bound, all of them, is taken");
  }
}

void string_split(RuleContext& context) {
  const std::int64_t most_splits = context.attributes().integer("maxsplit", -1);
  if (most_splits < 0 || most_splits == std::numeric_limits<std::int64_t>::max()) {
    context.fail("how many parts a string has depends on the data; set 'maxsplit' to bound it");
  }
  Shape parts = context.shape(0);
  parts.push_back(most_splits + 1);
  context.set_output(0, DType::string, parts);
  context.set_output(1, DType::int64, context.shape(0));
  context.warn(
      concat("how many parts a string has depends on the data; the upper bound ", most_splits + 1, " is taken"));
}

void regex_full_match(RuleContext& context) { context.set_output(0, DType::boolean, context.shape(0)); }

// Each n-gram has its column.
void tf_idf_vectorizer(RuleContext& context) {
  const Shape columns = context.attributes().integers("ngram_indexes");
  if (columns.empty()) context.fail("needs 'ngram_indexes'");
  Shape result = context.shape(0);
  if (result.size() > 2) context.fail(concat("input ", shape_text(result), " must have at most 2 dimensions"));
  const std::int64_t last = *std::max_element(columns.begin(), columns.end());
  if (last == std::numeric_limits<std::int64_t>::max()) context.fail(concat("column ", last, " is too large"));
  const std::int64_t count = last + 1;
  if (result.empty()) {
    result = {count};
  } else {
    result.back() = count;
  }
  context.set_output(0, DType::float32, result);
}

void image_decoder(RuleContext& context) {
  context.fail("the size of an encoded image stands in the data; decode it before the network");
}

}  // namespace

const std::vector<RuleRow>& text_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::string_concat, string_concat},         {OperatorId::string_normalizer, string_normalizer},
      {OperatorId::string_split, string_split},           {OperatorId::regex_full_match, regex_full_match},
      {OperatorId::tf_idf_vectorizer, tf_idf_vectorizer}, {OperatorId::image_decoder, image_decoder},
  };
  return rows;
}

}  // namespace latpred::shapes
