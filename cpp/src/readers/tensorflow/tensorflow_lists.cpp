#include "readers/tensorflow/tensorflow_operators.h"

// Lists of tensors, which loops fill and read turn by turn.
namespace latpred::readers::tensorflow {
namespace {

void list_reserve(Node& node) { node.alias(node.lowering().make_list(node, {})); }

void list_from_tensor(Node& node) { node.alias(node.lowering().make_list(node, {.stacked = node.input(0)})); }

TensorList& list_of(const Node& node) {
  TensorList* const found = node.lowering().list(node.input(0));
  if (found == nullptr) node.fail("takes a list of tensors that is made by no operator known here");
  return *found;
}

VariableId filled(const Node& node) {
  const TensorList& list = list_of(node);
  if (list.stacked == kAbsent) node.fail("reads a list of tensors before anything is put into it");
  return list.stacked;
}

void list_get(Node& node) {
  node.result(OperatorId::gather, {filled(node), node.input(1)}, settings({{"axis", std::int64_t{0}}}));
}

void list_set(Node& node) {
  (void)list_of(node);
  node.alias(node.lowering().make_list(node, {.item = node.input(2), .position = node.input(1)}));
}

void list_push(Node& node) {
  (void)list_of(node);
  node.alias(node.lowering().make_list(node, {.item = node.input(1)}));
}

void list_stack(Node& node) { node.alias(filled(node)); }

void list_concat(Node& node) {
  node.fail("joins a list of tensors of different sizes, which is not read; stack tensors of one size");
}

void list_length(Node& node) {
  const VariableId sizes = node.part(OperatorId::shape, {filled(node)}, settings({{"end", std::int64_t{1}}}));
  node.result(OperatorId::squeeze, {sizes}, settings({{"axes", std::vector<std::int64_t>{0}}}));
}

const std::vector<OperatorRow> kLists{
    {"TensorListReserve", OperatorId::sequence_empty, list_reserve},
    {"EmptyTensorList", OperatorId::sequence_empty, list_reserve},
    {"TensorListFromTensor", OperatorId::sequence_construct, list_from_tensor},
    {"TensorListGetItem", OperatorId::sequence_at, list_get},
    {"TensorListSetItem", OperatorId::sequence_insert, list_set},
    {"TensorListPushBack", OperatorId::sequence_insert, list_push},
    {"TensorListStack", OperatorId::concat_from_sequence, list_stack},
    {"TensorListConcatV2", OperatorId::concat_from_sequence, list_concat},
    {"TensorListLength", OperatorId::sequence_length, list_length},
};

}  // namespace

const std::vector<OperatorRow>& list_rows() { return kLists; }

}  // namespace latpred::readers::tensorflow
