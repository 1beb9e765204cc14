#include <algorithm>

#include "latpred/text.h"
#include "shapes/fold.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// boxes [batch, boxes, 4], scores [batch, classes, boxes]. How many survive depends on the data: at most the boxes, or
// the asked number, of each class.
void non_max_suppression(RuleContext& context) {
  const Shape& boxes = context.shape(0);
  const Shape& scores = context.shape(1);
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] || scores[2] != boxes[1]) {
    context.fail(concat("needs boxes [batch, boxes, 4] and scores [batch, classes, boxes], got ", shape_text(boxes),
                        " and ", shape_text(scores)));
  }
  std::int64_t per_class = 0;
  if (context.has_input(2)) {
    const Value* asked = context.value(2);
    per_class = asked != nullptr && size_of(*asked) == 1 ? std::clamp<std::int64_t>(integer_at(*asked, 0), 0, boxes[1])
                                                         : boxes[1];
  }
  const std::int64_t most = element_count({scores[0], scores[1], per_class});
  context.set_output(0, DType::int64, {most, 3});
  context.warn(concat("how many boxes are kept depends on the data; the upper bound ", most, " is taken"));
}

}  // namespace

const std::vector<RuleRow>& detection_rules() {
  static const std::vector<RuleRow> rows{{OperatorId::non_max_suppression, non_max_suppression}};
  return rows;
}

}  // namespace latpred::shapes
