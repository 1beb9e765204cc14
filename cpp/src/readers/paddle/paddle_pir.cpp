#include "readers/paddle/paddle_pir.h"

#include <unordered_map>
#include <utility>

#include "latpred/error.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "readers/assembly.h"
#include "readers/paddle/paddle_operators.h"
#include "readers/paddle/paddle_pir_types.h"

namespace latpred::readers {
namespace {

// The newest form of the file that Paddle 3.3 writes; its keys do not change, operators may.
constexpr std::int64_t kNewestVersion = 4;

// On average; networks have two or three.
constexpr std::int64_t kMaxOperandsPerNode = 8;

class PirReader {
 public:
  PirReader(const Source& source, const ReaderLimits& limits)
      : limits_(limits), assembly_(source, limits, "paddle", ""), source_(source) {}

  Program read(const Json& root) {
    read_header(root);
    const Json::Array& regions = root.at("program").at("regions").array();
    if (regions.size() != 1 || regions[0].at("blocks").array().size() != 1) {
      source_.fail("its program has no single region with one block, as every program of Paddle has");
    }
    read_block(regions[0].at("blocks").array()[0], 0);
    if (assembly_.program().main.outputs.empty()) {
      source_.fail("it has no result (no 'fetch' operator); save it with paddle.jit.save or save_inference_model");
    }
    return assembly_.finish();
  }

 private:
  using Variables = std::vector<VariableId>;

  void read_header(const Json& root) {
    const Json& header = root.at("base_code");
    const std::string& magic = header.at("magic").text();
    if (magic != "pir") source_.fail(concat("its base_code has the magic word '", magic, "', expected 'pir'"));
    const std::int64_t version = header.at("version").integer();
    if (version < 0) source_.fail(concat("its PIR version is ", version, ", expected 0 to ", kNewestVersion));
    if (version > kNewestVersion) {
      assembly_.warn(concat("the file has PIR version ", version, ", latpred knows versions up to ", kNewestVersion,
                            "; operators that changed since are read as they were"));
    }
    assembly_.program().source.format = concat("Paddle PIR version ", version);
    assembly_.program().source.producer = "paddle";
  }

  // The operands of the block's yield.
  Variables read_block(const Json& block, std::int64_t depth) {
    if (depth > limits_.max_depth) {
      source_.fail(concat("blocks are nested deeper than ", limits_.max_depth, " (max_depth)"));
    }
    Variables results;
    for (const Json& op : block.at("ops").array()) {
      const std::string& name = op.at("#").text();
      if (name == "p") {
        read_parameter(op);
      } else if (name == "2.yield" || name == "0.yield") {
        for (const Variables& operand : operands(op, name)) {
          for (const VariableId id : operand) results.push_back(id);
        }
      } else {
        read_operator(op, name, depth);
      }
    }
    return results;
  }

  void read_parameter(const Json& op) {
    const Json::Array& attributes = op.at("A").array();
    if (attributes.size() < 4) {
      source_.fail(concat("a parameter has ", attributes.size(), " attributes, expected 4 with its name as the last"));
    }
    const std::string& name = attributes[3].text();
    const Json& result = op.at("O");
    const PirType type = pir_type(source_, result.at("TT"));
    if (!type.sizes) source_.fail(concat("parameter '", name, "' is no dense tensor, which is not read"));
    for (const std::int64_t size : *type.sizes) {
      if (size < 0) source_.fail(concat("parameter '", name, "' is declared as ", shape_text(*type.sizes)));
    }
    // The third number says whether it is trained.
    const Json* flags = op.find("OA");
    const bool is_trained = flags == nullptr || flags->array().size() < 3 || flags->array()[2].integer() != 0;
    define(result.at("%").integer(), {assembly_.stored(name, type.dtype, *type.sizes, is_trained)});
  }

  void read_operator(const Json& op, const std::string& full_name, std::int64_t depth) {
    PaddleOperator lowered;
    lowered.is_pir = true;
    const std::size_t point = full_name.find('.');
    const std::string dialect = point == std::string::npos ? "" : full_name.substr(0, point);
    lowered.name = point == std::string::npos ? full_name : full_name.substr(point + 1);
    while (lowered.name.size() > 1 && lowered.name.ends_with('_')) lowered.name.pop_back();
    std::vector<Variables> given = operands(op, full_name);
    if (dialect == "0" && read_builtin(op, lowered.name, given)) return;
    read_attributes(op, lowered);
    if (dialect == "1" && lowered.name == "data") return read_input(op, lowered);
    if (lowered.name == "fetch" || lowered.name == "shadow_output") {
      for (const Variables& operand : given) {
        for (const VariableId id : operand) assembly_.output(id);
      }
      return;
    }
    lowered.node = shortened(node_name(op, lowered));
    for (Variables& operand : given) lowered.inputs.push_back({"", std::move(operand)});
    for (const Json& result : op.at("O").array()) {
      lowered.outputs.push_back({"", new_results(result, lowered.name)});
    }
    if (depth == 0) count_paddle(assembly_, lowered.name);
    const Json* regions = op.find("regions");
    if (regions != nullptr && !regions->array().empty()) return read_control(op, lowered, depth);
    if (dialect == "2") fail_control(lowered);
    lower_paddle(assembly_, lowered);
  }

