#include "profiler/found_library.h"

#include <dlfcn.h>

#include "latpred/text.h"

namespace latpred {
namespace {

using Handle = std::unique_ptr<void, int (*)(void*)>;

// NODELETE: a driver runs threads of its own, whose code must not be unloaded under them.
Handle open_library(const std::string& path) {
  return {dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), &dlclose};
}

std::string sentence(const std::string& path, const FoundLibrary::Words& words) {
  const char* reason = dlerror();
  return concat(words.what, " was not found (", reason == nullptr ? path : std::string(reason), "); ", words.advice);
}

}  // namespace

FoundLibrary::FoundLibrary(const std::string& path, const Words& words)
    : path_(path), words_(words), handle_(open_library(path)) {
  if (handle_ == nullptr) throw ProfilerError(sentence(path, words));
}

std::string FoundLibrary::missing_reason(const std::string& path, const Words& words) {
  return open_library(path) == nullptr ? sentence(path, words) : "";
}

void* FoundLibrary::find(const char* symbol) const noexcept { return dlsym(handle_.get(), symbol); }

void FoundLibrary::fail_missing(const char* function, const char* since) const {
  const std::string needed = since == nullptr ? "latpred needs it" : concat("it came with ", since);
  throw ProfilerError(concat(words_.what, " (", path_, ") has no function ", function, ": ", needed,
                             "; install a newer NVIDIA driver"));
}

}  // namespace latpred
