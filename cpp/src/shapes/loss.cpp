#include "latpred/text.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// Scores [batch, classes, sizes ...] against labels [batch, sizes ...].
void loss(RuleContext& context) {
  const Shape& scores = context.shape(0);
  const Shape& labels = context.shape(1);
  Shape expected = scores;
  if (scores.size() > 1) expected.erase(expected.begin() + 1);
  if (scores.size() < 2 || labels != expected) {
    context.fail(concat("labels ", shape_text(labels), " must be the scores ", shape_text(scores),
                        " without their second dimension"));
  }
  const bool is_reduced = context.attributes().text("reduction", "mean") != "none";
  context.set_output(0, context.dtype(0), is_reduced ? Shape{} : labels);
  context.set_output(1, context.dtype(0), scores);  // logarithms of the probabilities
}

}  // namespace

const std::vector<RuleRow>& loss_rules() {
  static const std::vector<RuleRow> rows{{OperatorId::negative_log_likelihood_loss, loss},
                                         {OperatorId::softmax_cross_entropy_loss, loss}};
  return rows;
}

}  // namespace latpred::shapes
