#include "readers/order.h"

#include <algorithm>
#include <numeric>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

// Depth first without recursion: a chain may be as long as the network.
class Walk {
 public:
  explicit Walk(const Reads& reads) : reads_(reads), state_(reads.size(), State::untouched) {}

  // False at a cycle.
  bool visit(std::size_t start) {
    if (state_[start] != State::untouched) return true;
    open(start);
    while (!path_.empty()) {
      auto& [node, next] = path_.back();
      if (next == reads_.first[node + 1]) {
        state_[node] = State::done;
        order_.nodes.push_back(node);
        path_.pop_back();
        continue;
      }
      const std::size_t read = next++;
      const std::int32_t producer = reads_.producers[read];
      if (producer < 0) continue;
      const auto index = static_cast<std::size_t>(producer);
      if (state_[index] == State::done) continue;
      if (state_[index] == State::open) {
        order_.cycle = {node, read - reads_.first[node]};
        return false;
      }
      open(index);
    }
    return true;
  }

  [[nodiscard]] Order finish() { return std::move(order_); }

 private:
  enum class State : std::uint8_t { untouched, open, done };

  void open(std::size_t node) {
    state_[node] = State::open;
    path_.emplace_back(node, reads_.first[node]);
  }

  const Reads& reads_;
  std::vector<State> state_;
  std::vector<std::pair<std::size_t, std::size_t>> path_;  // node, its next read
  Order order_;
};

Reads reads_of(const std::vector<Capture>& captures, const Producers& producers, std::int32_t block_id,
               const Block& block) {
  // The statement of this block that makes `variable`, or -1.
  const auto maker = [&](VariableId variable) {
    if (variable == kAbsent) return -1;
    const auto& [found, statement] = producers.block_and_statement[static_cast<std::size_t>(variable)];
    return found == block_id ? statement : -1;
  };
  const std::size_t count = block.statements.size();
  Reads reads;
  reads.first.assign(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) reads.first[i + 1] = block.statements[i].inputs.size();
  for (const Capture& capture : captures) ++reads.first[capture.statement + 1];
  std::partial_sum(reads.first.begin(), reads.first.end(), reads.first.begin());
  reads.producers.resize(reads.first.back());
  std::vector<std::size_t> next(reads.first.begin(), reads.first.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    for (const VariableId input : block.statements[i].inputs) reads.producers[next[i]++] = maker(input);
  }
  for (const Capture& capture : captures) reads.producers[next[capture.statement]++] = maker(capture.variable);
  return reads;
}

bool is_sorted(const Reads& reads) {
  for (std::size_t i = 0; i < reads.size(); ++i) {
    for (std::size_t k = reads.first[i]; k < reads.first[i + 1]; ++k) {
      if (reads.producers[k] >= static_cast<std::int32_t>(i)) return false;
    }
  }
  return true;
}

}  // namespace

Order order_of(const Reads& reads, const std::vector<std::size_t>& roots) {
  Walk walk(reads);
  for (const std::size_t root : roots) {
    if (!walk.visit(root)) break;
  }
  return walk.finish();
}

Order order_of(const Reads& reads) {
  std::vector<std::size_t> all(reads.size());
  std::iota(all.begin(), all.end(), 0);
  return order_of(reads, all);
}

void sort_statements(const Source& source, const std::vector<Variable>& variables, const std::vector<Capture>& captures,
                     Producers& producers, Block& block) {
  const std::int32_t block_id = producers.num_blocks++;
  producers.block_and_statement.resize(variables.size(), {-1, -1});
  for (std::size_t i = 0; i < block.statements.size(); ++i) {
    for (const VariableId output : block.statements[i].outputs) {
      if (output == kAbsent) continue;
      producers.block_and_statement[static_cast<std::size_t>(output)] = {block_id, static_cast<std::int32_t>(i)};
    }
  }
  const Reads reads = reads_of(captures, producers, block_id, block);
  if (is_sorted(reads)) return;
  const Order order = order_of(reads);
  if (order.cycle) {
    const auto [reader, read] = *order.cycle;
    const Statement& statement = block.statements[reader];
    const std::int32_t producer = reads.producers[reads.first[reader] + read];
    const Statement& maker = block.statements[static_cast<std::size_t>(producer)];
    // Of what a body captures only the producer is known by now.
    const VariableId variable = read < statement.inputs.size() ? statement.inputs[read] : maker.outputs.front();
    source.fail(concat("the graph has a cycle: node '", statement.name, "' reads '",
                       variables[static_cast<std::size_t>(variable)].name, "', which node '", maker.name,
                       "' makes from its result"));
  }
  std::vector<Statement> sorted;
  sorted.reserve(block.statements.size());
  for (const std::size_t index : order.nodes) sorted.push_back(std::move(block.statements[index]));
  block.statements = std::move(sorted);
}

}  // namespace latpred::readers
