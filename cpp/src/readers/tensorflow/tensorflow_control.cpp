#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_lowering.h"
#include "readers/tensorflow/tensorflow_operators.h"
#include "readers/tensorflow/tensorflow_tensors.h"

// Branches and loops. Their functions become bodies that see the variables around them.
namespace latpred::readers::tensorflow {
namespace {

// What the result was before operators that hand it on.
Reference origin(const Body& body, Reference reference) {
  while (reference.node >= 0) {
    const NodeMessage& node = body.list.nodes[static_cast<std::size_t>(reference.node)];
    if (!is_alias(node.op) || node.inputs.first == node.inputs.second) break;
    reference = body.references[node.inputs.first];
  }
  return reference;
}

const NodeMessage* node_of(const Body& body, Reference reference) {
  return reference.node < 0 ? nullptr : &body.list.nodes[static_cast<std::size_t>(reference.node)];
}

Reference input_of(const Body& body, const NodeMessage& node, std::uint32_t index) {
  return origin(body, body.references[node.inputs.first + index]);
}

bool has_inputs(const NodeMessage& node, std::uint32_t count) {
  return node.inputs.second - node.inputs.first >= count;
}

bool is_argument(Reference reference, std::size_t index) { return reference.node < 0 && reference.index == index; }

}  // namespace

// What a loop does with one of its values.
enum class Role : std::uint8_t {
  kept,     // handed on as it is: weights, lists that are read
  counter,  // starts at a number and grows by one each turn
  state,
  gathered,  // a list that gets an element each turn
};

struct Lowering::Loop {
  Body* condition = nullptr;
  Body* body = nullptr;
  std::vector<Role> roles;
  std::vector<std::int64_t> starts;  // of counters
  VariableId count = kAbsent;        // of turns
};

// Statements that are made in here go into `block` instead of the block around it.
class InBlock {
 public:
  InBlock(Assembly& assembly, Block& block, std::int64_t& num_open)
      : assembly_(assembly), block_(block), num_open_(num_open) {
    ++num_open_;
    std::swap(assembly_.program().main.statements, outer_);
  }
  ~InBlock() {
    --num_open_;
    std::swap(assembly_.program().main.statements, outer_);
    block_.statements = std::move(outer_);
  }
  InBlock(const InBlock&) = delete;
  InBlock& operator=(const InBlock&) = delete;

