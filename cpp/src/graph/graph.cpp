#include "latpred/graph.h"

#include <algorithm>
#include <limits>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// 64-bit FNV-1a: stable over builds and machines, which std::hash is not.
class Fnv1a {
 public:
  void bytes(const void* data, std::size_t size) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) state_ = (state_ ^ byte[i]) * 0x100000001b3ULL;
  }
  void number(std::int64_t value) { bytes(&value, sizeof value); }
  void number(double value) { bytes(&value, sizeof value); }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes(value.data(), value.size());
  }
  [[nodiscard]] std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

void add_attribute(Fnv1a& hash, const AttributeValue& value) {
  hash.number(static_cast<std::int64_t>(value.index()));
  std::visit(
      [&hash](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, std::string>) {
          hash.text(content);
        } else if constexpr (std::is_arithmetic_v<T>) {
          hash.number(content);
        } else {
          hash.number(static_cast<std::int64_t>(content.size()));
          for (const auto& element : content) {
            if constexpr (std::is_same_v<T, std::vector<std::string>>) {
              hash.text(element);
            } else {
              hash.number(element);
            }
          }
        }
      },
      value);
}

std::int64_t sum_elements(const Graph& graph, TensorKind kind) {
  std::vector<bool> seen(graph.tensors.size());
  std::int64_t sum = 0;
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || seen[id] || graph.tensors[id].kind != kind) continue;
      seen[id] = true;
      sum += graph.tensors[id].num_elements();
    }
  }
  return sum;
}

[[noreturn]] void broken(const Node& node, const std::string& what) {
  throw ShapeError(concat("node '", node.name, "': ", what), {.node = node.name});
}

}  // namespace

std::int64_t Tensor::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) {
      throw ShapeError(concat("tensor '", name, "' ", shape_text(shape), " has more than 2^63 elements"));
    }
  }
  return count;
}

std::int64_t Tensor::size_bytes() const {
  const std::int64_t count = num_elements();
  if (count > std::numeric_limits<std::int64_t>::max() / 16) {
    throw ShapeError(concat("tensor '", name, "' ", shape_text(shape), " has more than 2^63 bytes"));
  }
  return packed_bytes(dtype, count);
}

Cost& Cost::operator+=(const Cost& other) {
  macs += other.macs;
  flops += other.flops;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  weight_bytes += other.weight_bytes;
  return *this;
}

double Graph::macs() const {
  double sum = 0;
  for (const Node& node : nodes) sum += node.cost.macs * static_cast<double>(node.repeat);
  return sum;
}

double Graph::flops() const {
  double sum = 0;
  for (const Node& node : nodes) sum += node.cost.flops * static_cast<double>(node.repeat);
  return sum;
}

std::int64_t Graph::num_parameters() const { return sum_elements(*this, TensorKind::parameter); }

std::int64_t Graph::num_statistics() const { return sum_elements(*this, TensorKind::statistic); }

std::int64_t Graph::weight_bytes() const {
  std::vector<bool> seen(tensors.size());
  std::int64_t sum = 0;
  for (const Node& node : nodes) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent || seen[id] || !tensors[id].is_weight()) continue;
      seen[id] = true;
      sum += tensors[id].size_bytes();
    }
  }
  return sum;
}

std::uint64_t Graph::hash() const {
  Fnv1a hash;
  // Tensors are numbered by first use, so that unused ones and their order in the file make no difference.
  std::vector<std::int64_t> number(tensors.size(), -1);
  std::int64_t next = 0;
  const auto add = [&](TensorId id) {
    if (id == kAbsent) {
      hash.number(std::int64_t{-1});
      return;
    }
    if (number[id] < 0) {
      number[id] = next++;
      const Tensor& tensor = tensors[id];
      hash.number(static_cast<std::int64_t>(tensor.dtype));
      hash.number(static_cast<std::int64_t>(tensor.kind));
      hash.number(static_cast<std::int64_t>(tensor.shape.size()));
      for (const std::int64_t size : tensor.shape) hash.number(size);
    }
    hash.number(number[id]);
  };
  for (const TensorId id : inputs) add(id);
  for (const Node& node : nodes) {
    hash.number(static_cast<std::int64_t>(node.op));
    if (node.op == OperatorId::unknown) hash.text(node.source_operator);
    hash.number(node.repeat);
    for (const TensorId id : node.inputs) add(id);
    hash.number(static_cast<std::int64_t>(node.outputs.size()));
    for (const TensorId id : node.outputs) add(id);
    auto items = node.attributes.items();
    std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, value] : items) {
      hash.text(name);
      add_attribute(hash, value);
    }
  }
  for (const TensorId id : outputs) add(id);
  if (channels_last()) hash.number(std::int64_t{1});
  return hash.state();
}

Graph with_channels_last(Graph graph) {
  if (graph.channels_last()) return graph;
  if (!graph.program) throw InvalidArgumentError("this graph has no program that could say how its filters lie");
  Program program = *graph.program;
  program.channels_last = true;
  graph.program = std::make_shared<const Program>(std::move(program));
  return graph;
}

bool is_in_place(std::string_view source_operator) {
  const std::size_t space = source_operator.find_first_of(".:");
  const std::size_t start = source_operator.find_first_not_of(".:", space);
  if (space == std::string_view::npos || start == std::string_view::npos) return false;
  const std::string_view name = source_operator.substr(start, source_operator.find('.', start) - start);
  return name.size() > 1 && name.ends_with('_') && !name.ends_with("__");
}

std::vector<std::pair<NodeId, NodeId>> Graph::adjacency() const {
  std::vector<NodeId> producer(tensors.size(), -1);
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId consumer = 0; consumer < static_cast<NodeId>(nodes.size()); ++consumer) {
    for (const TensorId id : nodes[consumer].inputs) {
      if (id != kAbsent && producer[id] >= 0) edges.emplace_back(producer[id], consumer);
    }
    for (const TensorId id : nodes[consumer].outputs) {
      if (id != kAbsent) producer[id] = consumer;
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

void check(const Graph& graph) {
  const auto num_tensors = static_cast<TensorId>(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) {
    for (const std::int64_t size : tensor.shape) {
      if (size < 0)
        throw ShapeError(concat("tensor '", tensor.name, "' has a negative size: ", shape_text(tensor.shape)));
    }
  }
  std::vector<bool> ready(graph.tensors.size());
  for (TensorId id = 0; id < num_tensors; ++id) ready[id] = graph.tensors[id].kind != TensorKind::activation;
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= num_tensors) broken(node, concat("input id ", id, " is out of range"));
      if (!ready[id]) broken(node, concat("reads '", graph.tensors[id].name, "' before anything makes it"));
    }
    for (const TensorId id : node.outputs) {
      if (id == kAbsent) continue;
      if (id < 0 || id >= num_tensors) broken(node, concat("output id ", id, " is out of range"));
      if (ready[id]) broken(node, concat("makes '", graph.tensors[id].name, "', which exists already"));
      ready[id] = true;
    }
  }
  for (const TensorId id : graph.inputs) {
    if (id < 0 || id >= num_tensors) throw ShapeError(concat("the graph's input id ", id, " is out of range"));
  }
  for (const TensorId id : graph.outputs) {
    if (id < 0 || id >= num_tensors) throw ShapeError(concat("the graph's output id ", id, " is out of range"));
    if (!ready[id]) throw ShapeError(concat("nothing makes the graph's output '", graph.tensors[id].name, "'"));
  }
}

}  // namespace latpred
