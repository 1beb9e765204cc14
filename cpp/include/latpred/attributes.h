#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace latpred {

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                    std::vector<std::string>>;

// The few named settings of one operator, under ONNX's attribute names whatever the file's format was. Nodes have
// five or so: a flat list beats a map.
class Attributes {
 public:
  void set(std::string name, AttributeValue value);
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] const AttributeValue* find(std::string_view name) const;

  // The value, or `fallback` when absent; throws ShapeError when it is there with another type.
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] double real(std::string_view name, double fallback) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name,
                                                   const std::vector<std::int64_t>& fallback = {}) const;
  [[nodiscard]] std::vector<double> reals(std::string_view name, const std::vector<double>& fallback = {}) const;

  [[nodiscard]] const std::vector<std::pair<std::string, AttributeValue>>& items() const { return items_; }

 private:
  std::vector<std::pair<std::string, AttributeValue>> items_;
};

}  // namespace latpred
