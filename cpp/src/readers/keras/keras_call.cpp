#include "readers/keras/keras_call.h"

#include <algorithm>

#include "latpred/error.h"
#include "latpred/text.h"
#include "readers/keras/keras_network.h"

namespace latpred::readers::keras {
namespace {

// A layer's precision policy: what it computes in and what it keeps its weights in.
struct Policy {
  DType compute = DType::float32;
  DType variable = DType::float32;
};

std::string policy_name(const Json& dtype) {
  if (const Json* config = dtype.find("config")) {
    const Json* name = config->find("name");
    return name != nullptr && !name->is_null() ? name->text() : class_of(dtype);
  }
  return class_of(dtype);
}

}  // namespace

Call::Call(Network& network, const Json& layer, std::string path, std::string suffix, Arguments arguments)
    : network_(network),
      layer_(layer),
      config_(config_of(layer)),
      class_name_(class_of(layer)),
      path_(std::move(path)),
      suffix_(std::move(suffix)),
      arguments_(std::move(arguments)) {
  const Json* dtype = config_.find("dtype");
  if (dtype == nullptr || dtype->is_null()) return;
  if (is_operation(layer)) return;  // `dtype` is a setting of Cast and its like
  const std::string name = dtype->is_text() ? dtype->text() : policy_name(*dtype);
  if (name.starts_with("mixed_")) {
    compute_dtype_ = dtype_named(name.substr(6));
    return;
  }
  if (!dtype->is_text() && class_of(*dtype) != "DTypePolicy" && class_of(*dtype) != "Policy") {
    unsupported(concat("its precision policy ", class_of(*dtype), " '", name, "' is not read"));
  }
  compute_dtype_ = variable_dtype_ = dtype_named(name);
}

bool Call::has(std::string_view key) const {
  const Json* found = config_.find(key);
  return found != nullptr && !found->is_null();
}

bool Call::flag(std::string_view key, bool fallback) const { return has(key) ? config_.at(key).boolean() : fallback; }

std::int64_t Call::integer(std::string_view key) const { return config_.at(key).integer(); }

std::int64_t Call::integer(std::string_view key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}

std::int64_t Call::size(std::string_view key) const {
  const std::int64_t found = integer(key);
  if (found < 1 || found > kMaxSetting) fail(concat("'", key, "' must be from 1 to 2^31, found ", found));
  return found;
}

double Call::real(std::string_view key, double fallback) const {
  return has(key) ? config_.at(key).number() : fallback;
}

std::string Call::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? config_.at(key).text() : std::string(fallback);
}

Shape Call::integers(const Json& json) const {
  if (!json.is_array()) return {json.integer()};
  Shape result;
  for (const Json& item : json.array()) result.push_back(item.integer());
  return result;
}

Shape Call::sizes(std::string_view key, std::size_t count, std::int64_t fallback, std::int64_t smallest) const {
  if (!has(key)) return Shape(count, fallback);
  Shape result = integers(config_.at(key));
  if (!config_.at(key).is_array()) result.assign(count, result.at(0));
  if (result.size() != count) fail(concat("'", key, "' has ", result.size(), " entries, expected ", count));
  for (const std::int64_t size : result) {
    if (size < smallest || size > kMaxSetting) {
      fail(concat("'", key, "' must be from ", smallest, " to 2^31, found ", size));
    }
  }
  return result;
}

bool Call::channels_last() const {
  const std::string format = text("data_format", "channels_last");
  if (format == "channels_last") return true;
  if (format == "channels_first") return false;
  unknown_setting("data_format", format, {"channels_last", "channels_first"});
}

VariableId Call::input() const {
  for (const Argument& argument : arguments_.positional) {
    if (!argument.tensors.empty()) return argument.tensors.front();
  }
  for (const auto& [name, argument] : arguments_.named) {
    if (!argument.tensors.empty()) return argument.tensors.front();
  }
  fail("is called on no tensor");
}

const Variables& Call::inputs() const {
  if (!arguments_.positional.empty() && !arguments_.positional[0].tensors.empty()) {
    return arguments_.positional[0].tensors;
  }
  for (const auto& [name, argument] : arguments_.named) {
    if (!argument.tensors.empty()) return argument.tensors;
  }
  fail("is called on no tensor");
}

const Argument* Call::argument(std::string_view name, std::size_t position) const {
  const auto given = [](const Argument& argument) {
    return !argument.tensors.empty() || (argument.constant != nullptr && !argument.constant->is_null());
  };
  for (const auto& [found, argument] : arguments_.named) {
    if (found == name) return given(argument) ? &argument : nullptr;
  }
  if (position >= arguments_.positional.size()) return nullptr;
  return given(arguments_.positional[position]) ? &arguments_.positional[position] : nullptr;
}

VariableId Call::tensor(std::string_view name, std::size_t position) const {
  const Argument* found = argument(name, position);
  return found != nullptr && !found->tensors.empty() ? found->tensors.front() : kAbsent;
}

Shape Call::shape(VariableId variable) const {
  if (auto found = network_.probe().shape(variable)) return std::move(*found);
  fail(concat("the sizes of its input '", network_.assembly().variable(variable).name,
              "' are not known, and those of its weights follow from them"));
}

DType Call::dtype(VariableId variable) const {
  const DType found = network_.probe().dtype(variable);
  return found != DType::undefined ? found : compute_dtype_;
}

