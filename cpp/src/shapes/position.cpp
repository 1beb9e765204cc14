#include "latpred/text.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

void rotary_embedding(RuleContext& context) {
  if (context.rank(0) != 3 && context.rank(0) != 4) {
    context.fail(concat("input ", shape_text(context.shape(0)), " must have 3 or 4 dimensions"));
  }
  context.set_output(0, context.dtype(0), context.shape(0));
}

}  // namespace

const std::vector<RuleRow>& position_rules() {
  static const std::vector<RuleRow> rows{{OperatorId::rotary_embedding, rotary_embedding}};
  return rows;
}

}  // namespace latpred::shapes
