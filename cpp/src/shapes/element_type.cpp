#include "shapes/element_type.h"

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred::shapes {

DType element_type(const RuleContext& context, std::int64_t number) {
  constexpr std::int64_t kLargestNumber = 255;  // what the enumeration holds
  if (number > 0 && number <= kLargestNumber) {
    try {
      return dtype_row(static_cast<DType>(number)).dtype;
    } catch (const InvalidArgumentError&) {  // the file is at fault, not the caller
    }
  }
  context.fail(concat("element type ", number, " is unknown"));
}

}  // namespace latpred::shapes
