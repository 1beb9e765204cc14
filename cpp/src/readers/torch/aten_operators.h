#pragma once

#include <span>
#include <string_view>

#include "readers/torch/aten_call.h"

namespace latpred::readers {

// One operator of PyTorch: what it is here and how its arguments become inputs and attributes.
struct AtenRow {
  // "conv2d": every overload of it; "conv2d.padding": this one, before the other. Outside of the namespace aten with
  // its namespace: "transformers::grouped_mm_fallback". An in-place `relu_` is found under `relu`.
  std::string_view name;
  OperatorId op;
  void (*lower)(const AtenCall&);
  bool is_view = false;  // its results may share the memory of its first argument
};

// The rows of one family each; aten_operators.cpp lists them.
[[nodiscard]] std::span<const AtenRow> aten_elementwise();
[[nodiscard]] std::span<const AtenRow> aten_windows();
[[nodiscard]] std::span<const AtenRow> aten_products();
[[nodiscard]] std::span<const AtenRow> aten_normalizations();
[[nodiscard]] std::span<const AtenRow> aten_reductions();
[[nodiscard]] std::span<const AtenRow> aten_views();
[[nodiscard]] std::span<const AtenRow> aten_slices();
[[nodiscard]] std::span<const AtenRow> aten_copies();
[[nodiscard]] std::span<const AtenRow> aten_indexing();
[[nodiscard]] std::span<const AtenRow> aten_creations();
[[nodiscard]] std::span<const AtenRow> aten_images();
[[nodiscard]] std::span<const AtenRow> aten_recurrences();

// The row of a target ("aten.conv2d.default"); nullptr where there is none.
[[nodiscard]] const AtenRow* aten_row(std::string_view target);
// Targets that check or note something and compute nothing.
[[nodiscard]] bool is_aten_check(std::string_view target);

}  // namespace latpred::readers
