#include "readers/tflite/tflite.h"

#include <algorithm>

#include "latpred/dtype.h"
#include "latpred/text.h"
#include "readers/containers/wire.h"
#include "readers/stored_values.h"
#include "readers/tflite/tflite_lowering.h"

namespace latpred::readers {
namespace {

// Fields of the schema's tables (tensorflow/compiler/mlir/lite/schema/schema.fbs), version 3.
constexpr std::uint32_t kSchemaVersion = 3;
enum ModelField { kVersion, kOperatorCodes, kSubgraphs, kDescription, kBuffers, kMetadataBuffer, kMetadata };
enum SubGraphField { kTensors, kInputs, kOutputs, kOperators };
enum TensorField { kShape, kType, kBuffer, kName, kQuantization, kIsVariable, kSparsity, kShapeSignature, kHasRank };
enum QuantizationField { kMin, kMax, kScale };
enum OperatorCodeField { kDeprecatedCode, kCustomCode, kCodeVersion, kBuiltinCode };
enum BufferField { kData, kOffset, kSize };
enum MetadataField { kMetadataName, kMetadataContent };

constexpr int kCustom = 32;  // BuiltinOperator.CUSTOM
constexpr std::string_view kFlexPrefix = "Flex";

// What is charged for each tensor that is met: about what it takes here.
constexpr std::size_t kTensorBytes = 128;

struct TypeRow {
  std::int8_t code;  // TensorType
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {0, DType::float32},    {1, DType::float16},     {2, DType::int32},   {3, DType::uint8},      {4, DType::int64},
    {5, DType::string},     {6, DType::boolean},     {7, DType::int16},   {8, DType::complex64},  {9, DType::int8},
    {10, DType::float64},   {11, DType::complex128}, {12, DType::uint64}, {13, DType::undefined},  // RESOURCE
    {14, DType::undefined},                                                                        // VARIANT
    {15, DType::uint32},    {16, DType::uint16},     {17, DType::int4},   {18, DType::bfloat16},  {19, DType::int2},
    {20, DType::uint4},
};

// Text that a fixed number of bytes holds, cut at its first NUL.
std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

}  // namespace

DType tflite_dtype(const Source& source, const FlatTable& tensor) {
  const auto code = tensor.number<std::int8_t>(kType, 0);
  for (const TypeRow& row : kTypes) {
    if (row.code == code) return row.dtype;
  }
  source.fail(concat("tensor '", tensor.text(kName), "' has the unknown element type ", static_cast<int>(code)),
              static_cast<std::int64_t>(tensor.position()));
}

std::optional<Shape> tflite_shape(const Source& source, const FlatTable& tensor) {
  std::vector<std::int32_t> sizes = tensor.numbers<std::int32_t>(kShapeSignature);
  if (sizes.empty()) sizes = tensor.numbers<std::int32_t>(kShape);
  if (sizes.empty() && tensor.number<std::uint8_t>(kHasRank, 0) == 0) return std::nullopt;
  Shape shape(sizes.begin(), sizes.end());
  for (const std::int64_t size : shape) {
    if (size < kUnknownSize) {
      source.fail_as_damaged(concat("tensor '", tensor.text(kName), "' has a dimension of ", size),
                             static_cast<std::int64_t>(tensor.position()));
    }
  }
  return shape;
}

TfliteLowering::TfliteLowering(const Source& source, const ReaderLimits& limits)
    : buffer_(source),
      model_(buffer_.root()),
      subgraphs_(model_.tables(kSubgraphs)),
      buffers_(model_.tables(kBuffers)),
      assembly_(source, limits, "tensorflow",
                concat("TensorFlow Lite schema ", model_.number<std::uint32_t>(kVersion, 0))),
      limits_(limits),
      is_active_(subgraphs_.size()) {}

Program TfliteLowering::run() {
  const auto version = model_.number<std::uint32_t>(kVersion, 0);
  if (version != kSchemaVersion) {
    source().fail(concat("is of TensorFlow Lite schema ", version, "; this version reads schema ", kSchemaVersion));
  }
  if (subgraphs_.size() == 0) source().fail_as_damaged("it has no subgraph", 0);
  read_codes();
  read_producer();
  TfliteScope scope = open_scope(0);
  const FlatTable subgraph = subgraphs_.at(0);
  is_active_[0] = true;
  for (const std::int32_t tensor : subgraph.numbers<std::int32_t>(kInputs)) {
    const FlatTable table = tensor_of(scope, tensor);
    std::vector<Dimension> dimensions;
    const Shape shape = tflite_shape(source(), table).value_or(Shape{});
    for (std::size_t i = 0; i < shape.size(); ++i) {
      dimensions.push_back({.size = shape[i], .symbol = i == 0 && shape[i] == kUnknownSize ? "batch" : ""});
    }
    VariableId& variable = scope.variables[static_cast<std::size_t>(tensor)];
    if (variable != kAbsent) {
      source().fail_as_damaged(concat("tensor '", name_of(scope, tensor), "' is an input twice"),
                               static_cast<std::int64_t>(table.position()));
    }
    variable = assembly_.input(name_of(scope, tensor), tflite_dtype(source(), table), std::move(dimensions));
  }
  lower_operators(scope);
  for (const std::int32_t tensor : subgraph.numbers<std::int32_t>(kOutputs)) {
    assembly_.output(variable_of(scope, tensor));
  }
  return assembly_.finish();
}

void TfliteLowering::read_codes() {
  const FlatTables codes = model_.tables(kOperatorCodes);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const FlatTable code = codes.at(i);
    // Codes outgrew a byte: files have the larger of both fields.
    const int builtin =
        std::max<int>(code.number<std::int8_t>(kDeprecatedCode, 0), code.number<std::int32_t>(kBuiltinCode, 0));
    codes_.push_back({builtin, builtin == kCustom ? std::string(code.text(kCustomCode)) : std::string()});
  }
}

