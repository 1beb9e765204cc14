#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "latpred/error.h"

namespace latpred {

// Calls `work`; what LibTorch throws becomes one sentence: its own text ends in thirty lines of backtrace.
template <typename Work>
auto with_short_errors(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw Error("LibTorch: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace latpred
