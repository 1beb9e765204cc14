#include "generated.h"

#include <algorithm>
#include <utility>

#include "kind_sets.h"
#include "latpred/text.h"

namespace latpred {

double GeneratedReads::note(std::int64_t row, TensorId id, double bytes) {
  const auto index = static_cast<std::size_t>(row);
  if (index >= reads_.size()) reads_.resize(index + 1);
  if (is_read(row, id)) return bytes;
  reads_[index].push_back({id, bytes});
  return 0;
}

double GeneratedReads::merge(std::int64_t from, std::int64_t into) {
  reads_.resize(std::max(reads_.size(), static_cast<std::size_t>(std::max(from, into)) + 1));
  double both = 0;
  for (const Read& read : reads_[into]) {
    if (is_read(from, read.tensor)) both += read.bytes;
  }
  reads_[into].insert(reads_[into].end(), reads_[from].begin(), reads_[from].end());
  reads_[from].clear();
  return both;
}

bool GeneratedReads::is_read(std::int64_t row, TensorId id) const {
  for (; id != kAbsent; id = seen_through_[id]) {
    const auto is_of_id = [&](const Read& read) { return read.tensor == id; };
    if (std::any_of(reads_[row].begin(), reads_[row].end(), is_of_id)) return true;
  }
  return false;
}

void merge(Kernel& gone, Kernel& kept) {
  kept.name = concat(gone.name, "+", kept.name);
  kept.members.insert(kept.members.begin(), gone.members.begin(), gone.members.end());
  std::sort(kept.members.begin(), kept.members.end());
  kept.macs += gone.macs;
  kept.flops += gone.flops;
  kept.bytes_in += gone.bytes_in;
  kept.bytes_out += gone.bytes_out;
  kept.weight_bytes += gone.weight_bytes;
  gone.members.clear();
}

void note_concatenations(std::vector<Kernel>& rows, const std::vector<CostKind>& kinds) {
  const auto is_concatenation = [&](NodeId member) { return kinds[member] == CostKind::concat; };
  for (Kernel& row : rows) {
    row.concatenates = row.kind != CostKind::concat && std::ranges::any_of(row.members, is_concatenation);
  }
}

void drop(std::vector<Kernel>& rows, const std::vector<std::int64_t>& gone) {
  if (gone.empty()) return;
  std::vector<bool> is_gone(rows.size(), false);
  for (const std::int64_t row : gone) is_gone[row] = true;
  std::vector<Kernel> kept;
  kept.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!is_gone[row]) kept.push_back(std::move(rows[row]));
  }
  rows = std::move(kept);
}

}  // namespace latpred
