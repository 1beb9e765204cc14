#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Signal, shapes) {
  const Operand none = Operand::absent();
  const AttributeValue yes = std::int64_t{1};
  const AttributeValue no = std::int64_t{0};
  check_cases({
      {"real", dft, {{2, 100, 1}}, {}, {{2, 100, 2}}},
      {"one side", dft, {{2, 100, 1}}, {{"onesided", yes}}, {{2, 51, 2}}},
      {"padded", dft, {{2, 100, 1}, Operand::scalar(128)}, {}, {{2, 128, 2}}},
      {"another axis", dft, {{2, 100, 30, 2}, none, Operand::scalar(1)}, {}, {{2, 100, 30, 2}}},
      {"computed axis that does not matter",
       dft,
       {{2, 100, 30, 2}, none, Operand({}, DType::int64)},
       {},
       {{2, 100, 30, 2}}},
      {"axis in an attribute", dft, {{1, 10, 20, 1}}, {{"axis", yes}, {"onesided", yes}}, {{1, 6, 20, 2}}},
      {"back from one side", dft, {{2, 51, 2}}, {{"onesided", yes}, {"inverse", yes}}, {{2, 100, 1}}},
      {"frames of a window", stft, {{1, 128, 1}, Operand::scalar(8), Operand({16})}, {}, {{1, 15, 9, 2}}},
      {"frames of a length",
       stft,
       {{1, 128, 1}, Operand::scalar(8), none, Operand::scalar(16)},
       {{"onesided", no}},
       {{1, 15, 16, 2}}},
  });
}

TEST(Signal, refusals) {
  check_refused({
      {"no last dimension", dft, {{2, 100, 3}}, {}, {"[2, 100, 3]", "real"}},
      {"frame", stft, {{1, 128, 1}, Operand::scalar(8), Operand::absent(), Operand::scalar(129)}, {}, {"129", "128"}},
      {"step", stft, {{1, 128, 1}, Operand::scalar(0)}, {}, {"positive frame step"}},
  });
}

}  // namespace
}  // namespace latpred::testing
