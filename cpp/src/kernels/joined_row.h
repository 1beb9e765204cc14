#pragma once

#include "kernel_rows.h"
#include "latpred/graph.h"
#include "outside_readers.h"
#include "prepared_graph.h"

namespace latpred {

// The row that the node at `position` is fused into; kNoRow where it starts a row of its own. The row may be moved to
// the end of `rows` for it, and absorbs the others that only this node reads.
[[nodiscard]] RowId joined_row(const PreparedGraph& prepared, const OutsideReaders& outside, NodeId position,
                               KernelRows& rows);

}  // namespace latpred
