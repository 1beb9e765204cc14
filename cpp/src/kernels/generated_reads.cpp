#include "generated_reads.h"

#include <algorithm>

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

}  // namespace latpred
