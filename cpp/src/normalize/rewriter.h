#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// A graph while rules change it: who makes and who reads each tensor is known at every moment. Nodes keep their
// positions; dropped ones are empty until `finish`.
class Rewriter {
 public:
  explicit Rewriter(Graph graph);

  [[nodiscard]] NodeId num_nodes() const { return static_cast<NodeId>(graph_.nodes.size()); }
  [[nodiscard]] bool is_alive(NodeId id) const { return alive_[id] != 0; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.nodes[id]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  [[nodiscard]] const Graph& graph() const { return graph_; }

  // The node that makes `id`; nullptr for inputs and stored content, and where `op` is given and the maker is another.
  [[nodiscard]] const Node* maker(TensorId id) const;
  [[nodiscard]] const Node* maker(TensorId id, OperatorId op) const;
  [[nodiscard]] NodeId id_of(const Node& node) const { return static_cast<NodeId>(&node - graph_.nodes.data()); }
  // Every node once, in no order.
  [[nodiscard]] const std::vector<NodeId>& readers(TensorId id) const;
  [[nodiscard]] bool is_output(TensorId id) const { return is_output_[id] != 0; }
  // The node that alone reads `id`; nullptr where none or several do, or where it is an output of the graph.
  [[nodiscard]] const Node* only_reader(TensorId id) const;
  [[nodiscard]] bool is_inside(TensorId id) const { return only_reader(id) != nullptr; }

  // Fixed before the network runs.
  [[nodiscard]] bool is_stored(TensorId id) const;
  // One stored number, whatever its value.
  [[nodiscard]] bool is_scalar(TensorId id) const;
  [[nodiscard]] std::optional<double> number(TensorId id) const;
  [[nodiscard]] bool is_number(TensorId id, double value) const;  // to the precision of float16
  // The input of a node of two that is not `id`; kAbsent where `id` is none of them.
  [[nodiscard]] static TensorId other_input(const Node& node, TensorId id);

  // Where `of` is an output of the graph, `to` becomes that output and takes over its name. False, and nothing done,
  // where that cannot be: each output of a graph is an activation of its own.
  bool hand_output_over(TensorId of, TensorId to);
  // Readers of `of` read `instead`, which takes over its place as an output. False, and nothing done, where that
  // cannot be.
  bool forward(TensorId of, TensorId instead);
  // Readers of each tensor read `instead` of it: [tensors].
  void forward_all(const std::vector<TensorId>& instead);
  // Takes the node out; its outputs must have no readers any more, or get another maker.
  void drop(NodeId id);
  // `made` stands for `members` (which ends with the node whose outputs it makes): they are dropped, it takes the place
  // and the name of the last one.
  void replace(const std::vector<NodeId>& members, Node made);
  // The same node with other inputs or attributes.
  void set_inputs(NodeId id, std::vector<TensorId> inputs);
  Attributes& attributes(NodeId id);
  Tensor& mutable_tensor(TensorId id) { return graph_.tensors[id]; }
  // Costs are counted again: the tensor has changed.
  void touch_around(TensorId id);

  [[nodiscard]] Graph finish();

 private:
  void list_readers() const;
  void read(NodeId reader, const std::vector<TensorId>& inputs);
  void unread(NodeId reader, const std::vector<TensorId>& inputs);

  Graph graph_;
  std::vector<NodeId> maker_;                         // [tensors]
  mutable std::vector<std::vector<NodeId>> readers_;  // [tensors]; empty until asked for: most rules find nothing
  std::vector<char> is_output_;                       // [tensors]
  std::vector<char> alive_;                           // [nodes]
  std::vector<char> touched_;                         // [nodes]
  bool has_changed_ = false;
};

}  // namespace latpred
