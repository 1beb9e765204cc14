#include "shapes/inputs.h"

#include <algorithm>
#include <utility>

#include "latpred/error.h"
#include "latpred/text.h"
#include "shapes/batch_axis.h"

namespace latpred::shapes {
namespace {

constexpr std::int64_t kMaxBatch = std::int64_t{1} << 31;

// What exporters write where they have no name for a dimension; two of these need not be equal.
bool is_no_name(const std::string& symbol) { return symbol == "?" || symbol == "None" || symbol == "-1"; }

std::string dimension_text(const Dimension& dimension) {
  if (dimension.size != kUnknownSize) return std::to_string(dimension.size);
  return dimension.symbol.empty() ? "?" : dimension.symbol;
}

std::string declared_text(const Variable& variable) {
  std::vector<std::string> words;
  for (const Dimension& dimension : variable.dimensions) words.push_back(dimension_text(dimension));
  const std::string shape = variable.has_shape ? "[" + join(words) + "]" : "[unknown rank]";
  return concat("'", variable.name, "' ", shape, " ", dtype_row(variable.dtype).name);
}

// "224,224,3": what the file declares, in its own order and without the batch.
std::string example_sizes(const Variable& variable, std::int64_t batch_position) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < variable.dimensions.size(); ++i) {
    if (static_cast<std::int64_t>(i) == batch_position) continue;
    const std::int64_t size = variable.dimensions[i].size;
    words.push_back(size == kUnknownSize ? "128" : std::to_string(size));
  }
  return join(words, ",");
}

std::string example_size(const Variable& variable, std::int64_t batch_position) {
  return concat("\"", variable.name, "\": \"", example_sizes(variable, batch_position), ":",
                dtype_row(variable.dtype).name, "\"");
}

std::string all_inputs_text(const std::vector<Variable>& inputs, const BatchAxis& axis) {
  std::vector<std::string> declared;
  std::vector<std::string> examples;
  for (const Variable& variable : inputs) {
    declared.push_back(declared_text(variable));
    examples.push_back(example_size(variable, axis.position(variable)));
  }
  return concat("the file declares ", join(declared), "; give sizes without the batch as input={", join(examples), "}");
}

void check_names(const std::vector<Variable>& inputs, const InputRequest& request) {
  std::vector<std::string> names;
  for (const Variable& variable : inputs) names.push_back(variable.name);
  for (const auto& [name, size] : request.by_name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::vector<std::string> declared;
      for (const Variable& variable : inputs) declared.push_back(declared_text(variable));
      throw InvalidArgumentError(
          concat(unknown_name_message("input", name, names), "; the file declares ", join(declared)), {.valid = names});
    }
  }
}

const InputSize* requested(const InputRequest& request, const Variable& variable, std::size_t num_inputs) {
  const auto found = request.by_name.find(variable.name);
  if (found != request.by_name.end()) return &found->second;
  return num_inputs == 1 && request.only ? &*request.only : nullptr;
}

// Where the caller says that the batch of some inputs stands; kNoBatch of those that have none.
std::map<std::string, std::int64_t> stated_batches(const std::vector<Variable>& inputs, const InputRequest& request) {
  std::map<std::string, std::int64_t> found;
  for (const Variable& variable : inputs) {
    const InputSize* size = requested(request, variable, inputs.size());
    if (size == nullptr || !size->batch_position || !variable.has_shape) continue;
    const bool has_batch = size->batch_position != kNoBatch;
    const std::size_t num_sizes = size->sizes.size() + (has_batch ? 1 : 0);
    if (num_sizes != variable.dimensions.size()) {
      throw InvalidArgumentError(concat("input '", variable.name, "' is asked for with ", num_sizes,
                                        " sizes, the batch ", has_batch ? "" : "not ", "among them; the file declares ",
                                        declared_text(variable)));
    }
    found.emplace(variable.name, *size->batch_position);
  }
  return found;
}

void check_dtype(const Variable& variable, const InputSize& size) {
  if (size.dtype && variable.dtype != DType::undefined && *size.dtype != variable.dtype) {
    throw InvalidArgumentError(concat("input '", variable.name, "' is ", dtype_row(variable.dtype).name,
                                      " in the file, but ", dtype_row(*size.dtype).name, " was asked for"));
  }
}

// The declared dimensions with the request's numbers filled in; the batch stays open.
std::vector<Dimension> fitted(const Variable& variable, const InputSize* size, std::int64_t batch_position) {
  std::vector<Dimension> dimensions = variable.dimensions;
  if (size == nullptr) return dimensions;
  check_dtype(variable, *size);
  for (const std::int64_t one : size->sizes) {
    if (one < 1) {
      throw InvalidArgumentError(
          concat("input '", variable.name, "': sizes must be >= 1, got ", shape_text(size->sizes)));
    }
  }
  if (!variable.has_shape) {
    dimensions.assign(size->batch_position == kNoBatch ? 0 : 1, Dimension{});
    for (const std::int64_t one : size->sizes) dimensions.push_back({one, ""});
    return dimensions;
  }
  const std::size_t num_open = dimensions.size() - (batch_position >= 0 ? 1 : 0);
  const auto mismatch = [&](std::string_view more) {
    throw InvalidArgumentError(concat("input ", shape_text(size->sizes), " does not match ", declared_text(variable),
                                      " in the file; give ",
                                      batch_position >= 0 ? "its sizes without the batch" : "its sizes", ", such as \"",
                                      example_sizes(variable, batch_position), "\"", more));
  };
  if (size->sizes.size() != num_open) mismatch("");
  std::size_t next = 0;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (static_cast<std::int64_t>(i) == batch_position) continue;
    const std::int64_t asked = size->sizes[next++];
    if (dimensions[i].size != kUnknownSize && dimensions[i].size != asked) {
      mismatch("; the file fixes them: for others export the network with open sizes");
    }
    dimensions[i].size = asked;
  }
  return dimensions;
}

}  // namespace

