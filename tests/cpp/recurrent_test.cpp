#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Recurrent, shapes) {
  const Settings hidden{{"hidden_size", std::int64_t{20}}};
  const Settings both{{"hidden_size", std::int64_t{20}}, {"direction", std::string("bidirectional")}};
  const Settings batch_first{{"hidden_size", std::int64_t{20}}, {"layout", std::int64_t{1}}};
  check_cases({
      {"lstm", lstm, {{7, 3, 10}, {1, 80, 10}, {1, 80, 20}}, hidden, {{7, 1, 3, 20}, {1, 3, 20}, {1, 3, 20}}},
      {"lstm both ways", lstm, {{7, 3, 10}, {2, 80, 10}, {2, 80, 20}}, both, {{7, 2, 3, 20}, {2, 3, 20}, {2, 3, 20}}},
      {"gru, batch first", gru, {{3, 7, 10}, {1, 60, 10}, {1, 60, 20}}, batch_first, {{3, 7, 1, 20}, {3, 1, 20}}},
      {"rnn without the attribute", rnn, {{7, 3, 10}, {1, 20, 10}, {1, 20, 20}}, {}, {{7, 1, 3, 20}, {1, 3, 20}}},
  });
}

TEST(Recurrent, refusals) {
  check_refused({
      {"gates", gru, {{7, 3, 10}, {1, 80, 10}, {1, 80, 20}}, {}, {"W is [1, 80, 10]", "[1, 60, 10]"}},
      {"input", lstm, {{7, 3, 11}, {1, 80, 10}, {1, 80, 20}}, {}, {"W is [1, 80, 10]", "[1, 80, 11]"}},
      {"directions",
       lstm,
       {{7, 3, 10}, {1, 80, 10}, {1, 80, 20}},
       {{"direction", std::string("bidirectional")}},
       {"[2, 80, 10]"}},
      {"state",
       rnn,
       {{7, 3, 10}, {1, 20, 10}, {1, 20, 20}, Operand::absent(), Operand::absent(), {1, 4, 20}},
       {},
       {"initial state", "[1, 4, 20]", "[1, 3, 20]"}},
      {"rank", rnn, {{7, 10}, {1, 20, 10}, {1, 20, 20}}, {}, {"(X) [7, 10]", "3 dimensions"}},
  });
}

}  // namespace
}  // namespace latpred::testing
