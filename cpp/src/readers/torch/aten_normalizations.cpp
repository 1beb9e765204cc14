#include <utility>

#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

// x, scale, bias, mean, variance. Where no statistics are stored, or in training, they are the batch's own.
void batch_norm(const AtenCall& call) {
  Statement statement =
      call.statement(OperatorId::batch_norm, {call.required("input"), call.tensor("weight"), call.tensor("bias"),
                                              call.tensor("running_mean"), call.tensor("running_var")});
  while (statement.inputs.back() == kAbsent) statement.inputs.pop_back();
  statement.attributes.set("epsilon", call.real(call.node().find("epsilon") != nullptr ? "epsilon" : "eps"));
  if (call.flag("training") || !call.has("running_mean")) statement.attributes.set("training_mode", std::int64_t{1});
  call.append(std::move(statement));
}

void layer_norm(const AtenCall& call) {
  const bool gives_statistics = call.row().name == "native_layer_norm";
  Statement statement = call.statement(call.row().op, {call.required("input")}, call.outputs(gives_statistics ? 3 : 1));
  for (const char* name : {"weight", "bias"}) {
    if (call.has(name)) {
      statement.inputs.resize(name[0] == 'w' ? 1 : 2, kAbsent);
      statement.inputs.push_back(call.tensor(name));
    }
  }
  statement.attributes.set("axis", -static_cast<std::int64_t>(call.list("normalized_shape").size()));
  if (call.has("eps")) statement.attributes.set("epsilon", call.real("eps"));
  call.append(std::move(statement));
}

void channel_norm(const AtenCall& call) {
  Statement statement = call.statement(call.row().op, {call.required("input")});
  for (const char* name : {"weight", "bias"}) {
    if (call.has(name)) {
      statement.inputs.resize(name[0] == 'w' ? 1 : 2, kAbsent);
      statement.inputs.push_back(call.tensor(name));
    }
  }
  if (call.row().op == OperatorId::group_norm) {
    statement.attributes.set("num_groups", call.integer(call.row().name == "group_norm" ? "num_groups" : "group"));
  }
  statement.attributes.set("epsilon", call.real("eps"));
  call.append(std::move(statement));
}

// g * v / |v|, the norm taken over all dimensions but `dim`.
void weight_norm(const AtenCall& call) {
  Statement statement = call.statement(OperatorId::lp_norm, {call.required("v"), call.required("g")});
  statement.attributes.set("axis", call.integer("dim"));
  call.append(std::move(statement));
}

void softmax(const AtenCall& call) {
  const VariableId x = call.required("self");
  Statement statement = call.statement(call.row().op, {x});
  statement.attributes.set("axis", static_cast<std::int64_t>(call.axis("dim", call.rank(x))));
  call.append(std::move(statement));
}

using Op = OperatorId;

constexpr AtenRow kNormalizations[] = {
    {"batch_norm", Op::batch_norm, batch_norm},
    {"native_batch_norm", Op::batch_norm, batch_norm},
    {"cudnn_batch_norm", Op::batch_norm, batch_norm},
    {"_native_batch_norm_legit", Op::batch_norm, batch_norm},
    {"_native_batch_norm_legit_no_training", Op::batch_norm, batch_norm},
    {"layer_norm", Op::layer_norm, layer_norm},
    {"native_layer_norm", Op::layer_norm, layer_norm},
    {"rms_norm", Op::rms_norm, layer_norm},
    {"_fused_rms_norm", Op::rms_norm, layer_norm},
    {"group_norm", Op::group_norm, channel_norm},
    {"native_group_norm", Op::group_norm, channel_norm},
    {"instance_norm", Op::instance_norm, channel_norm},
    {"_weight_norm", Op::lp_norm, weight_norm},
    {"_weight_norm_interface", Op::lp_norm, weight_norm},
    {"softmax", Op::softmax, softmax},
    {"_softmax", Op::softmax, softmax},
    {"special_softmax", Op::softmax, softmax},
    {"_safe_softmax", Op::softmax, softmax},
    {"log_softmax", Op::log_softmax, softmax},
    {"_log_softmax", Op::log_softmax, softmax},
    {"special_log_softmax", Op::log_softmax, softmax},
};

}  // namespace

std::span<const AtenRow> aten_normalizations() { return kNormalizations; }

}  // namespace latpred::readers
