#include "readers/torch/exported_graph.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "latpred/autocast.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::readers {
namespace {

constexpr std::string_view kOperatorPrefix = "torch.ops.";
constexpr std::string_view kHigherOrderPrefix = "higher_order.";
constexpr std::string_view kAutocastKey = "latpred_autocast";  // of a node's metadata, written by our recorder

struct ScalarTableRow {
  std::string_view key;
  DType dtype;
};

constexpr ScalarTableRow kScalarTables[] = {
    {"sym_int_values", DType::int64}, {"sym_float_values", DType::float64}, {"sym_bool_values", DType::boolean}};

std::string_view autocast_of(const Json& node) {
  const Json* metadata = node.find("metadata");
  const Json* value = metadata != nullptr && metadata->is_object() ? metadata->find(kAutocastKey) : nullptr;
  if (value == nullptr) return {};
  if (value->text() != kAutocastHalf) {
    throw ModelFileError(
        concat("metadata ", kAutocastKey, " is '", value->text(), "', expected '", kAutocastHalf, "'"));
  }
  return kAutocastHalf;
}

// As torch.channels_last has it. Of one channel, or of one pixel, both orders are the same.
bool is_channels_last(const std::vector<Dimension>& sizes, const Json& strides) {
  constexpr std::size_t kRank = 4;
  if (sizes.size() != kRank || strides.array().size() != kRank) return false;
  if (std::ranges::any_of(sizes, [](const Dimension& size) { return size.size < 1; })) return false;  // open or empty
  // Unsigned: what a hostile file multiplies wraps around.
  const auto channels = static_cast<std::uint64_t>(sizes[1].size);
  const auto width = static_cast<std::uint64_t>(sizes[3].size);
  const auto pixels = static_cast<std::uint64_t>(sizes[2].size) * width;
  const auto stride_is = [&](std::size_t axis, std::uint64_t expected) {
    const ExportedUnion one = exported_union(strides.array()[axis]);
    return one.kind == "as_int" && static_cast<std::uint64_t>(one.value.integer()) == expected;
  };
  return channels > 1 && pixels > 1 && stride_is(1, 1) && stride_is(3, channels) && stride_is(2, channels * width) &&
         stride_is(0, channels * pixels);
}

}  // namespace

void ExportedGraph::declare(const Json& graph, NameTable& names) {
  const Json::Object& tensors = graph.at("tensor_values").object();
  names.reserve(tensors.size());
  for (const auto& [name, meta] : tensors) {
    if (names.find(name) != nullptr) continue;
    try {
      const std::vector<Dimension> sizes = sizes_.dimensions(meta.at("sizes"));
      names.emplace(name, assembly_.result(name, exported_dtype(meta.at("dtype")), sizes));
      if (const Json* strides = meta.find("strides"); strides != nullptr && is_channels_last(sizes, *strides)) {
        channels_last_.insert(name);
      }
    } catch (Error& error) {
      error.add_context(concat("tensor '", name, "'"));
      throw;
    }
  }
  for (const ScalarTableRow& row : kScalarTables) {
    const Json* scalars = graph.find(row.key);  // older files have fewer of them
    if (scalars == nullptr) continue;
    for (const auto& [name, unused] : scalars->object()) {
      if (names.find(name) == nullptr) {
        names.emplace(name, assembly_.result(name, row.dtype, std::vector<Dimension>()));
      }
    }
  }
}

void ExportedGraph::append_nodes(const Json& graph, NameTable& names) {
  for (const Json& node : graph.at("nodes").array()) append_node(node, names);
}

void ExportedGraph::append_node(const Json& node, NameTable& names) {
  std::string_view target = node.at("target").text();
  if (target.starts_with(kOperatorPrefix)) target.remove_prefix(kOperatorPrefix.size());
  const std::vector<std::string_view> results = exported_names(node.at("outputs"));
  const Json* given_name = node.find("name");  // older files name the results only
  const std::string_view name = given_name != nullptr && !given_name->is_null() ? std::string_view(given_name->text())
                                : results.empty()                               ? target
                                                                                : results.front();
  try {
    if (target.starts_with(kHigherOrderPrefix)) {
      append_call(target, name, node, names);
      return;
    }
    AtenNode aten{.target = target, .name = name, .arguments = {}, .outputs = {}};
    const Json::Array& inputs = node.at("inputs").array();
    aten.arguments.reserve(inputs.size());
    for (const Json& input : inputs) {
      aten.arguments.push_back({input.at("name").text(), exported_argument(input.at("arg"), names)});
    }
    aten.outputs = made(results, names);
    assembly_.set_autocast(autocast_of(node));
    if (!append_exported_scalar(assembly_, aten)) lower_aten(assembly_, aten);
    assembly_.set_autocast({});
  } catch (Error& error) {
    if (error.data().node.empty()) {
      error.data().node = name;
      error.data().op = target;
      error.add_context(concat("node '", name, "' (", target, ")"));
    }
    throw;
  }
}

VariableId ExportedGraph::made(std::string_view name, const NameTable& names) {
  if (name.empty()) return kAbsent;
  const VariableId id = exported_variable(name, names);
  const auto index = static_cast<std::size_t>(id);
  if (index >= is_made_.size()) is_made_.resize(assembly_.program().variables.size());
  if (is_made_[index] != 0 || assembly_.variable(id).is_stored) {
    throw ModelFileError(concat("gives '", name, "', which exists already"));
  }
  is_made_[index] = 1;
  return id;
}

std::vector<VariableId> ExportedGraph::made(const std::vector<std::string_view>& results, const NameTable& names) {
  std::vector<VariableId> variables;
  variables.reserve(results.size());
  for (const std::string_view name : results) variables.push_back(made(name, names));
  return variables;
}

}  // namespace latpred::readers
