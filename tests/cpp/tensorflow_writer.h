#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_writer.h"

// Writes TensorFlow's messages, so that tests can say exactly what stands in a file.
namespace latpred::testing::tf {

enum : int { kFloat = 1, kInt32 = 3, kResource = 20 };

// {"T", type(kFloat)}
struct Setting {
  std::string_view name;
  Proto value;
};

inline Proto type(int number) { return Proto().varint(6, static_cast<std::uint64_t>(number)); }
inline Proto integer(std::int64_t number) { return Proto().varint(3, static_cast<std::uint64_t>(number)); }
inline Proto text(std::string_view content) { return Proto().bytes(2, content); }
inline Proto function(std::string_view name) { return Proto().message(10, Proto().bytes(1, name)); }

inline Proto sizes(const std::vector<std::int64_t>& all) {
  Proto shape;
  for (const std::int64_t size : all) shape.message(2, Proto().varint(1, static_cast<std::uint64_t>(size)));
  return shape;
}
inline Proto shape(const std::vector<std::int64_t>& all) { return Proto().message(7, sizes(all)); }
inline Proto integers(const std::vector<std::int64_t>& all) {
  Proto list;
  for (const std::int64_t one : all) list.varint(3, static_cast<std::uint64_t>(one));
  return Proto().message(1, list);
}

inline Proto tensor(int dtype, const std::vector<std::int64_t>& all, const Proto& content = {}) {
  return Proto().varint(1, static_cast<std::uint64_t>(dtype)).message(2, sizes(all)).append(content);
}
inline Proto int32_content(const std::vector<std::int64_t>& numbers) {
  Proto content;
  for (const std::int64_t number : numbers) content.varint(7, static_cast<std::uint64_t>(number));
  return content;
}

inline Proto node(std::string_view name, std::string_view op, const std::vector<std::string>& inputs = {},
                  const std::vector<Setting>& settings = {}) {
  Proto result;
  result.bytes(1, name).bytes(2, op);
  for (const std::string& input : inputs) result.bytes(3, input);
  for (const Setting& setting : settings) {
    result.message(5, Proto().bytes(1, setting.name).message(2, setting.value));
  }
  return result;
}

inline Proto placeholder(std::string_view name, const std::vector<std::int64_t>& all) {
  return node(name, "Placeholder", {}, {{"dtype", type(kFloat)}, {"shape", shape(all)}});
}
inline Proto weight(std::string_view name, const std::vector<std::int64_t>& all) {
  return node(name, "Const", {}, {{"dtype", type(kFloat)}, {"value", Proto().message(8, tensor(kFloat, all))}});
}
inline Proto numbers(std::string_view name, const std::vector<std::int64_t>& all) {
  const auto count = static_cast<std::int64_t>(all.size());
  return node(name, "Const", {},
              {{"dtype", type(kInt32)}, {"value", Proto().message(8, tensor(kInt32, {count}, int32_content(all)))}});
}
inline Proto number(std::string_view name, std::int64_t value) {
  return node(name, "Const", {},
              {{"dtype", type(kInt32)}, {"value", Proto().message(8, tensor(kInt32, {}, int32_content({value})))}});
}
inline Proto variable(std::string_view name, const std::vector<std::int64_t>& all) {
  return node(name, "VarHandleOp", {}, {{"dtype", type(kFloat)}, {"shape", shape(all)}});
}

inline Proto library_function(std::string_view name, const std::vector<std::string>& arguments,
                              const std::vector<std::pair<std::string, std::string>>& results,
                              const std::vector<Proto>& nodes) {
  Proto signature;
  signature.bytes(1, name);
  for (const std::string& argument : arguments) signature.message(2, Proto().bytes(1, argument));
  for (const auto& [result, value] : results) signature.message(3, Proto().bytes(1, result));
  Proto function;
  function.message(1, signature);
  for (const Proto& one : nodes) function.message(3, one);
  for (const auto& [result, value] : results) function.message(4, Proto().bytes(1, result).bytes(2, value));
  return function;
}

inline Proto graph(const std::vector<Proto>& nodes, const std::vector<Proto>& functions = {}) {
  Proto result;
  for (const Proto& one : nodes) result.message(1, one);
  Proto library;
  for (const Proto& one : functions) library.message(1, one);
  if (!functions.empty()) result.message(2, library);
  return result;
}

inline Proto tensor_info(std::string_view key, std::string_view name, const std::vector<std::int64_t>& all) {
  return Proto().bytes(1, key).message(2, Proto().bytes(1, name).varint(2, kFloat).message(3, sizes(all)));
}

inline Proto signature(std::string_view key, const std::vector<Proto>& inputs, const std::vector<Proto>& outputs) {
  Proto content;
  for (const Proto& one : inputs) content.message(1, one);
  for (const Proto& one : outputs) content.message(2, one);
  return Proto().bytes(1, key).message(2, content);
}

inline Proto meta_graph(const Proto& graph, const std::vector<Proto>& signatures, std::string_view tag = "serve") {
  Proto meta;
  meta.message(1, Proto().bytes(4, tag).bytes(5, "2.21.0")).message(2, graph);
  for (const Proto& one : signatures) meta.message(5, one);
  return meta;
}

inline Proto saved_model(const std::vector<Proto>& meta_graphs, std::uint64_t version = 1) {
  Proto model;
  model.varint(1, version);
  for (const Proto& one : meta_graphs) model.message(2, one);
  return model;
}

}  // namespace latpred::testing::tf
