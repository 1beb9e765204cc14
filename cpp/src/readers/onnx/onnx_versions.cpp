#include "readers/onnx/onnx_versions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

void set_default(Statement& statement, const char* name, AttributeValue value) {
  if (!statement.attributes.has(name)) statement.attributes.set(name, std::move(value));
}

void rename(Statement& statement, std::string_view from, std::string_view to) {
  Attributes renamed;
  for (const auto& [name, value] : statement.attributes.items()) {
    renamed.set(name == from ? std::string(to) : name, value);
  }
  statement.attributes = std::move(renamed);
}

void make_axis_one_explicit(const Source&, Statement& statement) { set_default(statement, "axis", std::int64_t{1}); }

// Older versions had five outputs, all but the first for training.
void make_training_mode_explicit(const Source&, Statement& statement) {
  const auto given = std::count_if(statement.outputs.begin(), statement.outputs.end(),
                                   [](VariableId output) { return output != kAbsent; });
  if (given > 1) statement.attributes.set("training_mode", std::int64_t{1});
}

// TensorProto's names, at the number of the type.
void read_type_name(const Source& source, Statement& statement) {
  static constexpr std::array<std::string_view, 17> kTypeNames{
      "UNDEFINED", "FLOAT",   "UINT8",  "INT8",   "UINT16", "INT16",     "INT32",      "INT64",   "STRING",
      "BOOL",      "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const AttributeValue* const to = statement.attributes.find("to");
  const auto* const name = to != nullptr ? std::get_if<std::string>(to) : nullptr;
  if (name == nullptr) return;
  const auto found = std::find(kTypeNames.begin() + 1, kTypeNames.end(), *name);
  if (found == kTypeNames.end()) {
    source.fail(concat("node '", statement.name, "' (Cast) casts to '", *name, "', which is no element type"));
  }
  statement.attributes.set("to", std::int64_t{found - kTypeNames.begin()});
}

void put_scales_at_later_input(const Source&, Statement& statement) {
  if (statement.inputs.size() == 2) statement.inputs.insert(statement.inputs.begin() + 1, kAbsent);
  set_default(statement, "coordinate_transformation_mode", std::string("asymmetric"));
}

void join_scales(const Source&, Statement& statement) {
  const double height = statement.attributes.real("height_scale", 1);
  const double width = statement.attributes.real("width_scale", 1);
  statement.attributes.set("scales", std::vector<double>{1, 1, height, width});
}

void rename_paddings(const Source&, Statement& statement) { rename(statement, "paddings", "pads"); }

void make_power_integer(const Source&, Statement& statement) {
  const AttributeValue* const power = statement.attributes.find("p");
  const auto* const real = power != nullptr ? std::get_if<double>(power) : nullptr;
  if (real != nullptr) statement.attributes.set("p", static_cast<std::int64_t>(std::clamp(*real, 0.0, 1e9)));
}

// Scan of version 8 runs over a leading batch axis: no later attribute says that.
void mark_version(const Source&, Statement& statement) { statement.attributes.set("opset", std::int64_t{8}); }

void refuse_tile(const Source& source, Statement& statement) {
  source.fail(concat("node '", statement.name,
                     "' is Tile of opset 1 to 5, which repeats one axis only and is not read; convert the file with "
                     "onnx.version_converter"));
}

struct Change {
  OperatorId op;
  std::int64_t before;  // the version that brought today's form
  void (*apply)(const Source& source, Statement& statement);
};

constexpr Change kChanges[] = {
    {OperatorId::softmax, 13, make_axis_one_explicit},
    {OperatorId::log_softmax, 13, make_axis_one_explicit},
    {OperatorId::hardmax, 13, make_axis_one_explicit},
    {OperatorId::concat, 4, make_axis_one_explicit},
    {OperatorId::dft, 20, make_axis_one_explicit},
    {OperatorId::batch_norm, 14, make_training_mode_explicit},
    {OperatorId::cast, 6, read_type_name},
    {OperatorId::resize, 11, put_scales_at_later_input},
    {OperatorId::upsample, 7, join_scales},
    {OperatorId::pad, 2, rename_paddings},
    {OperatorId::lp_pool, 2, make_power_integer},
    {OperatorId::global_lp_pool, 2, make_power_integer},
    {OperatorId::scan, 9, mark_version},
    {OperatorId::tile, 6, refuse_tile},
};

constexpr std::int64_t kLastChange =
    std::max_element(std::begin(kChanges), std::end(kChanges), [](const Change& a, const Change& b) {
      return a.before < b.before;
    })->before;

}  // namespace

void normalize_version(const Source& source, std::int64_t opset, Statement& statement) {
  if (opset >= kLastChange) return;
  for (const Change& change : kChanges) {
    if (change.op == statement.op && opset < change.before) change.apply(source, statement);
  }
}

}  // namespace latpred::readers
