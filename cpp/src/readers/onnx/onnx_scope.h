#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/program.h"
#include "readers/name_table.h"
#include "readers/onnx/onnx_messages.h"

namespace latpred::readers {

struct Scope;

// A function's attribute as a call gives it: the message, and where the names in it (a graph's) are looked up.
struct BoundAttribute {
  std::string_view name;
  Message message;
  Scope* scope;
};

// The names that a graph, a body or an inlined function defines.
struct Scope {
  Scope* parent = nullptr;  // the graph around a body; none around a function
  NameTable names;
  std::vector<VariableId> captures;  // what was looked up here and found further out
  const OpsetVersions* versions = nullptr;
  const std::vector<BoundAttribute>* attributes = nullptr;  // of the function that this stands in
  std::string prefix;                                       // of the names in an inlined function
  std::int64_t depth = 0;

  // The variable called `name` here or further out, nullptr where nothing is. A function's input that its caller leaves
  // out is there and kAbsent.
  [[nodiscard]] const VariableId* find(std::string_view name) {
    for (Scope* scope = this; scope != nullptr; scope = scope->parent) {
      const VariableId* const found = scope->names.find(name);
      if (found == nullptr) continue;
      for (Scope* between = this; between != scope; between = between->parent) between->captures.push_back(*found);
      return found;
    }
    return nullptr;
  }
};

}  // namespace latpred::readers
