#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latpred/attributes.h"
#include "latpred/dtype.h"
#include "latpred/operator_id.h"

namespace latpred {

using Shape = std::vector<std::int64_t>;
inline constexpr std::int64_t kUnknownSize = -1;

// What a file declares of one dimension: a number, a symbol ("batch"), or neither.
struct Dimension {
  std::int64_t size = kUnknownSize;
  std::string symbol;
};

// The content of a small tensor, row-major, in `integers` (integers, booleans) or `reals` (floating point). Kept for
// shape arithmetic only: weights are never read.
struct Value {
  DType dtype = DType::undefined;
  Shape shape;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
};

// Values up to this many elements take part in shape arithmetic; longer ones are data.
inline constexpr std::int64_t kMaxFoldedElements = 4096;
// Real content that a size can depend on is shorter: scales, a range, a region, an epsilon. More is data, as weights
// that a file leaves out are, and not worth copying through every fold.
inline constexpr std::int64_t kMaxFoldedReals = 64;

using VariableId = std::int32_t;
inline constexpr VariableId kAbsent = -1;  // an optional input or output that is left out

// Something that a statement reads or writes, before sizes are known.
struct Variable {
  std::string name;
  DType dtype = DType::undefined;
  bool is_stored = false;  // its content stands in the file: a weight or a constant
  bool is_trained = true;  // of what is stored: false where the file says that it is a buffer
  bool has_shape = false;  // `dimensions` is what the file declares (an empty list then means a scalar)
  std::vector<Dimension> dimensions;
  bool is_sequence = false;            // a list of tensors; type and dimensions are then those of its elements
  std::shared_ptr<const Value> value;  // the content, for small stored tensors
};

struct Statement;

// A straight list of statements: the network itself, or the body of an If, a Loop or a Scan. Bodies see the variables
// of the blocks around them.
struct Block {
  std::vector<VariableId> inputs;
  std::vector<VariableId> outputs;
  std::vector<Statement> statements;  // in the file's order; a reader sorts them so that producers come first
};

struct Statement {
  OperatorId op = OperatorId::unknown;
  std::string source_operator;  // as the file names it: "Conv", "com.microsoft::Gelu"
  std::string name;
  std::vector<VariableId> inputs;  // kAbsent where an optional one is left out
  std::vector<VariableId> outputs;
  Attributes attributes;
  std::vector<Block> bodies;  // If: then, else; Loop, Scan: the body
};

// Where a program came from, for messages and checks.
struct SourceInfo {
  std::string path;
  std::string framework;                                // "onnx", "builder", ...
  std::string format;                                   // "ONNX IR 8, opset 17"
  std::string producer;                                 // "pytorch 2.1.0"
  std::map<std::string, std::int64_t> operator_counts;  // as stored in the main block, before anything is folded
  std::int64_t num_nodes = 0;                           // likewise
};

// What a file promises of a symbol in its dimensions.
struct SymbolRange {
  std::string symbol;
  std::optional<std::int64_t> least;
  std::optional<std::int64_t> most;
};

// What a model file says, before the batch and the input sizes are known: the value between a reader and the shape
// engine. `resolve` in shapes.h turns it into a Graph.
struct Program {
  std::vector<Variable> variables;
  Block main;
  SourceInfo source;
  // Whether the framework computes what follows from stored content alone once, when it loads the network. PyTorch does
  // it at every call.
  bool folds_stored = true;
  // PyTorch's filters lie with the channels innermost (torch.channels_last), and so do all images from the first one
  // on.
  bool channels_last = false;
  std::vector<SymbolRange> ranges;
  std::vector<std::string> warnings;
};

}  // namespace latpred
