#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

void softmax(RuleContext& context) {
  if (context.rank(0) > 0) (void)context.normalized_axis(context.attributes().integer("axis", -1), context.rank(0));
  context.set_output(0, context.dtype(0), context.shape(0));
}

}  // namespace

const std::vector<RuleRow>& softmax_rules() {
  static const std::vector<RuleRow> rows{
      {OperatorId::softmax, softmax},
      {OperatorId::log_softmax, softmax},
      {OperatorId::hardmax, softmax},
  };
  return rows;
}

}  // namespace latpred::shapes
