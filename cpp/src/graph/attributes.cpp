#include "latpred/attributes.h"

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

template <typename T>
const T* typed(const Attributes& attributes, std::string_view name, const char* expected) {
  const AttributeValue* value = attributes.find(name);
  if (value == nullptr) return nullptr;
  const T* result = std::get_if<T>(value);
  if (result == nullptr) throw ShapeError(concat("attribute '", name, "' is not ", expected));
  return result;
}

}  // namespace

void Attributes::set(std::string name, AttributeValue value) {
  for (auto& [existing, stored] : items_) {
    if (existing == name) {
      stored = std::move(value);
      return;
    }
  }
  items_.emplace_back(std::move(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const auto& [existing, value] : items_) {
    if (existing == name) return &value;
  }
  return nullptr;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t fallback) const {
  const auto* value = typed<std::int64_t>(*this, name, "an integer");
  return value != nullptr ? *value : fallback;
}

double Attributes::real(std::string_view name, double fallback) const {
  const auto* value = typed<double>(*this, name, "a number");
  return value != nullptr ? *value : fallback;
}

std::string Attributes::text(std::string_view name, std::string_view fallback) const {
  const auto* value = typed<std::string>(*this, name, "a text");
  return value != nullptr ? *value : std::string(fallback);
}

std::vector<std::int64_t> Attributes::integers(std::string_view name, const std::vector<std::int64_t>& fallback) const {
  const auto* value = typed<std::vector<std::int64_t>>(*this, name, "a list of integers");
  return value != nullptr ? *value : fallback;
}

std::vector<double> Attributes::reals(std::string_view name, const std::vector<double>& fallback) const {
  const auto* value = typed<std::vector<double>>(*this, name, "a list of numbers");
  return value != nullptr ? *value : fallback;
}

}  // namespace latpred