void TfliteLowering::read_producer() {
  std::string& producer = assembly_.program().source.producer;
  producer = model_.text(kDescription);
  if (producer.ends_with('.')) producer.pop_back();
  const FlatTables entries = model_.tables(kMetadata);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const FlatTable entry = entries.at(i);
    if (entry.text(kMetadataName) != "min_runtime_version") continue;
    const std::string_view runtime =
        until_nul(buffers_.at(entry.number<std::uint32_t>(kMetadataContent, 0)).bytes(kData));
    if (!runtime.empty() && is_utf8(runtime)) producer += concat(producer.empty() ? "" : ", ", "for runtime ", runtime);
  }
}

FlatTable TfliteLowering::subgraph_at(std::size_t index) const {
  if (index >= subgraphs_.size()) {
    source().fail_as_damaged(concat("subgraph ", index, " of ", subgraphs_.size(), " is called"), 0);
  }
  return subgraphs_.at(index);
}

TfliteScope TfliteLowering::open_scope(std::size_t index) const {
  const FlatTable table = subgraph_at(index);
  TfliteScope scope{.index = index, .tensors = table.tables(kTensors), .variables = {}, .makers = {}};
  buffer_.charge(scope.tensors.size() * (sizeof(VariableId) + sizeof(std::int32_t)));
  scope.variables.assign(scope.tensors.size(), kAbsent);
  scope.makers.assign(scope.tensors.size(), TfliteScope::kNobody);
  const auto mark = [&](std::int32_t tensor, std::int32_t maker) {
    if (tensor < 0) return;
    (void)tensor_of(scope, tensor);
    scope.makers[static_cast<std::size_t>(tensor)] = maker;
  };
  for (const std::int32_t tensor : table.numbers<std::int32_t>(kInputs)) mark(tensor, TfliteScope::kGiven);
  const FlatTables operators = table.tables(kOperators);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    for (const std::int32_t tensor : operators.at(i).numbers<std::int32_t>(kOperatorOutputs)) {
      mark(tensor, static_cast<std::int32_t>(i));
    }
  }
  return scope;
}

std::vector<std::int32_t> TfliteLowering::inputs_of(std::size_t index) const {
  return subgraph_at(index).numbers<std::int32_t>(kInputs);
}

std::vector<std::int32_t> TfliteLowering::outputs_of(std::size_t index) const {
  return subgraph_at(index).numbers<std::int32_t>(kOutputs);
}

