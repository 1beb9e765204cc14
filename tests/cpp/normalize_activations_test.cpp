// GELU and its like in the forms in which files write them down.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "normalized.h"

namespace latpred::testing {
namespace {

using Id = OperatorId;

const Shape kShape{2, 3, 4};

// A network around the pieces of one expression.
struct Sheet {
  GraphMaker net;
  TensorId x = net.node(Id::exp, {net.input(kShape)}, kShape);

  TensorId operator()(Id op, TensorId a) { return net.node(op, {a}, kShape); }
  TensorId operator()(Id op, TensorId a, TensorId b) { return net.node(op, {a, b}, kShape); }
  TensorId number(double value) { return net.number(value); }
  TensorId clip(TensorId a) { return net.node(Id::clip, {a}, kShape, {{"min", 0.0}, {"max", 6.0}}); }
};

struct Form {
  std::string name;
  std::function<TensorId(Sheet&)> build;
  Names left;  // behind the exponential
};

void check_forms(const std::vector<Form>& forms) {
  for (const Form& form : forms) {
    SCOPED_TRACE(form.name);
    Sheet sheet;
    const TensorId y = form.build(sheet);
    Names expected{"exp"};
    expected.insert(expected.end(), form.left.begin(), form.left.end());
    EXPECT_EQ(left_of(sheet.net, {sheet(Id::sqrt, y)}), (expected.push_back("sqrt"), expected));
  }
}

const double kRoot = std::sqrt(2.0);
const double kTanhFactor = 0.7978845608;

TEST(NormalizeActivations, Gelu) {
  check_forms({
      {"x * (1 + erf(x / root)) * 0.5",
       [](Sheet& s) {
         const auto gate = s(Id::add, s(Id::erf, s(Id::div, s.x, s.number(kRoot))), s.number(1));
         return s(Id::mul, s(Id::mul, s.x, gate), s.number(0.5));
       },
       {"gelu"}},
      {"(0.5 * x) * (1 + erf(x * 0.7071))",
       [](Sheet& s) {
         const auto gate = s(Id::add, s.number(1), s(Id::erf, s(Id::mul, s.x, s.number(1 / kRoot))));
         return s(Id::mul, s(Id::mul, s.number(0.5), s.x), gate);
       },
       {"gelu"}},
      {"x * (0.5 * (1 + erf))",
       [](Sheet& s) {
         const auto gate = s(Id::add, s(Id::erf, s(Id::div, s.x, s.number(kRoot))), s.number(1));
         return s(Id::mul, s.x, s(Id::mul, s.number(0.5), gate));
       },
       {"gelu"}},
      {"half precision constants",
       [](Sheet& s) {
         const auto gate = s(Id::add, s(Id::erf, s(Id::div, s.x, s.number(1.4140625))), s.number(1));
         return s(Id::mul, s(Id::mul, s.x, gate), s.number(0.5));
       },
       {"gelu"}},
      {"tanh, x^3 as a power",
       [](Sheet& s) {
         const auto cube = s(Id::mul, s(Id::pow, s.x, s.number(3)), s.number(0.044715));
         const auto inner = s(Id::mul, s(Id::add, s.x, cube), s.number(kTanhFactor));
         return s(Id::mul, s(Id::mul, s.x, s.number(0.5)), s(Id::add, s(Id::tanh, inner), s.number(1)));
       },
       {"gelu"}},
      {"tanh, x * (x * x)",
       [](Sheet& s) {
         const auto cube = s(Id::mul, s.number(0.044715), s(Id::mul, s.x, s(Id::mul, s.x, s.x)));
         const auto inner = s(Id::mul, s.number(kTanhFactor), s(Id::add, s.x, cube));
         return s(Id::mul, s.number(0.5), s(Id::mul, s.x, s(Id::add, s.number(1), s(Id::tanh, inner))));
       },
       {"gelu"}},
      {"tanh, x * (1 + 0.0447 x^2)",
       [](Sheet& s) {
         const auto square = s(Id::mul, s(Id::mul, s.x, s.number(0.044715)), s.x);
         const auto inner = s(Id::mul, s(Id::mul, s.x, s.number(kTanhFactor)), s(Id::add, s.number(1), square));
         return s(Id::mul, s(Id::mul, s.x, s.number(0.5)), s(Id::add, s(Id::tanh, inner), s.number(1)));
       },
       {"gelu"}},
      {"quick",
       [](Sheet& s) { return s(Id::mul, s.x, s(Id::sigmoid, s(Id::mul, s.x, s.number(1.702)))); },
       {"quick_gelu"}},
  });
}

TEST(NormalizeActivations, FormsOfGeluAreToldApart) {
  Sheet s;
  const auto cube = s(Id::mul, s(Id::pow, s.x, s.number(3)), s.number(0.044715));
  const auto inner = s(Id::mul, s(Id::add, s.x, cube), s.number(kTanhFactor));
  const auto y = s(Id::mul, s(Id::mul, s.x, s.number(0.5)), s(Id::add, s(Id::tanh, inner), s.number(1)));
  const Graph graph = normalized(s.net.build({y}));
  EXPECT_EQ(graph.nodes.back().attributes.text("approximate", "none"), "tanh");
}

TEST(NormalizeActivations, OtherGates) {
  check_forms({
      {"silu", [](Sheet& s) { return s(Id::mul, s(Id::sigmoid, s.x), s.x); }, {"silu"}},
      {"mish", [](Sheet& s) { return s(Id::mul, s.x, s(Id::tanh, s(Id::softplus, s.x))); }, {"mish"}},
      {"hard swish, divided last",
       [](Sheet& s) { return s(Id::div, s(Id::mul, s.x, s.clip(s(Id::add, s.x, s.number(3)))), s.number(6)); },
       {"hard_swish"}},
      {"hard swish, scaled gate",
       [](Sheet& s) { return s(Id::mul, s.x, s(Id::mul, s.clip(s(Id::add, s.x, s.number(3))), s.number(1.0 / 6))); },
       {"hard_swish"}},
      {"hard sigmoid",
       [](Sheet& s) { return s(Id::div, s.clip(s(Id::add, s.x, s.number(3))), s.number(6)); },
       {"hard_sigmoid"}},
      {"ONNX's hard sigmoid as a gate",
       [](Sheet& s) {
         return s(Id::mul, s.x, s.net.node(Id::hard_sigmoid, {s.x}, kShape, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
       },
       {"hard_swish"}},
  });
}

TEST(NormalizeActivations, NearMisses) {
  check_forms({
      {"another half",
       [](Sheet& s) {
         const auto gate = s(Id::add, s(Id::erf, s(Id::div, s.x, s.number(kRoot))), s.number(1));
         return s(Id::mul, s(Id::mul, s.x, gate), s.number(0.4));
       },
       {"div", "erf", "add", "mul", "mul"}},
      {"another root",
       [](Sheet& s) {
         const auto gate = s(Id::add, s(Id::erf, s(Id::div, s.x, s.number(1.5))), s.number(1));
         return s(Id::mul, s(Id::mul, s.x, gate), s.number(0.5));
       },
       {"div", "erf", "add", "mul", "mul"}},
      {"the gate of another tensor",
       [](Sheet& s) { return s(Id::mul, s.x, s(Id::sigmoid, s.net.input(kShape))); },
       {"sigmoid", "mul"}},
      {"an unknown number",
       [](Sheet& s) { return s(Id::mul, s.x, s(Id::sigmoid, s(Id::mul, s.x, s.net.weight({})))); },
       {"mul", "sigmoid", "mul"}},
      {"the gate is read elsewhere",
       [](Sheet& s) {
         const auto gate = s(Id::sigmoid, s.x);
         return s(Id::add, s(Id::mul, s.x, gate), gate);
       },
       {"sigmoid", "mul", "add"}},
      {"ONNX's default hard sigmoid",
       [](Sheet& s) { return s(Id::mul, s.x, s(Id::hard_sigmoid, s.x)); },
       {"hard_sigmoid", "mul"}},
  });
}

TEST(NormalizeActivations, TowersOfProductsEnd) {
  Sheet s;
  auto x = s(Id::sigmoid, s.x);
  for (int i = 0; i < 500; ++i) x = s(Id::mul, x, x);
  EXPECT_EQ(left_of(s.net, {x}).size(), 502U);
}

TEST(NormalizeActivations, SaysWhatItWas) {
  Sheet s;
  const Graph before = s.net.build({s(Id::mul, s.x, s(Id::sigmoid, s.x))});
  const Graph after = normalized(before);
  EXPECT_EQ(after.nodes.back().name, before.nodes.back().name);
  EXPECT_EQ(after.nodes.back().inputs.size(), 1U);
}

}  // namespace
}  // namespace latpred::testing