  // Lists of tensors are put together and taken apart without an operator of their own.
  bool read_builtin(const Json& op, const std::string& name, const std::vector<Variables>& given) {
    if (name == "combine") {
      Variables list;
      for (const Variables& operand : given) {
        // Lists of lists would grow without bound.
        if (operand.size() > 1) source_.fail("a builtin combine puts lists together; it takes tensors");
        list.insert(list.end(), operand.begin(), operand.end());
      }
      define(single_result(op, name), std::move(list));
      return true;
    }
    if (name == "split") {
      const Json::Array& results = op.at("O").array();
      if (given.size() != 1 || given[0].size() != results.size()) {
        source_.fail(concat("a builtin split takes ", given.empty() ? 0 : given[0].size(), " tensors apart into ",
                            results.size()));
      }
      for (std::size_t i = 0; i < results.size(); ++i) define(results[i].at("%").integer(), {given[0][i]});
      return true;
    }
    if (name == "slice") {
      PaddleOperator attributes;
      read_attributes(op, attributes);
      const std::int64_t index = attributes.attributes.integer("index", -1);
      if (given.size() != 1 || index < 0 || index >= static_cast<std::int64_t>(given[0].size())) {
        source_.fail(concat("a builtin slice takes element ", index, " of a list of ",
                            given.empty() ? 0 : given[0].size(), " tensors"));
      }
      define(single_result(op, name), {given[0][static_cast<std::size_t>(index)]});
      return true;
    }
    return false;
  }

  void read_input(const Json& op, const PaddleOperator& lowered) {
    const Json::Array& results = op.at("O").array();
    if (results.size() != 1) source_.fail("an input has no single value");
    const PirType type = pir_type(source_, results[0].at("TT"));
    std::optional<std::vector<Dimension>> dimensions;
    if (type.sizes) dimensions = paddle_dimensions(*type.sizes, true);
    const std::string name = lowered.attributes.text("name", "");
    define(results[0].at("%").integer(), {assembly_.input(name, type.dtype, std::move(dimensions))});
  }

  void read_control(const Json& op, PaddleOperator& lowered, std::int64_t depth) {
    const bool is_if = lowered.name == "if";
    if (!is_if && lowered.name != "while") fail_control(lowered);
    Statement statement{.op = is_if ? OperatorId::conditional : OperatorId::loop,
                        .source_operator = lowered.name,
                        .name = lowered.node,
                        .inputs = {},
                        .outputs = {},
                        .attributes = {},
                        .bodies = {}};
    if (!is_if) statement.inputs.push_back(kAbsent);  // no number of turns
    for (const PaddleSlot& slot : lowered.inputs) {
      statement.inputs.insert(statement.inputs.end(), slot.variables.begin(), slot.variables.end());
    }
    for (const PaddleSlot& slot : lowered.outputs) {
      statement.outputs.insert(statement.outputs.end(), slot.variables.begin(), slot.variables.end());
    }
    const Json::Array& regions = op.at("regions").array();
    if (regions.size() != (is_if ? 2 : 1)) {
      source_.fail(concat("operator '", lowered.node, "' (", lowered.name, ") has ", regions.size(), " regions"));
    }
    for (const Json& region : regions) {
      const Json::Array& blocks = region.at("blocks").array();
      if (blocks.size() != 1) source_.fail(concat("a region of '", lowered.node, "' has ", blocks.size(), " blocks"));
      assembly_.open_body();
      Variables inputs;
      if (!is_if) {
        inputs = {assembly_.result(lowered.node + "/turn", DType::int64),
                  assembly_.result(lowered.node + "/condition", DType::boolean)};
      }
      for (const Json& argument : blocks[0].at("args").array()) {
        const Variables list = new_values(argument.at("#").integer(), argument.at("TT"), lowered.node + "/argument_");
        inputs.insert(inputs.end(), list.begin(), list.end());
      }
      Variables results = read_block(blocks[0], depth + 1);
      Block body = assembly_.close_body(std::move(inputs), std::move(results));
      check_body(lowered, statement, body);
      statement.bodies.push_back(std::move(body));
    }
    assembly_.append_part(std::move(statement));
  }

