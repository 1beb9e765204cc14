#include "operators/recurrent_sizes.h"

#include <string>

#include "latpred/error.h"
#include "latpred/text.h"
#include "operators/products.h"

namespace latpred {
namespace {

const Shape& present(const std::vector<const Shape*>& inputs, std::size_t index, const char* what) {
  if (index >= inputs.size() || inputs[index] == nullptr) {
    throw ShapeError(concat("input ", index, " (", what, ") is missing"));
  }
  return *inputs[index];
}

const Shape& three_dimensional(const std::vector<const Shape*>& inputs, std::size_t index, const char* what) {
  const Shape& shape = present(inputs, index, what);
  if (shape.size() != 3) {
    throw ShapeError(concat("input ", index, " (", what, ") ", shape_text(shape), " must have 3 dimensions"));
  }
  return shape;
}

// torch keeps the weights of each direction in a tensor of its own: those of the first stand here.
Shape weights(const std::vector<const Shape*>& inputs, std::size_t index, const char* what, std::int64_t directions) {
  Shape shape = present(inputs, index, what);
  if (shape.size() != 2) return three_dimensional(inputs, index, what);
  shape.insert(shape.begin(), directions);
  return shape;
}

}  // namespace

RecurrentSizes recurrent_sizes(OperatorId op, const Attributes& attributes, const std::vector<const Shape*>& inputs) {
  const Shape& x = three_dimensional(inputs, 0, "X");
  RecurrentSizes sizes;
  sizes.directions = attributes.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const Shape r = weights(inputs, 2, "R", sizes.directions);
  sizes.batch_first = attributes.integer("layout", 0) == 1;
  sizes.length = x[sizes.batch_first ? 1 : 0];
  sizes.batch = x[sizes.batch_first ? 0 : 1];
  sizes.gates = op == OperatorId::lstm ? 4 : op == OperatorId::gru ? 3 : 1;
  sizes.hidden = attributes.integer("hidden_size", r[2]);
  const bool is_projected = attributes.integer("projected", 0) != 0;
  sizes.input = is_projected ? 0 : x[2];
  for (const std::int64_t size : {sizes.length, sizes.batch, sizes.input, sizes.hidden}) {
    if (size < 0 || size > kMaxSize) throw ShapeError(concat("a size of ", size, " is out of range"));
  }
  const std::int64_t rows = sizes.gates * sizes.hidden;
  const Shape expected_r{sizes.directions, rows, sizes.hidden};
  if (is_projected) {
    if (sizes.directions != 1 || x[2] != rows) {
      throw ShapeError(concat("X is ", shape_text(x), ", expected ", rows, " numbers for its gates in each step"));
    }
  } else {
    const Shape w = weights(inputs, 1, "W", sizes.directions);
    const Shape expected_w{sizes.directions, rows, sizes.input};
    if (w != expected_w) throw ShapeError(concat("W is ", shape_text(w), ", expected ", shape_text(expected_w)));
  }
  if (r != expected_r) throw ShapeError(concat("R is ", shape_text(r), ", expected ", shape_text(expected_r)));
  return sizes;
}

}  // namespace latpred
