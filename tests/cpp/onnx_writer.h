#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

// Writes ONNX messages byte by byte, so that tests can say exactly what stands in a file, damage included.
namespace latpred::testing {

class Proto {
 public:
  Proto& varint(int number, std::uint64_t value) {
    put(static_cast<std::uint64_t>(number) << 3);
    put(value);
    return *this;
  }
  Proto& bytes(int number, std::string_view content) {
    put(static_cast<std::uint64_t>(number) << 3 | 2);
    put(content.size());
    text_.append(content);
    return *this;
  }
  Proto& message(int number, const Proto& content) { return bytes(number, content.text_); }
  Proto& float32(int number, float value) {
    put(static_cast<std::uint64_t>(number) << 3 | 5);
    return raw(value);
  }
  template <typename T>
  Proto& raw(T value) {
    char buffer[sizeof(T)];
    std::memcpy(buffer, &value, sizeof(T));
    text_.append(buffer, sizeof(T));
    return *this;
  }
  Proto& put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>(value | 0x80));
    text_.push_back(static_cast<char>(value));
    return *this;
  }
  Proto& append(const Proto& other) {
    text_ += other.text_;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

enum : int { kFloat = 1, kUint8 = 2, kInt64 = 7, kString = 8, kBool = 9, kFloat16 = 10 };

// A TensorProto's head; content is added by the caller.
inline Proto tensor(std::string_view name, int dtype, const std::vector<std::int64_t>& dims) {
  Proto result;
  for (const std::int64_t size : dims) result.varint(1, static_cast<std::uint64_t>(size));
  result.varint(2, static_cast<std::uint64_t>(dtype));
  if (!name.empty()) result.bytes(8, name);
  return result;
}
inline Proto int64_tensor(std::string_view name, const std::vector<std::int64_t>& values) {
  Proto content;
  for (const std::int64_t value : values) content.raw(value);
  return tensor(name, kInt64, {static_cast<std::int64_t>(values.size())}).bytes(9, content.text());
}

// A dimension of -2 is left out, one of -1 or 0 is written as it is.
inline Proto tensor_type(int dtype, const std::vector<std::int64_t>& dims, std::string_view first_symbol = "") {
  Proto shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Proto dim;
    if (i == 0 && !first_symbol.empty()) {
      dim.bytes(2, first_symbol);
    } else if (dims[i] != -2) {
      dim.varint(1, static_cast<std::uint64_t>(dims[i]));
    }
    shape.message(1, dim);
  }
  return Proto().message(1, Proto().varint(1, static_cast<std::uint64_t>(dtype)).message(2, shape));
}
inline Proto value_info(std::string_view name, const Proto& type) { return Proto().bytes(1, name).message(2, type); }
inline Proto value_info(std::string_view name, const std::vector<std::int64_t>& dims = {1, 4}) {
  return value_info(name, tensor_type(kFloat, dims));
}

inline Proto integer_attribute(std::string_view name, std::int64_t value) {
  return Proto().bytes(1, name).varint(3, static_cast<std::uint64_t>(value)).varint(20, 2);
}
inline Proto real_attribute(std::string_view name, float value) {
  return Proto().bytes(1, name).float32(2, value).varint(20, 1);
}
inline Proto text_attribute(std::string_view name, std::string_view value) {
  return Proto().bytes(1, name).bytes(4, value).varint(20, 3);
}
inline Proto tensor_attribute(std::string_view name, const Proto& value) {
  return Proto().bytes(1, name).message(5, value).varint(20, 4);
}
inline Proto graph_attribute(std::string_view name, const Proto& value) {
  return Proto().bytes(1, name).message(6, value).varint(20, 5);
}
inline Proto integers_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Proto result = Proto().bytes(1, name);
  for (const std::int64_t value : values) result.varint(8, static_cast<std::uint64_t>(value));
  return result.varint(20, 7);
}
inline Proto reference_attribute(std::string_view name, std::string_view of, int kind) {
  return Proto().bytes(1, name).varint(20, static_cast<std::uint64_t>(kind)).bytes(21, of);
}

inline Proto node(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                  const std::vector<Proto>& attributes = {}, std::string_view domain = "", std::string_view name = "") {
  Proto result;
  for (const std::string& input : inputs) result.bytes(1, input);
  for (const std::string& output : outputs) result.bytes(2, output);
  if (!name.empty()) result.bytes(3, name);
  result.bytes(4, op);
  for (const Proto& attribute : attributes) result.message(5, attribute);
  if (!domain.empty()) result.bytes(7, domain);
  return result;
}

struct GraphParts {
  std::vector<Proto> nodes;
  std::vector<Proto> initializers;
  std::vector<Proto> inputs;
  std::vector<Proto> outputs;
  std::vector<Proto> value_infos;
};
inline Proto graph(const GraphParts& parts) {
  Proto result;
  for (const Proto& part : parts.nodes) result.message(1, part);
  for (const Proto& part : parts.initializers) result.message(5, part);
  for (const Proto& part : parts.inputs) result.message(11, part);
  for (const Proto& part : parts.outputs) result.message(12, part);
  for (const Proto& part : parts.value_infos) result.message(13, part);
  return result;
}

inline Proto opset(std::int64_t version, std::string_view domain = "") {
  Proto result;
  if (!domain.empty()) result.bytes(1, domain);
  return result.varint(2, static_cast<std::uint64_t>(version));
}
inline Proto model(const GraphParts& parts, std::int64_t version = 17, std::int64_t ir_version = 8) {
  return Proto()
      .varint(1, static_cast<std::uint64_t>(ir_version))
      .bytes(2, "test")
      .message(7, graph(parts))
      .message(8, opset(version));
}

// x -> Relu -> y
inline GraphParts relu_parts() {
  return {.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {value_info("x")}, .outputs = {value_info("y")}};
}

}  // namespace latpred::testing
