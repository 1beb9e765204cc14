#include "readers/torch/exported_document.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "latpred/error.h"
#include "latpred/exported_program.h"
#include "latpred/json.h"
#include "latpred/text.h"
#include "readers/assembly.h"
#include "readers/name_table.h"
#include "readers/torch/exported_graph.h"
#include "readers/torch/exported_values.h"

namespace latpred {
namespace readers {
namespace {

// Of torch's export schema; a major version breaks, a minor one adds members that we need not know.
constexpr std::int64_t kSchemaMajor = 8;

// What is written of each node for people to read.
constexpr std::string_view kDroppedTexts[] = {"stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn",
                                              "from_node"};

class Document {
 public:
  Document(const Json& json, const ExportedStore& store, Assembly& assembly)
      : json_(json), store_(store), assembly_(assembly), graph_(assembly) {}

  void read() {
    const Json& module = json_.at("graph_module");
    const Json& graph = module.at("graph");
    graph_.declare(graph, names_);
    for (const Json& spec : module.at("signature").at("input_specs").array()) read_input(spec, graph);
    read_ranges();
    graph_.append_nodes(graph, names_);
    // Results that are written to buffers and inputs are outputs too: somebody computes them.
    for (const std::string_view name : exported_names(graph.at("outputs"))) {
      if (!name.empty()) assembly_.output(exported_variable(name, names_));
    }
  }

 private:
  struct InputRow {
    std::string_view kind;
    void (Document::*read)(const Json& spec, const Json& graph);
  };

  void read_input(const Json& spec, const Json& graph) {
    static constexpr InputRow kInputs[] = {
        {"parameter", &Document::read_parameter},      {"buffer", &Document::read_buffer},
        {"tensor_constant", &Document::read_constant}, {"user_input", &Document::read_user_input},
        {"constant_input", &Document::read_nothing},   {"token", &Document::read_nothing},
        {"custom_obj", &Document::read_nothing},
    };
    const ExportedUnion input = exported_union(spec);
    const auto* row = std::find_if(std::begin(kInputs), std::end(kInputs),
                                   [&](const InputRow& one) { return one.kind == input.kind; });
    if (row == std::end(kInputs)) {
      std::vector<std::string> known;
      for (const InputRow& one : kInputs) known.emplace_back(one.kind);
      throw ModelFileError(unknown_name_message("kind of input", input.kind, known));
    }
    (this->*row->read)(input.value, graph);
  }

  void read_parameter(const Json& spec, const Json&) {
    read_stored(spec, spec.at("parameter_name").text(), true);
    if (graph_.lies_channels_last(spec.at("arg").at("name").text())) assembly_.program().channels_last = true;
  }
  void read_buffer(const Json& spec, const Json&) { read_stored(spec, spec.at("buffer_name").text(), false); }
  void read_constant(const Json& spec, const Json&) {
    read_stored(spec, spec.at("tensor_constant_name").text(), false);
  }
  // Its value is written into the graph; an object of the user's own is refused where a node takes it.
  void read_nothing(const Json&, const Json&) {}

  void read_stored(const Json& spec, const std::string& stored_name, bool is_trained) {
    const std::string& name = spec.at("arg").at("name").text();
    const VariableId id = exported_variable(name, names_);
    Variable& variable = assembly_.variable(id);
    if (variable.is_stored) throw ModelFileError(concat("input '", name, "' is listed twice"));
    const bool is_open = std::any_of(variable.dimensions.begin(), variable.dimensions.end(),
                                     [](const Dimension& dimension) { return dimension.size == kUnknownSize; });
    if (is_open) throw ModelFileError(concat("the sizes of the stored tensor '", stored_name, "' are no numbers"));
    variable.name = stored_name;
    variable.is_stored = true;
    variable.is_trained = is_trained;
    const auto value = store_.values.find(stored_name);
    if (value != store_.values.end()) variable.value = value->second;
    const auto identity = store_.identities.find(stored_name);
    if (identity == store_.identities.end()) return;
    const auto [first, is_new] = tied_.emplace(identity->second, id);
    if (is_new) return;
    Variable& kept = assembly_.variable(first->second);
    if (kept.dtype != variable.dtype || shape_of(kept) != shape_of(variable)) return;  // two views of one storage
    kept.is_trained = kept.is_trained || is_trained;
    *names_.emplace(name, id).first = first->second;
  }

  static Shape shape_of(const Variable& variable) {
    Shape shape;
    for (const Dimension& dimension : variable.dimensions) shape.push_back(dimension.size);
    return shape;
  }

