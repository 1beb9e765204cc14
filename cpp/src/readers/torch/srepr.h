#pragma once

#include <string>
#include <string_view>

namespace latpred::readers {

// A size as torch.export writes it, sympy's srepr ("Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(-1))"),
// as the text that Dimension::symbol holds ("((2 * s77) + -1)"). Throws ModelFileError with the text where it is more
// than integer arithmetic.
[[nodiscard]] std::string infix_of_srepr(std::string_view srepr);

}  // namespace latpred::readers
