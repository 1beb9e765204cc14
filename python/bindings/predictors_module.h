#pragma once

#include <pybind11/pybind11.h>

namespace latpred {

void bind_graph_trainer(pybind11::module_& module);
void bind_kernel_residual(pybind11::module_& module);
void bind_net_regressors(pybind11::module_& module);
void bind_transformer(pybind11::module_& module);
void bind_plain_net(pybind11::module_& module);

}  // namespace latpred