std::optional<TfliteMaker> TfliteLowering::maker_of(const TfliteScope& scope, std::int32_t tensor) const {
  if (tensor < 0 || static_cast<std::size_t>(tensor) >= scope.makers.size()) return std::nullopt;
  const std::int32_t maker = scope.makers[static_cast<std::size_t>(tensor)];
  if (maker < 0) return std::nullopt;
  const FlatTable table = subgraph_at(scope.index).tables(kOperators).at(static_cast<std::size_t>(maker));
  return TfliteMaker{code_of(table).builtin, table.numbers<std::int32_t>(kOperatorInputs)};
}

void TfliteLowering::lower_operators(TfliteScope& scope) {
  const FlatTables operators = subgraphs_.at(scope.index).tables(kOperators);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (++num_operators_ > limits_.max_nodes) {
      source().fail(concat("the network has more than ", grouped_digits(limits_.max_nodes), " nodes, limit ",
                           grouped_digits(limits_.max_nodes), " (max_nodes)"));
    }
    lower_operator(scope, operators.at(i), i);
  }
}

const TfliteLowering::Code& TfliteLowering::code_of(const FlatTable& table) const {
  const auto opcode = table.number<std::uint32_t>(kOperatorCode, 0);
  if (opcode >= codes_.size()) {
    source().fail_as_damaged(concat("an operator has code ", opcode, " of ", codes_.size()),
                             static_cast<std::int64_t>(table.position()));
  }
  return codes_[opcode];
}

void TfliteLowering::lower_operator(TfliteScope& scope, const FlatTable& table, std::size_t index) {
  const Code& code = code_of(table);
  // An operator of TensorFlow itself keeps the name that it has there.
  const bool is_flex = code.custom.starts_with(kFlexPrefix);
  const std::string kind = code.builtin != kCustom ? tflite_operator_name(code.builtin)
                           : is_flex               ? concat("flex::", code.custom.substr(kFlexPrefix.size()))
                                                   : concat("custom::", code.custom);
  const TfliteOperatorRow* const row = find_tflite_operator(code.builtin);
  const std::string prefix = scope.index == 0 ? "" : concat("subgraph_", scope.index, "/");
  std::string lowered = kind;
  std::replace(lowered.begin(), lowered.end(), ':', '_');
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  TfliteNode node(*this, scope, table, concat(prefix, lowered, "_", index), kind,
                  row != nullptr ? row->activation_field : -1);
  if (row != nullptr) {
    row->lower(node, row->op);
  } else {
    lower_as_declared(node, OperatorId::unknown);
  }
}

std::vector<VariableId> TfliteLowering::inline_subgraph(std::size_t index, const std::vector<VariableId>& inputs) {
  const FlatTable subgraph = subgraph_at(index);
  if (is_active_[index]) source().fail(concat("subgraph ", index, " calls itself"));
  if (std::count(is_active_.begin(), is_active_.end(), true) >= limits_.max_depth) {
    source().fail(concat("its calls are nested deeper than ", limits_.max_depth, " (max_depth)"));
  }
  is_active_[index] = true;
  TfliteScope scope = open_scope(index);
  const auto tensors = subgraph.numbers<std::int32_t>(kInputs);
  if (tensors.size() != inputs.size()) {
    source().fail_as_damaged(
        concat("subgraph ", index, " takes ", tensors.size(), " inputs, its caller gives ", inputs.size()),
        static_cast<std::int64_t>(subgraph.position()));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    (void)tensor_of(scope, tensors[i]);
    scope.variables[static_cast<std::size_t>(tensors[i])] = inputs[i];
  }
  lower_operators(scope);
  std::vector<VariableId> outputs;
  for (const std::int32_t tensor : subgraph.numbers<std::int32_t>(kOutputs)) {
    outputs.push_back(variable_of(scope, tensor));
  }
  is_active_[index] = false;
  return outputs;
}