 private:
  Assembly& assembly_;
  Block& block_;
  std::int64_t& num_open_;
  std::vector<Statement> outer_;
};

void Lowering::lower_if(Node& node) {
  const VariableId condition = node.input(0);
  const std::vector<VariableId> arguments(node.inputs().begin() + 1, node.inputs().end());
  Statement statement{.op = OperatorId::conditional,
                      .source_operator = std::string(node.op()),
                      .name = std::string(node.name()),
                      .inputs = {condition}};
  for (const std::string_view branch : {"then_branch", "else_branch"}) {
    Block block;
    {
      const InBlock inside(assembly_, block, num_open_blocks_);
      block.outputs = call(node, node.function(branch), arguments);
    }
    for (const VariableId output : block.outputs) {
      if (list(output) != nullptr) node.fail("hands on a list of tensors from a branch, which is not read");
    }
    statement.bodies.push_back(std::move(block));
  }
  const std::size_t num_results = statement.bodies[0].outputs.size();
  if (statement.bodies[1].outputs.size() != num_results) {
    node.fail(concat("has branches with ", num_results, " and ", statement.bodies[1].outputs.size(), " results"));
  }
  std::vector<VariableId> results;
  for (std::size_t i = 0; i < num_results; ++i) {
    results.push_back(noted(assembly_.result(std::string(node.name()), DType::undefined, node.declared(i))));
  }
  statement.outputs = results;
  assembly_.append_part(std::move(statement));
  node.set_results(std::move(results));
}

std::optional<std::int64_t> Lowering::constant_in(const Body& body, Reference reference) const {
  const NodeMessage* const node = node_of(body, reference);
  if (node == nullptr || node->op != "Const") return std::nullopt;
  for (std::uint32_t i = node->attributes.first; i < node->attributes.second; ++i) {
    if (body.list.attributes[i].name != "value") continue;
    const ValueMessage value = parse_value(source_, body.list.attributes[i].value);
    if (value.kind != ValueKind::tensor) return std::nullopt;
    const auto content = decode_value(source_, parse_tensor(source_, value.content));
    if (content == nullptr || content->integers.size() != 1) return std::nullopt;
    return content->integers.front();
  }
  return std::nullopt;
}

void Lowering::describe(const Node& node, Loop& loop) {
  const Body& body = *loop.body;
  const std::size_t count = node.inputs().size();
  if (body.arguments.size() != count || body.results.size() != count || loop.condition->arguments.size() != count ||
      loop.condition->results.size() != 1) {
    node.fail(concat("has ", count, " values, its body takes ", body.arguments.size(), " and gives ",
                     body.results.size(), ", its condition takes ", loop.condition->arguments.size()));
  }
  loop.roles.assign(count, Role::state);
  loop.starts.assign(count, 0);
  for (std::size_t k = 0; k < count; ++k) {
    const Reference result = origin(body, body.results[k]);
    if (is_argument(result, k)) {
      loop.roles[k] = Role::kept;
      continue;
    }
    const NodeMessage* const maker = node_of(body, result);
    if (list(node.inputs()[k]) != nullptr) {
      const bool puts_in = maker != nullptr && (maker->op == "TensorListSetItem" || maker->op == "TensorListPushBack");
      if (!puts_in || !has_inputs(*maker, 2) || !is_argument(input_of(body, *maker, 0), k)) {
        node.fail(concat("changes the list of tensors '", body.arguments[k],
                         "' in a way that is not read: one element is put in at each turn"));
      }
      loop.roles[k] = Role::gathered;
      continue;
    }
    const auto start = node.known(k);
    if (maker == nullptr || (maker->op != "AddV2" && maker->op != "Add") || !has_inputs(*maker, 2) || !start ||
        start->size() != 1) {
      continue;
    }
    for (const std::uint32_t side : {0U, 1U}) {
      if (is_argument(input_of(body, *maker, side), k) && constant_in(body, input_of(body, *maker, 1 - side)) == 1) {
        loop.roles[k] = Role::counter;
        loop.starts[k] = start->front();
      }
    }
  }
}

// "counter < bound", or several of these that must all hold. Sets `count`; false where the condition is another.
bool Lowering::count_turns(Node& node, Loop& loop) {
  const Body& condition = *loop.condition;
  std::vector<Reference> open{origin(condition, condition.results.front())};
  std::vector<VariableId> counts;
  int num_tests = 0;
  while (!open.empty()) {
    const NodeMessage* const test = node_of(condition, open.back());
    open.pop_back();
    if (test == nullptr || !has_inputs(*test, 2)) return false;
    constexpr int kMostTests = 64;  // a test that is shared is met again
    if (++num_tests > kMostTests) return false;
    if (test->op == "LogicalAnd") {
      open.push_back(input_of(condition, *test, 0));
      open.push_back(input_of(condition, *test, 1));
      continue;
    }
    const bool is_less = test->op == "Less";
    if (!is_less && test->op != "Greater") return false;
    const Reference counter = input_of(condition, *test, is_less ? 0 : 1);
    const Reference bound = input_of(condition, *test, is_less ? 1 : 0);
    if (counter.node >= 0 || loop.roles[counter.index] != Role::counter) return false;
    VariableId limit = kAbsent;
    if (bound.node < 0) {
      if (loop.roles[bound.index] != Role::kept) return false;
      limit = node.inputs()[bound.index];
    } else if (const auto number = constant_in(condition, bound)) {
      limit = node.scalar_constant(DType::int64, static_cast<double>(*number));
    } else {
      return false;
    }
    const std::int64_t start = loop.starts[counter.index];
    if (start != 0) {
      const VariableId first = node.scalar_constant(DType::int64, static_cast<double>(start));
      limit = node.part(OperatorId::sub, {limit, first});
    }
    counts.push_back(limit);
  }
  loop.count = counts.size() == 1 ? counts.front() : node.part(OperatorId::min, counts);
  return true;
}

void Lowering::lower_while(Node& node) {
  Loop loop{.condition = &function(node, node.function("cond")), .body = &function(node, node.function("body"))};
  describe(node, loop);
  if (count_turns(node, loop)) {
    run_counted(node, loop);
  } else {
    run_while(node, loop);
  }
}

// A loop that counts its turns: counters are the number of the turn, lists are scanned and gathered.
void Lowering::run_counted(Node& node, Loop& loop) {
  const std::vector<VariableId>& inputs = node.inputs();
  const std::size_t count = inputs.size();
  const std::string name(node.name());
  Statement statement{
      .op = OperatorId::loop, .source_operator = std::string(node.op()), .name = name, .inputs = {loop.count, kAbsent}};
  const VariableId turn = assembly_.result(concat(name, "/turn"), DType::int64, std::vector<Dimension>{});
  const VariableId goes_on = assembly_.result(concat(name, "/goes_on"), DType::boolean, std::vector<Dimension>{});
  Block block{.inputs = {turn, goes_on}};
  std::vector<VariableId> arguments = inputs;
  std::vector<VariableId> results;
  {
    const InBlock inside(assembly_, block, num_open_blocks_);
    for (std::size_t k = 0; k < count; ++k) {
      switch (loop.roles[k]) {
        case Role::kept:
          break;
        case Role::counter:
          arguments[k] = turn;
          if (loop.starts[k] != 0) {
            const VariableId first = node.scalar_constant(DType::int64, static_cast<double>(loop.starts[k]));
            arguments[k] = node.part(OperatorId::add, {turn, first});
          }
          break;
        case Role::state:
          arguments[k] = assembly_.result(concat(name, "/", loop.body->arguments[k]));
          statement.inputs.push_back(inputs[k]);
          block.inputs.push_back(arguments[k]);
          break;
        case Role::gathered:
          arguments[k] = make_list(node, {});
          break;
      }
    }
    results = call(node, loop.body->name, arguments);
  }
  block.outputs = {goes_on};
  for (std::size_t k = 0; k < count; ++k) {
    if (loop.roles[k] == Role::state) block.outputs.push_back(results[k]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (loop.roles[k] == Role::gathered) block.outputs.push_back(list(results[k])->item);
  }
  statement.bodies.push_back(std::move(block));

  std::vector<VariableId> finals(count, kAbsent);
  for (const Role role : {Role::state, Role::gathered}) {
    for (std::size_t k = 0; k < count; ++k) {
      if (loop.roles[k] != role) continue;
      const auto declared = role == Role::state ? node.declared(k) : std::nullopt;
      finals[k] = noted(assembly_.result(name, DType::undefined, declared));
      statement.outputs.push_back(finals[k]);
    }
  }
  assembly_.append_part(std::move(statement));

  for (std::size_t k = 0; k < count; ++k) {
    if (loop.roles[k] == Role::kept) finals[k] = inputs[k];
    if (loop.roles[k] == Role::counter) {
      const VariableId first = node.scalar_constant(DType::int64, static_cast<double>(loop.starts[k]));
      finals[k] = loop.starts[k] == 0 ? loop.count : node.part(OperatorId::add, {loop.count, first});
    }
    if (loop.roles[k] != Role::gathered) continue;
    const TensorList put_in = *list(results[k]);
    // A list of one element, which each turn overwrites, keeps the last one.
    bool is_numbered = put_in.position == kAbsent;
    for (std::size_t i = 0; i < count; ++i) {
      is_numbered = is_numbered || (loop.roles[i] == Role::counter && arguments[i] == put_in.position);
    }
    if (!is_numbered) {
      const auto same = std::find(results.begin(), results.end(), put_in.item);
      const auto index = static_cast<std::size_t>(same - results.begin());
      if (same != results.end() && loop.roles[index] == Role::state) {
        finals[k] =
            node.part(OperatorId::unsqueeze, {finals[index]}, settings({{"axes", std::vector<std::int64_t>{0}}}));
      } else {
        finals[k] = node.part(OperatorId::slice, {finals[k]},
                              settings({{"starts", std::vector<std::int64_t>{-1}},
                                        {"ends", std::vector<std::int64_t>{INT64_MAX}},
                                        {"axes", std::vector<std::int64_t>{0}}}));
      }
    }
    finals[k] = make_list(node, {.stacked = finals[k]});
  }
  node.set_results(std::move(finals));
}

// A loop whose condition is computed: it is asked before each turn.
void Lowering::run_while(Node& node, Loop& loop) {
  const std::vector<VariableId>& inputs = node.inputs();
  const std::size_t count = inputs.size();
  for (std::size_t k = 0; k < count; ++k) {
    if (loop.roles[k] == Role::gathered) {
      node.fail(concat("puts tensors into the list '", loop.body->arguments[k],
                       "', and how often it runs is computed from data; export it with a fixed number of steps"));
    }
  }
  const std::string name(node.name());
  const VariableId starts = call(node, loop.condition->name, inputs).front();
  Statement statement{
      .op = OperatorId::loop, .source_operator = std::string(node.op()), .name = name, .inputs = {kAbsent, starts}};
  Block block{.inputs = {assembly_.result(concat(name, "/turn"), DType::int64, std::vector<Dimension>{}),
                         assembly_.result(concat(name, "/goes_on"), DType::boolean, std::vector<Dimension>{})}};
  std::vector<VariableId> arguments = inputs;
  std::vector<VariableId> results;
  {
    const InBlock inside(assembly_, block, num_open_blocks_);
    for (std::size_t k = 0; k < count; ++k) {
      if (loop.roles[k] == Role::kept) continue;
      arguments[k] = assembly_.result(concat(name, "/", loop.body->arguments[k]));
      statement.inputs.push_back(inputs[k]);
      block.inputs.push_back(arguments[k]);
    }
    results = call(node, loop.body->name, arguments);
    for (std::size_t k = 0; k < count; ++k) {
      if (loop.roles[k] == Role::kept) results[k] = inputs[k];
    }
    block.outputs = {call(node, loop.condition->name, results).front()};
  }
  std::vector<VariableId> finals = inputs;
  for (std::size_t k = 0; k < count; ++k) {
    if (loop.roles[k] == Role::kept) continue;
    block.outputs.push_back(results[k]);
    finals[k] = noted(assembly_.result(name, DType::undefined, node.declared(k)));
    statement.outputs.push_back(finals[k]);
  }
  statement.bodies.push_back(std::move(block));
  assembly_.append_part(std::move(statement));
  node.set_results(std::move(finals));
}

}  // namespace latpred::readers::tensorflow