std::size_t Call::axis(std::int64_t axis, std::size_t rank) const {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) fail(concat("axis ", axis, " is outside the ", rank, " dimensions of its input"));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::int64_t Call::known_size(VariableId variable, std::size_t axis) const {
  const Shape sizes = shape(variable);
  if (axis >= sizes.size()) fail(concat("its input has ", sizes.size(), " dimensions, too few"));
  if (sizes[axis] < 0) {
    fail(concat("dimension ", axis, " of its input is open, and the sizes of its weights follow from it"));
  }
  return sizes[axis];
}

std::size_t Call::channel_axis(VariableId variable) const {
  const std::size_t count = rank(variable);
  if (count < 2) fail(concat("its input has ", count, " dimensions, expected batch and channels at least"));
  return channels_last() ? count - 1 : 1;
}

void Call::check_image(VariableId variable, std::size_t count) const {
  if (rank(variable) == count + 2) return;
  fail(concat("its input has ", rank(variable), " dimensions, expected ", count + 2));
}

// Mixed precision keeps weights in float32 and reads them in the compute type: what the kernels read counts.
VariableId Call::weight(const std::string& name, const Shape& shape, bool is_trained) {
  return stored(name, compute_dtype_, shape, is_trained);
}

VariableId Call::kept_weight(const std::string& name, const Shape& shape, bool is_trained) {
  return stored(name, variable_dtype_, shape, is_trained);
}

VariableId Call::stored(const std::string& name, DType dtype, const Shape& shape, bool is_trained) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
    fail(concat("weight '", name, "' would have the sizes ", shape_text(shape)));
  }
  return network_.weight(layer_, name, concat(path_, "/", name), dtype, shape, is_trained);
}

VariableId Call::scalar(double value, DType dtype) {
  return network_.noted(network_.assembly().scalar(concat(path_, suffix_, "/constant"),
                                                   dtype == DType::undefined ? compute_dtype_ : dtype, value));
}

VariableId Call::integers(const std::vector<std::int64_t>& values) {
  return network_.noted(network_.assembly().integers(concat(path_, suffix_, "/constant"), values));
}

VariableId Call::constant(DType dtype, const Shape& shape) {
  return network_.noted(network_.assembly().stored(concat(path_, suffix_, "/constant"), dtype, shape, false));
}

VariableId Call::make(OperatorId op, Variables inputs, Settings settings, std::string_view part) {
  return make_several(op, std::move(inputs), 1, std::move(settings), part).front();
}

Variables Call::make_several(OperatorId op, Variables inputs, std::size_t count, Settings settings,
                             std::string_view part) {
  const std::string name = part.empty() ? concat(path_, suffix_) : concat(path_, suffix_, "/", part);
  Statement statement{.op = op, .source_operator = class_name_, .name = name, .inputs = std::move(inputs)};
  for (std::size_t i = 0; i < count; ++i) {
    statement.outputs.push_back(network_.result(i == 0 ? name : concat(name, ":", i)));
  }
  for (auto& [key, value] : settings) statement.attributes.set(std::move(key), std::move(value));
  Variables results = statement.outputs;
  network_.append(std::move(statement), is_counted_);
  is_counted_ = true;
  return results;
}

VariableId Call::reshape(VariableId x, std::vector<std::int64_t> target, std::string_view part) {
  return make(OperatorId::reshape, {x}, {{"shape", std::move(target)}}, part);
}

VariableId Call::transpose(VariableId x, std::vector<std::int64_t> order, std::string_view part) {
  return make(OperatorId::transpose, {x}, {{"perm", std::move(order)}}, part);
}

VariableId Call::cast(VariableId x, DType dtype) {
  return make(OperatorId::cast, {x}, {{"to", static_cast<std::int64_t>(dtype)}}, "cast");
}

void Call::cast_inputs() {
  if (is_operation(layer_)) return;
  const auto cast_all = [&](Argument& argument) {
    for (VariableId& id : argument.tensors) {
      const DType found = network_.probe().dtype(id);
      if (found != compute_dtype_ && dtype_row(found).is_floating) id = cast(id, compute_dtype_);
    }
  };
  for (Argument& argument : arguments_.positional) cast_all(argument);
  for (auto& [name, argument] : arguments_.named) cast_all(argument);
}

Variables Call::call_inner(const Json& layer, const std::string& name, Arguments arguments) {
  return network_.call(layer, concat(path_, "/", name), suffix_, std::move(arguments));
}

Call Call::inner(const Json& layer, const std::string& name) const {
  return {network_, layer, concat(path_, "/", name), suffix_, {}};
}

void Call::warn(const std::string& message) const { network_.warn_once(message); }

void Call::fail(const std::string& what) const {
  const Source& source = network_.assembly().source();
  throw ModelFileError(concat("'", source.path, "': layer '", path_, "' (", class_name_, "): ", what),
                       {.path = source.path, .node = path_, .op = class_name_});
}

void Call::unsupported(const std::string& what) const {
  const Source& source = network_.assembly().source();
  throw UnsupportedOperatorError(concat("'", source.path, "': layer '", path_, "' (", class_name_, "): ", what),
                                 {.path = source.path, .node = path_, .op = class_name_});
}

void Call::unknown_setting(std::string_view key, std::string_view value, const std::vector<std::string>& valid) const {
  unsupported(unknown_name_message(key, value, valid));
}

}  // namespace latpred::readers::keras