  // A loop's body takes [turn, condition, states] and gives [condition, states].
  void check_body(const PaddleOperator& lowered, const Statement& statement, const Block& body) {
    const bool is_if = statement.op == OperatorId::conditional;
    const std::size_t states = statement.inputs.size() < 2 ? 0 : statement.inputs.size() - 2;
    const bool fits =
        is_if ? body.inputs.empty() && body.outputs.size() == statement.outputs.size() && statement.inputs.size() == 1
              : body.inputs.size() == states + 2 && body.outputs.size() == states + 1 &&
                    statement.outputs.size() == states && statement.inputs.size() >= 2;
    if (!fits) {
      source_.fail(concat("operator '", lowered.node, "' (", lowered.name, ") has ", statement.inputs.size(),
                          " operands and ", statement.outputs.size(), " results, its body takes ", body.inputs.size(),
                          " and gives ", body.outputs.size()));
    }
  }

  [[noreturn]] void fail_control(const PaddleOperator& lowered) const {
    source_.fail(concat("operator '", lowered.node, "' (", lowered.name,
                        ") is control flow that is not read; 'if' and 'while' are"));
  }

  void read_attributes(const Json& op, PaddleOperator& lowered) const {
    const Json* list = op.find("A");
    if (list == nullptr) return;
    for (const Json& attribute : list->array()) {
      const std::string& name = attribute.at("N").text();
      const Json& typed = attribute.at("AT");
      if (auto value = pir_attribute(typed)) lowered.attributes.set(name, std::move(*value));
    }
  }

  VariableId new_variable(const std::string& name, const PirType& type) {
    std::optional<std::vector<Dimension>> dimensions;
    if (type.sizes) dimensions = paddle_dimensions(*type.sizes, false);
    return assembly_.result(name, type.dtype, std::move(dimensions));
  }

  Variables new_values(std::int64_t id, const Json& type_json, const std::string& name) {
    const PirType type = pir_type(source_, type_json);
    Variables list;
    const std::string base = concat(name, id < 0 ? -id : id);
    if (!type.is_list) {
      list.push_back(new_variable(base, type));
    } else {
      for (std::size_t i = 0; i < type.elements.size(); ++i) {
        list.push_back(new_variable(concat(base, "_", i), type.elements[i]));
      }
    }
    define(id, list);
    return list;
  }

  Variables new_results(const Json& result, const std::string& op) {
    const std::int64_t id = result.at("%").integer();
    if (id == 0) return {};  // left out
    return new_values(id, result.at("TT"), shortened(op) + "_");
  }

  std::int64_t single_result(const Json& op, const std::string& name) const {
    const Json::Array& results = op.at("O").array();
    if (results.size() != 1) source_.fail(concat("a builtin ", name, " has ", results.size(), " results"));
    return results[0].at("%").integer();
  }

  void define(std::int64_t id, Variables variables) {
    if (!values_.emplace(id, std::move(variables)).second) source_.fail(concat("value ", id, " is made twice"));
  }

  std::vector<Variables> operands(const Json& op, const std::string& name) {
    std::vector<Variables> result;
    const Json* list = op.find("I");
    if (list == nullptr) return result;
    for (const Json& operand : list->array()) {
      const std::int64_t id = operand.at("%").integer();
      if (id == 0) {  // left out
        result.emplace_back();
        continue;
      }
      const auto found = values_.find(id);
      if (found == values_.end()) {
        source_.fail(concat("operator '", name, "' reads value ", id, ", which nothing before it makes"));
      }
      result.push_back(found->second);
      num_operands_ += static_cast<std::int64_t>(found->second.size());
    }
    // A long list that many operators read takes little room in the file and much of it here.
    if (num_operands_ > kMaxOperandsPerNode * limits_.max_nodes) {
      source_.fail(concat("its operators read more than ", grouped_digits(kMaxOperandsPerNode * limits_.max_nodes),
                          " values (max_nodes)"));
    }
    return result;
  }

  // "Sequential/Conv2D/conv2d_12": where in the module it stands, and its first result.
  std::string node_name(const Json& op, const PaddleOperator& lowered) const {
    std::string where = lowered.attributes.text("struct_name", "");
    if (where.starts_with('/')) where.erase(0, 1);
    const Json::Array& results = op.at("O").array();
    return results.empty() ? concat(where, lowered.name)
                           : concat(where, lowered.name, "_", results[0].at("%").integer());
  }

  ReaderLimits limits_;
  Assembly assembly_;
  const Source& source_;
  std::unordered_map<std::int64_t, Variables> values_;
  std::int64_t num_operands_ = 0;
};

}  // namespace

Program read_paddle_pir(const Source& source, const ReaderLimits& limits) {
  try {
    const Json root = parse_json(source.content, {.max_depth = limits.max_depth});
    return PirReader(source, limits).read(root);
  } catch (Error& error) {
    if (error.data().path.empty()) {
      error.data().path = source.path;
      error.add_context(concat("'", source.path, "' is damaged"));
    }
    throw;
  }
}

}  // namespace latpred::readers
