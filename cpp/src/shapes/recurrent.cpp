#include "operators/recurrent_sizes.h"

#include "latpred/text.h"
#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

// Outputs: the state of every step, the last state, the last cell (LSTM).
void recurrent(RuleContext& context) {
  std::vector<const Shape*> inputs;
  for (std::size_t i = 0; i < context.num_inputs(); ++i) {
    inputs.push_back(context.has_input(i) ? &context.shape(i) : nullptr);
  }
  const RecurrentSizes sizes = recurrent_sizes(context.statement().op, context.attributes(), inputs);
  Shape last = sizes.batch_first ? Shape{sizes.batch, sizes.directions, sizes.hidden}
                                 : Shape{sizes.directions, sizes.batch, sizes.hidden};
  Shape every = sizes.batch_first ? Shape{sizes.batch, sizes.length, sizes.directions, sizes.hidden}
                                  : Shape{sizes.length, sizes.directions, sizes.batch, sizes.hidden};
  // torch's: both directions side by side, states with the directions first.
  if (context.attributes().integer("merged_directions", 0) != 0) {
    last = {sizes.directions, sizes.batch, sizes.hidden};
    every = sizes.batch_first ? Shape{sizes.batch, sizes.length} : Shape{sizes.length, sizes.batch};
    every.push_back(element_count({sizes.directions, sizes.hidden}));
  }
  for (const std::size_t state : {std::size_t{5}, std::size_t{6}}) {
    const bool is_state = state == 5 || context.statement().op == OperatorId::lstm;
    if (is_state && context.has_input(state) && context.shape(state) != last) {
      context.fail(concat("initial state (input ", state, ") is ", shape_text(context.shape(state)), ", expected ",
                          shape_text(last)));
    }
  }
  context.set_output(0, context.dtype(0), every);
  context.set_output(1, context.dtype(0), last);
  if (context.statement().op == OperatorId::lstm) context.set_output(2, context.dtype(0), last);
}

// The best path through the emissions of each step: [steps, tags], or [batch, steps, tags] where sequences are padded.
// Inputs emissions, transitions [tags + 2, tags] (the first two rows: start and end), labels, lengths.
void crf_decoding(RuleContext& context) {
  const Shape& emission = context.shape(0);
  const Shape& transition = context.shape(1);
  if (emission.size() < 2 || emission.size() > 3 || transition != Shape{emission.back() + 2, emission.back()}) {
    context.fail(concat("transitions ", shape_text(transition), " must be [tags + 2, tags] for emissions ",
                        shape_text(emission)));
  }
  const Shape path = emission.size() == 2 ? Shape{emission[0], 1} : Shape{emission[0], emission[1]};
  context.set_output(0, DType::int64, path);
}

}  // namespace

const std::vector<RuleRow>& recurrent_rules() {
  static const std::vector<RuleRow> rows{{OperatorId::lstm, recurrent},
                                         {OperatorId::gru, recurrent},
                                         {OperatorId::rnn, recurrent},
                                         {OperatorId::crf_decoding, crf_decoding}};
  return rows;
}

}  // namespace latpred::shapes