  void read_user_input(const Json& spec, const Json& graph) {
    const ExportedUnion argument = exported_union(spec.at("arg"));
    if (argument.kind == "as_tensor") {
      const std::string& name = argument.value.at("name").text();
      const VariableId id = exported_variable(name, names_);
      if (assembly_.variable(id).is_stored || !asked_.insert(id).second) {
        throw ModelFileError(concat("input '", name, "' is listed twice"));
      }
      assembly_.program().main.inputs.push_back(id);
    } else if (argument.kind == "as_sym_int" && exported_union(argument.value).kind == "as_name") {
      read_symbolic_input(exported_union(argument.value).value.text(), graph);
    }
    // Anything else is None or a plain value, which is written into the graph.
  }

  // An integer that the caller gives and that sizes may depend on: the one it was exported with stands for all.
  void read_symbolic_input(const std::string& name, const Json& graph) {
    const VariableId id = exported_variable(name, names_);
    if (integers_.empty()) {
      for (const auto& [key, value] : graph.at("sym_int_values").object()) integers_.emplace(key, &value);
    }
    const auto found = integers_.find(name);
    if (found == integers_.end()) throw ModelFileError(concat("the integer input '", name, "' is not described"));
    const ExportedUnion given = exported_union(*found->second);
    const Json* hint = given.kind == "as_expr" ? given.value.find("hint") : nullptr;
    const Json* example = hint == nullptr || hint->is_null() ? nullptr : &exported_union(*hint).value;
    if (example == nullptr && given.kind != "as_int") {
      throw ModelFileError(concat("the integer input '", name,
                                  "' is open and has no example value; export the network "
                                  "with a number in its place"));
    }
    const std::int64_t number = example == nullptr ? given.value.integer() : example->integer();
    Variable& variable = assembly_.variable(id);
    variable.is_stored = true;
    variable.is_trained = false;
    variable.value =
        std::make_shared<const Value>(Value{.dtype = DType::int64, .shape = {}, .integers = {number}, .reals = {}});
    assembly_.warn(concat("input '", name, "' is an integer that the file leaves open; predicted for ", number,
                          ", which it was exported with"));
  }

  void read_ranges() {
    const Json* ranges = json_.find("range_constraints");
    if (ranges == nullptr) return;
    for (const auto& [symbol, bounds] : ranges->object()) {
      const Json& range = bounds;  // a lambda cannot capture a structured binding
      const auto bound = [&range](std::string_view key) {
        const Json* number = range.find(key);
        return number == nullptr || number->is_null() ? std::optional<std::int64_t>() : number->integer();
      };
      assembly_.program().ranges.push_back({.symbol = symbol, .least = bound("min_val"), .most = bound("max_val")});
    }
  }

  const Json& json_;
  const ExportedStore& store_;
  Assembly& assembly_;
  ExportedGraph graph_;
  NameTable names_;
  std::map<std::string_view, VariableId> tied_;  // identity -> the first of them
  std::unordered_set<VariableId> asked_;         // of the caller
  std::unordered_map<std::string_view, const Json*> integers_;
};

void check_version(const Json& json, std::string& format) {
  const Json& version = json.at("schema_version");
  const Json* major = version.find("major");
  const std::int64_t found = (major != nullptr ? *major : version).integer();
  if (found != kSchemaMajor) {
    throw ModelFileError(concat("it is written in version ", found,
                                " of torch's export schema, this version of latpred "
                                "reads version ",
                                kSchemaMajor, "; load it with the torch that wrote it (",
                                json.find("torch_version") != nullptr ? json.at("torch_version").text() : "unknown",
                                ") and save it with a current one"));
  }
  format += concat(", schema ", found, ".", version.at("minor").integer());
}

}  // namespace

Program read_exported_document(const Source& source, std::string_view document, const ExportedStore& store,
                               const std::string& format, const ReaderLimits& limits) {
  try {
    const Json json = parse_json(document, {.max_depth = limits.max_depth, .dropped_texts = kDroppedTexts});
    std::string full_format = format;
    check_version(json, full_format);
    Assembly assembly(source, limits, "pytorch", std::move(full_format));
    assembly.program().folds_stored = false;
    const Json* torch_version = json.find("torch_version");
    if (torch_version != nullptr) assembly.program().source.producer = concat("torch ", torch_version->text());
    Document(json, store, assembly).read();
    return assembly.finish();
  } catch (Error& error) {
    if (error.data().path.empty()) {
      const std::less<const char*> before;  // of pointers into anything
      const char* start = source.content.data();
      const bool is_inside = !before(document.data(), start) && before(document.data(), start + source.content.size());
      if (error.data().offset >= 0 && is_inside) error.data().offset += source.offset_of(document.data());
      error.data().path = source.path;
      error.add_context(concat("'", source.path, "'"));
    }
    throw;
  }
}

}  // namespace readers

Program read_exported_program_document(std::string_view document, const std::map<std::string, std::string>& weights,
                                       const std::string& name, const ReaderLimits& limits) {
  return readers::read_exported_document({name, document}, document, {.identities = weights, .values = {}},
                                         "torch.export document", limits);
}

}  // namespace latpred
