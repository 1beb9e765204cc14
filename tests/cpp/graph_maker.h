#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/text.h"

namespace latpred::testing {

// Makes a resolved Graph node by node, for tests of the layers that start at one.
class GraphMaker {
 public:
  using Settings = std::vector<std::pair<std::string, AttributeValue>>;

  TensorId input(Shape shape, DType dtype = DType::float32) {
    const TensorId id = tensor(std::move(shape), dtype, TensorKind::input);
    graph_.inputs.push_back(id);
    return id;
  }
  TensorId weight(Shape shape, DType dtype = DType::float32) {
    return tensor(std::move(shape), dtype, TensorKind::parameter);
  }
  // One stored number, known as those of a file are.
  TensorId number(double value, Shape shape = {}) {
    const TensorId id = tensor(std::move(shape), DType::float32, TensorKind::constant);
    graph_.tensors[id].value =
        std::make_shared<Value>(Value{.dtype = DType::float32, .shape = graph_.tensors[id].shape, .reals = {value}});
    return id;
  }
  TensorId integers(std::vector<std::int64_t> values) {
    const TensorId id = constant({static_cast<std::int64_t>(values.size())});
    graph_.tensors[id].value = std::make_shared<Value>(
        Value{.dtype = DType::int64, .shape = graph_.tensors[id].shape, .integers = std::move(values)});
    return id;
  }
  [[nodiscard]] std::string name_of(TensorId id) const { return graph_.tensors[id].name; }
  TensorId constant(Shape shape) { return tensor(std::move(shape), DType::int64, TensorKind::constant); }

  TensorId node(OperatorId op, std::vector<TensorId> inputs, Shape shape, const Settings& settings = {},
                DType dtype = DType::float32) {
    return nodes(op, std::move(inputs), {std::move(shape)}, settings, dtype).front();
  }
  std::vector<TensorId> nodes(OperatorId op, std::vector<TensorId> inputs, const std::vector<Shape>& shapes,
                              const Settings& settings = {}, DType dtype = DType::float32) {
    Node made{.name = concat(operator_row(op).name, "_", graph_.nodes.size()), .op = op, .inputs = std::move(inputs)};
    for (const Shape& shape : shapes) made.outputs.push_back(tensor(shape, dtype, TensorKind::activation));
    for (const auto& [name, value] : settings) made.attributes.set(name, value);
    graph_.nodes.push_back(std::move(made));
    Node& node = graph_.nodes.back();
    node.cost = cost_of(graph_, node);
    return node.outputs;
  }
  void repeat_last(std::int64_t count) { graph_.nodes.back().repeat = count; }

  Graph build(std::vector<TensorId> outputs) {
    graph_.outputs = std::move(outputs);
    check(graph_);
    return graph_;
  }

 private:
  TensorId tensor(Shape shape, DType dtype, TensorKind kind) {
    graph_.tensors.push_back({concat("t", graph_.tensors.size()), dtype, std::move(shape), kind});
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }

  Graph graph_;
};

}  // namespace latpred::testing
