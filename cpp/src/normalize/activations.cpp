#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "normalize/rules.h"

namespace latpred {
namespace {

// A function of one tensor is told by what it makes of these numbers, however its file writes it down.
constexpr std::size_t kNumPoints = 8;
using Points = std::array<double, kNumPoints>;
constexpr Points kPoints{-5, -2.5, -1, -0.3, 0.2, 1, 2.2, 4};
// Constants of half precision move the results by less; the functions below lie further apart, but for both forms of
// GELU, of which the nearer one is taken.
constexpr double kTolerance = 3e-3;
constexpr std::size_t kMaxMembers = 12;  // the longest known form has nine operators

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
double silu(double x) { return x * sigmoid(x); }
double quick_gelu(double x) { return x * sigmoid(1.702 * x); }
double hard_sigmoid(double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }
double hard_swish(double x) { return x * hard_sigmoid(x); }
double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

struct Known {
  OperatorId op;
  double (*function)(double);
  std::string_view attribute = {};
  std::string_view setting = {};
};

constexpr Known kKnown[] = {
    {OperatorId::gelu, gelu},
    {OperatorId::gelu, gelu_tanh, "approximate", "tanh"},
    {OperatorId::silu, silu},
    {OperatorId::quick_gelu, quick_gelu},
    {OperatorId::hard_sigmoid, hard_sigmoid},
    {OperatorId::hard_swish, hard_swish},
    {OperatorId::mish, mish},
};

double relu(double x) { return std::max(x, 0.0); }
double softplus(double x) { return std::log1p(std::exp(x)); }
double negative(double x) { return -x; }
double square_root(double x) { return std::sqrt(x); }
double exponential(double x) { return std::exp(x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double error_function(double x) { return std::erf(x); }

struct Unary {
  OperatorId op;
  double (*function)(double);
};

constexpr Unary kUnary[] = {
    {OperatorId::sigmoid, sigmoid},
    {OperatorId::tanh, hyperbolic_tangent},
    {OperatorId::erf, error_function},
    {OperatorId::softplus, softplus},
    {OperatorId::relu, relu},
    {OperatorId::neg, negative},
    {OperatorId::exp, exponential},
    {OperatorId::sqrt, square_root},
    {OperatorId::identity, [](double x) { return x; }},
};

double add(double a, double b) { return a + b; }
double subtract(double a, double b) { return a - b; }
double multiply(double a, double b) { return a * b; }
double divide(double a, double b) { return a / b; }
double power(double a, double b) { return std::pow(a, b); }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

struct Binary {
  OperatorId op;
  double (*function)(double, double);
};

constexpr Binary kBinary[] = {
    {OperatorId::add, add},   {OperatorId::sub, subtract}, {OperatorId::mul, multiply}, {OperatorId::div, divide},
    {OperatorId::pow, power}, {OperatorId::max, larger},   {OperatorId::min, smaller},
};

// What comes out of an expression of one tensor and stored numbers.
class Expression {
 public:
  Expression(const Rewriter& rewriter, TensorId x) : rewriter_(rewriter), x_(x) {}

  [[nodiscard]] const std::vector<NodeId>& members() const { return members_; }

  std::optional<Points> evaluate(TensorId id) {
    const auto known = std::find_if(known_.begin(), known_.end(), [id](const auto& pair) { return pair.first == id; });
    if (known != known_.end()) return known->second;
    const auto points = compute(id);
    known_.emplace_back(id, points);
    return points;
  }

 private:
  std::optional<Points> compute(TensorId id) {
    if (id == x_) return kPoints;
    if (rewriter_.is_stored(id)) {
      const auto number = rewriter_.number(id);
      if (!number) return std::nullopt;
      Points same;
      same.fill(*number);
      return same;
    }
    const Node* node = rewriter_.maker(id);
    if (node == nullptr || node->inputs.empty() || node->inputs[0] == kAbsent) return std::nullopt;
    const NodeId member = rewriter_.id_of(*node);
    if (std::find(members_.begin(), members_.end(), member) == members_.end()) {
      if (members_.size() == kMaxMembers) return std::nullopt;
      members_.push_back(member);
    }
    if (node->op == OperatorId::clip) return clipped(*node);
    if (node->op == OperatorId::hard_sigmoid) return of_hard_sigmoid(*node);
    const auto unary =
        std::find_if(std::begin(kUnary), std::end(kUnary), [&](const Unary& row) { return row.op == node->op; });
    if (unary != std::end(kUnary)) {
      auto points = evaluate(node->inputs[0]);
      if (points) std::transform(points->begin(), points->end(), points->begin(), unary->function);
      return points;
    }
    const auto binary =
        std::find_if(std::begin(kBinary), std::end(kBinary), [&](const Binary& row) { return row.op == node->op; });
    if (binary == std::end(kBinary) || node->inputs.size() != 2) return std::nullopt;
    auto left = evaluate(node->inputs[0]);
    if (!left) return std::nullopt;
    const auto right = evaluate(node->inputs[1]);
    if (!right) return std::nullopt;
    std::transform(left->begin(), left->end(), right->begin(), left->begin(), binary->function);
    return left;
  }

  // A limit stands in an attribute or in an input; `fallback` where the file leaves it out.
  [[nodiscard]] std::optional<double> limit(const Node& node, std::string_view name, std::size_t index,
                                            double fallback) const {
    if (node.attributes.has(name)) return node.attributes.real(name, fallback);
    if (index >= node.inputs.size() || node.inputs[index] == kAbsent) return fallback;
    return rewriter_.number(node.inputs[index]);
  }

  std::optional<Points> clipped(const Node& node) {
    const auto low = limit(node, "min", 1, -std::numeric_limits<double>::infinity());
    const auto high = limit(node, "max", 2, std::numeric_limits<double>::infinity());
    if (!low || !high || *low > *high) return std::nullopt;
    auto points = evaluate(node.inputs[0]);
    if (!points) return std::nullopt;
    for (double& point : *points) point = std::clamp(point, *low, *high);
    return points;
  }

  // ONNX's own has 0.2 x + 0.5 unless it says otherwise.
  std::optional<Points> of_hard_sigmoid(const Node& node) {
    auto points = evaluate(node.inputs[0]);
    if (!points) return std::nullopt;
    const double alpha = node.attributes.real("alpha", 0.2);
    const double beta = node.attributes.real("beta", 0.5);
    for (double& point : *points) point = std::clamp(alpha * point + beta, 0.0, 1.0);
    return points;
  }

  const Rewriter& rewriter_;
  TensorId x_;
  std::vector<NodeId> members_;
  std::vector<std::pair<TensorId, std::optional<Points>>> known_;
};

const Known* nearest(const Points& points) {
  const Known* found = nullptr;
  double smallest = kTolerance;
  for (const Known& row : kKnown) {
    double largest = 0;
    for (std::size_t i = 0; i < kNumPoints; ++i) {
      const double difference = std::abs(points[i] - row.function(kPoints[i]));
      if (!(difference <= largest)) largest = difference;  // also where it is no number
    }
    if (largest < smallest) {
      smallest = largest;
      found = &row;
    }
  }
  return found;
}

// The tensors that `root` could be a function of: what lies behind it, nearest first.
std::vector<TensorId> candidates(const Rewriter& rewriter, const Node& root) {
  std::vector<TensorId> found;
  const auto add_inputs = [&](const Node& node) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || rewriter.is_stored(id)) continue;
      if (std::find(found.begin(), found.end(), id) == found.end()) found.push_back(id);
    }
  };
  add_inputs(root);
  for (std::size_t i = 0; i < found.size() && found.size() < kMaxMembers; ++i) {
    if (const Node* node = rewriter.maker(found[i])) add_inputs(*node);
  }
  return found;
}

// Whether nothing but `members` reads what they make, the result of the last one aside.
bool are_closed(const Rewriter& rewriter, const std::vector<NodeId>& members, TensorId result) {
  return std::all_of(members.begin(), members.end(), [&](NodeId member) {
    const Node& node = rewriter.node(member);
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      if (id == kAbsent || id == result) return true;
      const auto& readers = rewriter.readers(id);
      return !rewriter.is_output(id) && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
        return std::find(members.begin(), members.end(), reader) != members.end();
      });
    });
  });
}

