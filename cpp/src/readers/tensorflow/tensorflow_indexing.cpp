#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_operators.h"

// What picks elements by their indices, and what finds indices.
namespace latpred::readers::tensorflow {
namespace {

// Elements of axis `axis`; with batch dimensions each has indices of its own.
void gather_along(Node& node, std::int64_t axis, std::int64_t batch_dims) {
  if (batch_dims == 0) {
    node.result(OperatorId::gather, {node.input(0), node.input(1)}, settings({{"axis", axis}}));
    return;
  }
  if (axis != batch_dims) {
    node.fail(concat("gathers along axis ", axis, " behind ", batch_dims, " batch dimensions, which is not read"));
  }
  const VariableId indices =
      node.part(OperatorId::unsqueeze, {node.input(1)}, settings({{"axes", std::vector<std::int64_t>{-1}}}));
  node.result(OperatorId::gather_nd, {node.input(0), indices}, settings({{"batch_dims", batch_dims}}));
}

void gather_v2(Node& node) { gather_along(node, node.integer_of(2, "axis"), node.integer("batch_dims")); }

void gather(Node& node) { gather_along(node, 0, 0); }

void resource_gather(Node& node) {
  const std::int64_t batch_dims = node.integer("batch_dims");
  gather_along(node, batch_dims, batch_dims);
}

void gather_nd(Node& node) { node.result(OperatorId::gather_nd, {node.input(0), node.input(1)}); }

// indices, updates, the shape of the result.
void scatter_nd(Node& node) {
  const VariableId zeros = node.part(OperatorId::expand, {node.scalar_constant(node.dtype("T"), 0), node.input(2)});
  node.result(OperatorId::scatter_nd, {zeros, node.input(0), node.input(1)});
}

void tensor_scatter(Node& node) { node.result(OperatorId::scatter_nd, {node.input(0), node.input(1), node.input(2)}); }

// indices, depth, value where hot, value elsewhere.
void one_hot(Node& node) {
  node.result(OperatorId::one_hot, {node.input(0), node.input(1), node.input(2)},
              settings({{"axis", node.integer("axis")}}));
}

// Positions of what is not zero, one row for each.
void where_true(Node& node) {
  const VariableId found = node.part(OperatorId::non_zero, {node.input(0)});
  node.result(OperatorId::transpose, {found}, settings({{"perm", std::vector<std::int64_t>{1, 0}}}));
}

// boxes [n, 4], scores [n], how many at most, thresholds.
void suppress(Node& node) {
  const auto first = settings({{"axes", std::vector<std::int64_t>{0}}});
  const VariableId boxes = node.part(OperatorId::unsqueeze, {node.input(0)}, first);
  const VariableId scores =
      node.part(OperatorId::unsqueeze, {node.input(1)}, settings({{"axes", std::vector<std::int64_t>{0, 1}}}));
  const VariableId most = node.part(OperatorId::reshape, {node.input(2), node.integers_constant({-1})});
  const VariableId chosen = node.part(OperatorId::non_max_suppression, {boxes, scores, most});
  const VariableId last = node.part(OperatorId::slice, {chosen},
                                    settings({{"starts", std::vector<std::int64_t>{2}},
                                              {"ends", std::vector<std::int64_t>{3}},
                                              {"axes", std::vector<std::int64_t>{1}}}));
  const VariableId indices = node.part(OperatorId::squeeze, {last}, settings({{"axes", std::vector<std::int64_t>{1}}}));
  std::vector<VariableId> results{indices};
  if (node.op() == "NonMaxSuppressionV5") results.push_back(node.part(OperatorId::gather, {node.input(1), indices}));
  if (node.op() == "NonMaxSuppressionV4" || node.op() == "NonMaxSuppressionV5") {
    results.push_back(node.part(OperatorId::size, {indices}));
  }
  node.set_results(std::move(results));
}

const std::vector<OperatorRow> kIndexing{
    {"Gather", OperatorId::gather, gather},
    {"GatherV2", OperatorId::gather, gather_v2},
    {"ResourceGather", OperatorId::gather, resource_gather},
    {"GatherNd", OperatorId::gather_nd, gather_nd},
    {"ResourceGatherNd", OperatorId::gather_nd, gather_nd},
    {"ScatterNd", OperatorId::scatter_nd, scatter_nd},
    {"TensorScatterUpdate", OperatorId::scatter_nd, tensor_scatter},
    {"TensorScatterAdd", OperatorId::scatter_nd, tensor_scatter},
    {"OneHot", OperatorId::one_hot, one_hot},
    {"Where", OperatorId::non_zero, where_true},
    {"NonMaxSuppression", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV2", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV3", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV4", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV5", OperatorId::non_max_suppression, suppress},
};

}  // namespace

const std::vector<OperatorRow>& index_rows() { return kIndexing; }

}  // namespace latpred::readers::tensorflow
