#include "profiler/found_library.h"

#include <dlfcn.h>

#include "latpred/text.h"

namespace latpred {
namespace {

void* open_library(const std::string& path, const std::string& what, const std::string& advice) {
  // NODELETE: a driver runs threads of its own, whose code must not be unloaded under them.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) return handle;
  const char* reason = dlerror();
  throw ProfilerError(concat(what, " was not found (", reason == nullptr ? path : std::string(reason), "); ", advice));
}

}  // namespace

FoundLibrary::FoundLibrary(const std::string& path, const std::string& what, const std::string& advice)
    : path_(path), what_(what), handle_(open_library(path, what, advice), &dlclose) {}

void* FoundLibrary::find(const char* symbol) const noexcept { return dlsym(handle_.get(), symbol); }

void FoundLibrary::fail_missing(const char* function, const char* since) const {
  const std::string needed = since == nullptr ? "latpred needs it" : concat("it came with ", since);
  throw ProfilerError(
      concat(what_, " (", path_, ") has no function ", function, ": ", needed, "; install a newer NVIDIA driver"));
}

}  // namespace latpred
