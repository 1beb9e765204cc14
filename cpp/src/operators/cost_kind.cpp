#include <array>

#include "latpred/operators.h"

namespace latpred {
namespace {

constexpr std::array<std::string_view, kNumCostKinds> kNames{
    "view",       "conv",       "conv_1x1",  "conv_grouped", "conv_depthwise", "matmul", "batch_matmul", "attention",
    "batch_norm", "layer_norm", "group_norm", "softmax",     "unary",          "binary", "pool",         "reduce",
    "copy",       "cast",       "concat",    "index",        "resize",         "recurrent", "other"};

}  // namespace

std::string_view cost_kind_name(CostKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

}  // namespace latpred
