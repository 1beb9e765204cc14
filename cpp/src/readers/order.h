#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "latpred/program.h"
#include "readers/source.h"

namespace latpred::readers {

// Who reads whose results: node i reads from producers[first[i]] to producers[first[i + 1]]; -1 is nobody's.
struct Reads {
  std::vector<std::size_t> first;
  std::vector<std::int32_t> producers;

  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
};

struct Order {
  std::vector<std::size_t> nodes;  // producers before their readers; the given order where that holds already
  // Where there is a cycle: the node that closes it, and which of its reads does.
  std::optional<std::pair<std::size_t, std::size_t>> cycle;
};

// Every node that `roots` need, them included.
[[nodiscard]] Order order_of(const Reads& reads, const std::vector<std::size_t>& roots);
// Every node.
[[nodiscard]] Order order_of(const Reads& reads);

// A variable that the bodies of a statement read from the blocks around them.
struct Capture {
  std::size_t statement;
  VariableId variable;
};

// Which statement of which block makes each variable; shared by all blocks of a program, so that a small body does not
// pay for the size of the network around it.
struct Producers {
  std::vector<std::pair<std::int32_t, std::int32_t>> block_and_statement;  // by VariableId; block -1: none
  std::int32_t num_blocks = 0;
};

// Puts producers before their consumers, keeping the file's order where that holds already. A cycle is refused with
// one of its edges.
void sort_statements(const Source& source, const std::vector<Variable>& variables, const std::vector<Capture>& captures,
                     Producers& producers, Block& block);

}  // namespace latpred::readers
