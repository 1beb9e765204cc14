#include "readers/torch/aten_operators.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace latpred::readers {
namespace {

using Family = std::span<const AtenRow> (*)();

// A new family: its file, its line in aten_operators.h, its line here.
constexpr Family kFamilies[] = {aten_elementwise, aten_windows,   aten_products, aten_normalizations,
                                aten_reductions,  aten_views,     aten_slices,   aten_copies,
                                aten_indexing,    aten_creations, aten_images,   aten_recurrences};

// What export puts between the operators to check sizes and types, and notes for profilers.
constexpr std::string_view kChecks[] = {
    "_assert_async",
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_check_is_size",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "_functional_assert_async",
    "_functional_assert_scalar",
    "_print",
};

// "aten.relu_.default" -> "relu_", "relu_.default"; another namespace stays: "transformers::grouped_mm_fallback".
struct Name {
  std::string base;
  std::string overload;  // with the base
};

Name name_of(std::string_view target) {
  const std::size_t first = target.find('.');
  if (first == std::string_view::npos) return {std::string(target), std::string(target)};
  const std::string_view space = target.substr(0, first);
  const std::string_view rest = target.substr(first + 1);
  const std::string prefix = space == "aten" ? "" : std::string(space) + "::";
  return {prefix + std::string(rest.substr(0, rest.find('.'))), prefix + std::string(rest)};
}

bool ends_in_place(std::string_view base) { return base.size() > 1 && base.ends_with('_') && !base.ends_with("__"); }

const std::unordered_map<std::string_view, const AtenRow*>& rows() {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string_view, const AtenRow*>;
    for (const Family family : kFamilies) {
      for (const AtenRow& row : family()) map->emplace(row.name, &row);
    }
    return map;
  }();
  return *by_name;
}

}  // namespace

const AtenRow* aten_row(std::string_view target) {
  Name name = name_of(target);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const std::string& key : {name.overload, name.base}) {
      const auto found = rows().find(key);
      if (found != rows().end()) return found->second;
    }
    if (!ends_in_place(name.base)) return nullptr;
    const std::size_t mark = name.base.size() - 1;
    name.overload.erase(mark, 1);
    name.base.pop_back();
  }
  return nullptr;
}

bool is_aten_check(std::string_view target) {
  const std::string base = name_of(target).base;
  return std::find(std::begin(kChecks), std::end(kChecks), base) != std::end(kChecks);
}

}  // namespace latpred::readers
