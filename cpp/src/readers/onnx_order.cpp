#include "readers/onnx_order.h"

#include <algorithm>
#include <cstdint>

#include "latpred/text.h"

namespace latpred::readers {
namespace {

class Sorter {
 public:
  Sorter(const Source& source, const std::vector<Variable>& variables, const std::vector<Capture>& captures,
         const Producers& producers, std::int32_t block_id, Block& block)
      : source_(source),
        variables_(variables),
        captures_(captures),
        producers_(producers),
        block_id_(block_id),
        block_(block),
        first_capture_(block.statements.size() + 1, 0) {
    for (const Capture& capture : captures_) ++first_capture_[capture.statement + 1];
    for (std::size_t i = 1; i < first_capture_.size(); ++i) first_capture_[i] += first_capture_[i - 1];
  }

  void sort() {
    if (is_sorted()) return;
    const std::size_t count = block_.statements.size();
    state_.assign(count, State::untouched);
    order_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) visit(i);
    std::vector<Statement> sorted;
    sorted.reserve(count);
    for (const std::size_t index : order_) sorted.push_back(std::move(block_.statements[index]));
    block_.statements = std::move(sorted);
  }

 private:
  enum class State : std::uint8_t { untouched, open, done };

  // What statement `index` reads, by number; kAbsent past the end is never asked for.
  [[nodiscard]] std::size_t num_reads(std::size_t index) const {
    return block_.statements[index].inputs.size() + first_capture_[index + 1] - first_capture_[index];
  }
  [[nodiscard]] VariableId read(std::size_t index, std::size_t number) const {
    const std::vector<VariableId>& inputs = block_.statements[index].inputs;
    return number < inputs.size() ? inputs[number] : captures_[first_capture_[index] + number - inputs.size()].variable;
  }
  // The statement of this block that makes `variable`, or -1.
  [[nodiscard]] std::int32_t maker(VariableId variable) const {
    if (variable == kAbsent) return -1;
    const auto& [block, statement] = producers_.block_and_statement[static_cast<std::size_t>(variable)];
    return block == block_id_ ? statement : -1;
  }

  [[nodiscard]] bool is_sorted() const {
    for (std::size_t i = 0; i < block_.statements.size(); ++i) {
      for (std::size_t k = 0; k < num_reads(i); ++k) {
        if (maker(read(i, k)) >= static_cast<std::int32_t>(i)) return false;
      }
    }
    return true;
  }

  // Depth first without recursion: a chain may be as long as the network.
  void visit(std::size_t start) {
    if (state_[start] != State::untouched) return;
    std::vector<std::pair<std::size_t, std::size_t>> path{{start, 0}};
    state_[start] = State::open;
    while (!path.empty()) {
      auto& [index, next_read] = path.back();
      if (next_read == num_reads(index)) {
        state_[index] = State::done;
        order_.push_back(index);
        path.pop_back();
        continue;
      }
      const VariableId variable = read(index, next_read++);
      const std::int32_t producer = maker(variable);
      if (producer < 0 || state_[static_cast<std::size_t>(producer)] == State::done) continue;
      if (state_[static_cast<std::size_t>(producer)] == State::open) fail_on_cycle(index, variable, producer);
      state_[static_cast<std::size_t>(producer)] = State::open;
      path.emplace_back(static_cast<std::size_t>(producer), 0);
    }
  }

  [[noreturn]] void fail_on_cycle(std::size_t reader, VariableId variable, std::int32_t producer) const {
    source_.fail(concat("the graph has a cycle: node '", block_.statements[reader].name, "' reads '",
                        variables_[static_cast<std::size_t>(variable)].name, "', which node '",
                        block_.statements[static_cast<std::size_t>(producer)].name, "' makes from its result"));
  }

  const Source& source_;
  const std::vector<Variable>& variables_;
  const std::vector<Capture>& captures_;
  const Producers& producers_;
  const std::int32_t block_id_;
  Block& block_;
  std::vector<std::size_t> first_capture_;  // of each statement, in captures_
  std::vector<State> state_;
  std::vector<std::size_t> order_;
};

}  // namespace

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
  Sorter(source, variables, captures, producers, block_id, block).sort();
}

}  // namespace latpred::readers
