#pragma once

#include <gtest/gtest.h>

#include <string>

#include "latpred/error.h"

namespace latpred::testing {

// The message of the `ErrorType` that `action` throws; a failure where it throws none.
template <typename ErrorType, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const ErrorType& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error, none was thrown";
  return "";
}

}  // namespace latpred::testing
