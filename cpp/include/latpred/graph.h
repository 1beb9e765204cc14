#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/attributes.h"
#include "latpred/dtype.h"
#include "latpred/operator_id.h"
#include "latpred/program.h"

namespace latpred {

using TensorId = std::int32_t;
using NodeId = std::int32_t;

enum class TensorKind : std::uint8_t {
  activation,  // made by a node
  input,       // given by the caller
  parameter,   // trained, stored in the file
  statistic,   // stored, not trained: running mean or variance of a batch norm, buffers
  constant,    // small stored numbers that are no weight (axes, shapes, scales)
};

struct Tensor {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  TensorKind kind = TensorKind::activation;
  std::shared_ptr<const Value> value;  // the content of small constants, where it is known

  [[nodiscard]] std::int64_t num_elements() const;
  [[nodiscard]] std::int64_t size_bytes() const;
  [[nodiscard]] bool is_weight() const { return kind == TensorKind::parameter || kind == TensorKind::statistic; }
};

// What one execution of an operator costs; counted, not measured.
struct Cost {
  double macs = 0;             // multiply-accumulates of convolutions, matrix products, attention and recurrent layers
  double flops = 0;            // 2 x macs + element-wise operations
  std::int64_t bytes_in = 0;   // activations read
  std::int64_t bytes_out = 0;  // activations written
  std::int64_t weight_bytes = 0;

  Cost& operator+=(const Cost& other);
};

struct Node {
  std::string name;
  OperatorId op = OperatorId::unknown;
  std::string source_operator;   // as the file names it
  std::vector<TensorId> inputs;  // kAbsent where an optional one is left out
  std::vector<TensorId> outputs;
  Attributes attributes;
  std::int64_t repeat = 1;  // how often a loop runs it; `cost` is of one execution
  Cost cost;
};

// As the position of an input's batch: it has none, as a mask over steps.
inline constexpr std::int64_t kNoBatch = -1;

// One input of the network as the caller gives it: sizes without the batch.
struct InputSize {
  Shape sizes;
  std::optional<DType> dtype;                  // what the caller says it is; checked against the file
  std::optional<std::int64_t> batch_position;  // among all sizes, where the caller says it; else as the file has it
};

// As a batch: the one that the file was saved with (1 where it has a symbol).
inline constexpr std::int64_t kSavedBatch = 0;

// What the caller asks the sizes to be.
struct InputRequest {
  std::int64_t batch = 1;
  std::optional<InputSize> only;             // input="3,224,224"
  std::map<std::string, InputSize> by_name;  // input={"ids": "128:int64"}
};

// The user's network with every shape a number, in execution order. What is known before it runs (shape arithmetic,
// folded constants, the branch not taken) is gone; `program` and `request` say what it was made from.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // a producer stands before its consumers
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::int64_t batch = 1;
  std::vector<std::string> warnings;
  std::shared_ptr<const Program> program;  // for another batch or memory format; graphs of a sweep share it
  InputRequest request;

  // Sums over the nodes, each counted `repeat` times (weights once).
  [[nodiscard]] double macs() const;
  [[nodiscard]] double flops() const;
  // Elements and bytes of the weights that some node reads, each tensor once.
  [[nodiscard]] std::int64_t num_parameters() const;
  [[nodiscard]] std::int64_t num_statistics() const;
  [[nodiscard]] std::int64_t weight_bytes() const;

  // Whether PyTorch runs it with the channels of images innermost.
  [[nodiscard]] bool channels_last() const { return program && program->channels_last; }

  // Structure, operators, attributes, shapes (batch included) and channels_last(); names and weights excluded. 64 bits,
  // FNV-1a.
  [[nodiscard]] std::uint64_t hash() const;
  // Producer and consumer of every data edge, sorted, each pair once: [E, 2].
  [[nodiscard]] std::vector<std::pair<NodeId, NodeId>> adjacency() const;
};

// The same network with the channels of its images innermost, as `model.to(memory_format=torch.channels_last)` makes
// its filters and the caller its images. Throws InvalidArgumentError for a graph without a program.
[[nodiscard]] Graph with_channels_last(Graph graph);

// Whether an operator, as a file names it, has PyTorch's mark of one that writes into its first input:
// "aten.relu_.default", "aten::relu_".
[[nodiscard]] bool is_in_place(std::string_view source_operator);

// Throws ShapeError naming the first place where `graph` breaks its own rules: ids in range, producers first, one
// producer for each tensor, no negative size.
void check(const Graph& graph);

}  // namespace latpred
