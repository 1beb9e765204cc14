#include <algorithm>
#include <string>

#include "latpred/text.h"
#include "shapes/element_type.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// ONNX's machine-learning domain: x is [rows, features], or [features] for one row.
std::int64_t rows_of(const RuleContext& context) {
  const Shape& x = context.shape(0);
  if (x.empty() || x.size() > 2) context.fail(concat("input ", shape_text(x), " must be [rows, features]"));
  return x.size() == 2 ? x[0] : 1;
}

std::int64_t features_of(const RuleContext& context) {
  (void)rows_of(context);
  return context.shape(0).back();
}

// Entries of a list attribute, whatever their type.
std::int64_t count_of(const RuleContext& context, std::string_view name) {
  const AttributeValue* value = context.attributes().find(name);
  if (value == nullptr) return 0;
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(value)) return std::ssize(*integers);
  if (const auto* reals = std::get_if<std::vector<double>>(value)) return std::ssize(*reals);
  if (const auto* texts = std::get_if<std::vector<std::string>>(value)) return std::ssize(*texts);
  return 1;
}

void same(RuleContext& context) { context.set_output(0, context.dtype(0), context.shape(0)); }

void same_as_float(RuleContext& context) { context.set_output(0, DType::float32, context.shape(0)); }

// Picks columns; a vector counts as one row.
void array_feature_extractor(RuleContext& context) {
  Shape result = context.shape(0);
  if (result.empty()) context.fail("needs an input with at least one dimension");
  if (result.size() == 1) result.insert(result.begin(), 1);
  result.back() = element_count(context.shape(1));
  context.set_output(0, context.dtype(0), result);
}

// The type of the values that the keys are mapped to.
void label_encoder(RuleContext& context) {
  DType to = context.dtype(0) == DType::string ? DType::int64 : DType::string;  // version 1: names <-> numbers
  if (count_of(context, "values_strings") > 0) to = DType::string;
  if (count_of(context, "values_int64s") > 0) to = DType::int64;
  if (count_of(context, "values_floats") > 0) to = DType::float32;
  if (const std::int64_t dtype = context.attributes().integer("values_tensor_dtype", 0); dtype != 0) {
    to = element_type(context, dtype);
  }
  context.set_output(0, to, context.shape(0));
}

struct Labels {
  DType dtype = DType::int64;
  std::int64_t count = 0;
};

Labels labels_of(const RuleContext& context, std::string_view numbers) {
  if (const std::int64_t count = count_of(context, "classlabels_strings"); count > 0) return {DType::string, count};
  return {DType::int64, count_of(context, numbers)};
}

void set_classes(RuleContext& context, DType label, std::int64_t scores) {
  context.set_output(0, label, {rows_of(context)});
  context.set_output(1, DType::float32, {rows_of(context), scores});
}

// One row of coefficients for each class; two classes may share one.
void linear_classifier(RuleContext& context) {
  const Labels labels = labels_of(context, "classlabels_ints");
  const std::int64_t rows = features_of(context) > 0 ? count_of(context, "coefficients") / features_of(context) : 0;
  set_classes(context, labels.dtype, rows == 1 && labels.count == 2 ? 2 : std::max<std::int64_t>(rows, 1));
}

void linear_regressor(RuleContext& context) {
  context.set_output(0, DType::float32, {rows_of(context), context.attributes().integer("targets", 1)});
}

void one_hot_encoder(RuleContext& context) {
  Shape result = context.shape(0);
  result.push_back(std::max(count_of(context, "cats_int64s"), count_of(context, "cats_strings")));
  context.set_output(0, DType::float32, result);
}

// Probabilities or linear scores: one for each class. Otherwise one for each pair of classes.
void svm_classifier(RuleContext& context) {
  const Labels labels = labels_of(context, "classlabels_ints");
  const bool per_class = count_of(context, "prob_a") > 0 || count_of(context, "vectors_per_class") == 0;
  const std::int64_t pairs = std::max<std::int64_t>(labels.count * (labels.count - 1) / 2, 1);
  set_classes(context, labels.dtype, per_class || labels.count == 2 ? labels.count : pairs);
}

void svm_regressor(RuleContext& context) { context.set_output(0, DType::float32, {rows_of(context), 1}); }

void tree_ensemble_classifier(RuleContext& context) {
  const Labels labels = labels_of(context, "classlabels_int64s");
  set_classes(context, labels.dtype, labels.count == 1 ? 2 : labels.count);
}

void tree_ensemble_regressor(RuleContext& context) {
  context.set_output(0, DType::float32, {rows_of(context), context.attributes().integer("n_targets", 1)});
}

void tree_ensemble(RuleContext& context) {
  context.set_output(0, context.dtype(0), {rows_of(context), context.attributes().integer("n_targets", 1)});
}

// A list of maps, one for each row: the same numbers under names, so their shape stands for them.
void zip_map(RuleContext& context) { same(context); }

void feature_vectorizer(RuleContext& context) {
  const Shape widths = context.attributes().integers("inputdimensions");
  if (widths.size() != context.num_inputs()) {
    context.fail(concat("'inputdimensions' has ", widths.size(), " entries for ", context.num_inputs(), " inputs"));
  }
  std::int64_t width = 0;
  for (const std::int64_t part : widths) {
    if (part < 0 || __builtin_add_overflow(width, part, &width)) {
      context.fail(concat("'inputdimensions' ", shape_text(widths), " cannot be added up"));
    }
  }
  const Shape& first = context.shape(0);
  context.set_output(0, DType::float32, {first.empty() ? 1 : first[0], width});
}

}  // namespace

const std::vector<RuleRow>& classical_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::array_feature_extractor, array_feature_extractor},
      {OperatorId::binarizer, same},
      {OperatorId::imputer, same},
      {OperatorId::label_encoder, label_encoder},
      {OperatorId::linear_classifier, linear_classifier},
      {OperatorId::linear_regressor, linear_regressor},
      {OperatorId::normalizer, same_as_float},
      {OperatorId::one_hot_encoder, one_hot_encoder},
      {OperatorId::scaler, same_as_float},
      {OperatorId::svm_classifier, svm_classifier},
      {OperatorId::svm_regressor, svm_regressor},
      {OperatorId::tree_ensemble_classifier, tree_ensemble_classifier},
      {OperatorId::tree_ensemble_regressor, tree_ensemble_regressor},
      {OperatorId::tree_ensemble, tree_ensemble},
      {OperatorId::zip_map, zip_map},
      {OperatorId::feature_vectorizer, feature_vectorizer},
  };
  return rows;
}

}  // namespace latpred::shapes
