#include "operators/einsum.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr std::string_view kEllipsis = "...";
// Labels of an ellipsis's dimensions, last one first, so that operands of different rank align at the right.
constexpr std::string_view kEllipsisLabels = "9876543210";

struct Term {
  std::string labels;  // without the ellipsis
  std::size_t ellipsis_at = std::string::npos;
};

Term parse_term(std::string_view text, const std::string& equation) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, kEllipsis.size()) == kEllipsis && term.ellipsis_at == std::string::npos) {
      term.ellipsis_at = term.labels.size();
      i += kEllipsis.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      term.labels += text[i];
    } else {
      throw ShapeError(concat("einsum equation '", equation, "' has an unexpected '", text[i], "'"));
    }
  }
  return term;
}

std::string spelled_out(const Term& term, std::size_t ellipsis_size) {
  if (term.ellipsis_at == std::string::npos) return term.labels;
  const std::string ellipsis(kEllipsisLabels.substr(kEllipsisLabels.size() - ellipsis_size));
  return term.labels.substr(0, term.ellipsis_at) + ellipsis + term.labels.substr(term.ellipsis_at);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

}  // namespace

Einsum parse_einsum(const std::string& equation, const std::vector<Shape>& shapes) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  const std::vector<std::string_view> terms = split(std::string_view(text).substr(0, arrow), ',');
  if (terms.size() != shapes.size()) {
    throw ShapeError(
        concat("einsum equation '", equation, "' names ", terms.size(), " operands, there are ", shapes.size()));
  }
  Einsum einsum;
  std::size_t longest_ellipsis = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Term term = parse_term(terms[i], equation);
    const Shape& shape = shapes[i];
    const bool has_ellipsis = term.ellipsis_at != std::string::npos;
    if (shape.size() < term.labels.size() || (!has_ellipsis && shape.size() != term.labels.size()) ||
        shape.size() - term.labels.size() > kEllipsisLabels.size()) {
      throw ShapeError(concat("operand ", i, " ", shape_text(shape), " does not fit '", terms[i],
                              "' of einsum equation '", equation, "'"));
    }
    const std::size_t ellipsis_size = shape.size() - term.labels.size();
    longest_ellipsis = std::max(longest_ellipsis, ellipsis_size);
    einsum.operands.push_back(spelled_out(term, ellipsis_size));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const char label = einsum.operands.back()[axis];
      std::int64_t& size = einsum.sizes.try_emplace(label, shape[axis]).first->second;
      if (size != shape[axis] && size != 1 && shape[axis] != 1) {
        throw ShapeError(
            concat("einsum equation '", equation, "': '", label, "' is both ", size, " and ", shape[axis]));
      }
      if (size == 1) size = shape[axis];
    }
  }
  if (arrow != std::string::npos) {
    einsum.output = spelled_out(parse_term(std::string_view(text).substr(arrow + 2), equation), longest_ellipsis);
  } else {
    // Implicit output: the ellipsis, then every label that stands once, in alphabetical order.
    einsum.output = std::string(kEllipsisLabels.substr(kEllipsisLabels.size() - longest_ellipsis));
    const std::string all = join({einsum.operands.begin(), einsum.operands.end()}, "");
    for (const auto& [label, size] : einsum.sizes) {
      if (std::isalpha(static_cast<unsigned char>(label)) != 0 && std::count(all.begin(), all.end(), label) == 1) {
        einsum.output += label;
      }
    }
  }
  for (const char label : einsum.output) {
    if (!einsum.sizes.contains(label)) {
      throw ShapeError(concat("einsum equation '", equation, "' has '", label, "' in its output only"));
    }
  }
  return einsum;
}

Shape Einsum::output_shape() const {
  Shape shape;
  for (const char label : output) shape.push_back(sizes.at(label));
  return shape;
}

std::vector<Gemm> Einsum::products() const {
  std::vector<Gemm> result;
  std::string left = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const std::string& right = operands[i];
    std::string kept = output;  // what is still needed after this pair
    for (std::size_t later = i + 1; later < operands.size(); ++later) kept += operands[later];
    Gemm gemm{1, 1, 1, 1};
    std::string next;
    for (const auto& [label, size] : sizes) {
      const bool in_left = has(left, label);
      const bool in_right = has(right, label);
      if (!in_left && !in_right) continue;
      if (has(kept, label)) next += label;
      // A label that only one operand has and nobody needs later is summed before the product.
      if (in_left != in_right && !has(kept, label)) continue;
      double& extent = !in_right ? gemm.m : !in_left ? gemm.n : has(kept, label) ? gemm.batch : gemm.k;
      extent *= static_cast<double>(size);
    }
    result.push_back(gemm);
    left = next;
  }
  return result;
}

}  // namespace latpred
