#include "latpred/error.h"

#include <utility>

namespace latpred {

Error::Error(const std::string& message, ErrorData data)
    : std::runtime_error(message), message_(message), data_(std::move(data)) {}

void Error::add_context(std::string_view context) { message_ = std::string(context) + ": " + message_; }

}  // namespace latpred