bool recognize_at(Rewriter& rewriter, NodeId root) {
  const TensorId result = rewriter.node(root).outputs[0];
  for (const TensorId x : candidates(rewriter, rewriter.node(root))) {
    if (rewriter.tensor(x).shape != rewriter.tensor(result).shape ||
        rewriter.tensor(x).dtype != rewriter.tensor(result).dtype) {
      continue;
    }
    Expression expression(rewriter, x);
    const auto points = expression.evaluate(result);
    const Known* known = points ? nearest(*points) : nullptr;
    if (known == nullptr) continue;
    std::vector<NodeId> members(expression.members().rbegin(), expression.members().rend());
    std::rotate(members.begin(), std::find(members.begin(), members.end(), root) + 1, members.end());
    const auto repeat = rewriter.node(root).repeat;
    const bool is_one_body = std::all_of(members.begin(), members.end(),
                                         [&](NodeId member) { return rewriter.node(member).repeat == repeat; });
    if (members.size() < 2 || !is_one_body || !are_closed(rewriter, members, result)) continue;
    Node made{.op = known->op, .inputs = {x}};
    if (!known->attribute.empty()) made.attributes.set(std::string(known->attribute), std::string(known->setting));
    if (known->op == OperatorId::hard_sigmoid) made.attributes.set("alpha", 1.0 / 6);
    rewriter.replace(members, std::move(made));
    return true;
  }
  return false;
}

}  // namespace

// Every known form ends in a product or a quotient.
void recognize_activations(Rewriter& rewriter) {
  for (NodeId id = 0; id < rewriter.num_nodes(); ++id) {
    if (!rewriter.is_alive(id)) continue;
    const Node& node = rewriter.node(id);
    if (node.op == OperatorId::mul || node.op == OperatorId::div) recognize_at(rewriter, id);
  }
}

}  // namespace latpred
