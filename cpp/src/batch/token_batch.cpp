#include "batch/token_batch.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace latpred {

TokenBatch collate(const TokenTable& table) {
  TokenBatch batch;
  batch.tokens = at::zeros({table.num_graphs, table.num_nodes, kNodeAttributes}, at::kDouble);
  batch.mask = at::zeros({table.num_graphs, table.num_nodes}, at::kBool);
  double* tokens = batch.tokens.mutable_data_ptr<double>();
  bool* mask = batch.mask.mutable_data_ptr<bool>();
  for (std::int64_t g = 0; g < table.num_graphs; ++g) {
    for (std::int64_t place = 0; place < table.length(g); ++place) {
      const std::int64_t row = g * table.num_nodes + place;
      std::ranges::copy(table.node(g, place), tokens + row * kNodeAttributes);
      mask[row] = true;
    }
  }
  if (!table.target_s.empty()) {
    batch.targets = at::empty({table.num_graphs}, at::kDouble);
    std::ranges::copy(table.target_s, batch.targets.mutable_data_ptr<double>());
  }
  return batch;
}

}  // namespace latpred