FlatTable TfliteLowering::tensor_of(const TfliteScope& scope, std::int32_t tensor) const {
  if (tensor < 0 || static_cast<std::size_t>(tensor) >= scope.tensors.size()) {
    source().fail_as_damaged(
        concat("tensor ", tensor, " is named, subgraph ", scope.index, " has ", scope.tensors.size()), 0);
  }
  return scope.tensors.at(static_cast<std::size_t>(tensor));
}

std::string TfliteLowering::name_of(const TfliteScope& scope, std::int32_t tensor) const {
  const std::string_view name = tensor_of(scope, tensor).text(kName);
  return name.empty() ? concat("tensor_", tensor) : std::string(name);
}

std::string_view TfliteLowering::content_of(const FlatTable& tensor) const {
  const auto index = tensor.number<std::uint32_t>(kBuffer, 0);
  if (index == 0) return {};  // the schema's empty buffer
  const FlatTable buffer = buffers_.at(index);
  const auto offset = buffer.number<std::uint64_t>(kOffset, 0);
  // Beyond 2 GiB content stands behind the flatbuffer; 1 marks a buffer that is yet to be placed there.
  if (offset > 1) return buffer_.checked(offset, buffer.number<std::uint64_t>(kSize, 0));
  return buffer.bytes(kData);
}

std::shared_ptr<const Value> TfliteLowering::value_of(const TfliteScope& scope, std::int32_t tensor) const {
  if (tensor < 0) return nullptr;
  const FlatTable table = tensor_of(scope, tensor);
  if (scope.is_made(tensor)) return nullptr;
  const std::string_view content = content_of(table);
  const Shape shape = tflite_shape(source(), table).value_or(Shape{});
  const auto quantization = table.table(kQuantization);
  // The numbers that a quantised tensor stands for are others than those in the file.
  if (quantization && !quantization->numbers<float>(kScale).empty()) return nullptr;
  const DType dtype = tflite_dtype(source(), table);
  const int bits = bits_of_element(dtype);
  if (bits == 0 || content.size() > static_cast<std::size_t>(kMaxFoldedElements) * 8) return nullptr;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return nullptr;
  }
  if (count > kMaxFoldedElements) return nullptr;
  buffer_.charge(content.size());
  return value_of_words(dtype, shape, packed_words(dtype, content));
}

VariableId TfliteLowering::variable_of(TfliteScope& scope, std::int32_t tensor) {
  const FlatTable table = tensor_of(scope, tensor);
  VariableId& variable = scope.variables[static_cast<std::size_t>(tensor)];
  if (variable != kAbsent) return variable;
  buffer_.charge(kTensorBytes);
  const DType dtype = tflite_dtype(source(), table);
  const std::optional<Shape> shape = tflite_shape(source(), table);
  if (scope.is_made(tensor)) {
    std::optional<std::vector<Dimension>> dimensions;
    if (shape) {
      dimensions.emplace();
      for (const std::int64_t size : *shape) dimensions->push_back({.size = size, .symbol = {}});
    }
    variable = assembly_.result(name_of(scope, tensor), dtype, std::move(dimensions));
    return variable;
  }
  // Neither given nor made: stored. Files without their weights have empty buffers.
  const Shape sizes = shape.value_or(Shape{});
  if (std::find(sizes.begin(), sizes.end(), kUnknownSize) != sizes.end()) {
    source().fail_as_damaged(concat("the stored tensor '", name_of(scope, tensor), "' has an open size"),
                             static_cast<std::int64_t>(table.position()));
  }
  const bool is_variable = table.number<std::uint8_t>(kIsVariable, 0) != 0;
  const auto make = [&] {
    const VariableId stored = assembly_.stored(name_of(scope, tensor), dtype, sizes, !is_variable);
    assembly_.variable(stored).value = is_variable ? nullptr : value_of(scope, tensor);
    return stored;
  };
  const auto content = table.number<std::uint32_t>(kBuffer, 0);
  if (content == 0 || content_of(table).empty()) {
    variable = make();
    return variable;
  }
  const auto [found, is_new] = stored_.try_emplace({content, dtype, sizes}, kAbsent);
  if (is_new) found->second = make();
  variable = found->second;
  return variable;
}

Program read_tflite(const Source& source, const ReaderLimits& limits) { return TfliteLowering(source, limits).run(); }

}  // namespace latpred::readers