InputSizes input_sizes(const Program& program, const InputRequest& request) {
  InputSizes result;
  if (request.batch < 0) throw InvalidArgumentError(concat("batch must be an integer >= 1, got ", request.batch));
  if (request.batch > kMaxBatch) {
    throw InvalidArgumentError(concat("batch must be at most ", kMaxBatch, ", got ", request.batch));
  }
  std::vector<Variable> inputs;
  for (const VariableId id : program.main.inputs) {
    if (program.variables[id].is_stored) continue;
    result.variables.push_back(id);
    inputs.push_back(program.variables[id]);
    for (Dimension& dimension : inputs.back().dimensions) {
      if (is_no_name(dimension.symbol)) dimension.symbol.clear();
      // Exporters write 0 for "any" too.
      if (dimension.size == 0 && request.batch != kSavedBatch) dimension.size = kUnknownSize;
    }
  }
  check_names(inputs, request);
  const BatchAxis axis(program, inputs, stated_batches(inputs, request));
  if (request.only && result.variables.size() != 1) {
    throw InvalidArgumentError(concat("one input size was given, but the network has ", result.variables.size(),
                                      " inputs: ", all_inputs_text(inputs, axis)));
  }
  result.is_static = axis.is_static();
  result.saved_batch = axis.saved();
  result.asked_batch = request.batch == kSavedBatch ? result.saved_batch : request.batch;

  std::vector<std::vector<Dimension>> dimensions;
  for (const Variable& variable : inputs) {
    const InputSize* size = requested(request, variable, result.variables.size());
    dimensions.push_back(fitted(variable, size, axis.position(variable)));
    for (std::size_t i = 0; i < variable.dimensions.size(); ++i) {
      const std::string& symbol = variable.dimensions[i].symbol;
      const std::int64_t asked = dimensions.back()[i].size;
      if (symbol.empty() || asked == kUnknownSize) continue;
      const auto [found, is_new] = result.symbols.emplace(symbol, asked);
      if (!is_new && found->second != asked) {
        throw InvalidArgumentError(concat("dimension '", symbol, "' is asked to be both ", found->second, " and ",
                                          asked, "; ", all_inputs_text(inputs, axis)));
      }
    }
  }
  result.saved_symbols = result.symbols;
  for (const std::string& symbol : axis.symbols()) {
    result.symbols[symbol] = result.asked_batch;
    result.saved_symbols[symbol] = result.saved_batch;
  }
  for (std::size_t k = 0; k < result.variables.size(); ++k) {
    const Variable& variable = inputs[k];
    if (variable.is_sequence && !variable.has_shape) {
      result.asked.emplace_back();
      result.saved.emplace_back();
      continue;
    }
    const InputSize* size = requested(request, variable, result.variables.size());
    const bool is_unbatched = size != nullptr && size->batch_position == kNoBatch;
    const bool has_unknown_rank = !variable.has_shape && dimensions[k].empty() && !is_unbatched;
    const std::int64_t of_unknown_rank = is_unbatched ? kNoBatch : 0;
    const std::int64_t batch_position = variable.has_shape ? axis.position(variable) : of_unknown_rank;
    Shape asked;
    Shape saved;
    for (std::size_t i = 0; i < dimensions[k].size() && !has_unknown_rank; ++i) {
      const Dimension& dimension = dimensions[k][i];
      if (static_cast<std::int64_t>(i) == batch_position) {
        if (result.batch_input.empty()) result.batch_input = variable.name;
        asked.push_back(result.asked_batch);
        saved.push_back(result.saved_batch);
        continue;
      }
      const auto at_asked =
          dimension.size != kUnknownSize ? dimension.size : evaluate(dimension.symbol, result.symbols);
      const auto at_saved =
          dimension.size != kUnknownSize ? dimension.size : evaluate(dimension.symbol, result.saved_symbols);
      if (!at_asked || !at_saved) break;
      asked.push_back(*at_asked);
      saved.push_back(*at_saved);
    }
    if (has_unknown_rank || asked.size() != dimensions[k].size()) {
      throw InvalidArgumentError(
          concat("the sizes of input '", variable.name, "' are open: ", all_inputs_text(inputs, axis)));
    }
    result.asked.push_back(std::move(asked));
    result.saved.push_back(std::move(saved));
  }
  if (result.batch_input.empty() && request.batch > 1) {
    throw InvalidArgumentError(concat("no input has a batch dimension, so the batch cannot be ", request.batch, ": ",
                                      all_inputs_text(inputs, axis)));
  }
  return result;
}

std::optional<Shape> declared_shape(const Variable& variable, const std::map<std::string, std::int64_t>& symbols) {
  if (!variable.has_shape) return std::nullopt;
  Shape shape;
  for (const Dimension& dimension : variable.dimensions) {
    if (dimension.size != kUnknownSize) {
      shape.push_back(dimension.size);
      continue;
    }
    const auto size = dimension.symbol.empty() ? std::nullopt : evaluate(dimension.symbol, symbols);
    if (!size || *size < 0) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace latpred::shapes
