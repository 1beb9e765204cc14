#pragma once

#include <memory>
#include <string>

#include "latpred/error.h"

namespace latpred {

// A library of the driver: looked for when it is needed, never linked, so that one build runs with and without a GPU.
class FoundLibrary {
 public:
  // What it is, and what to do where it is missing: parts of a sentence.
  struct Words {
    const char* what;
    const char* advice;
  };

  // Throws ProfilerError where `path` cannot be opened.
  FoundLibrary(const std::string& path, const Words& words);
  virtual ~FoundLibrary() = default;
  FoundLibrary(const FoundLibrary&) = delete;
  FoundLibrary& operator=(const FoundLibrary&) = delete;

  // The sentence of the constructor's error, empty where there is none. A process's first exception costs milliseconds,
  // this does not.
  [[nodiscard]] static std::string missing_reason(const std::string& path, const Words& words);

  // Null where the library has no such symbol.
  [[nodiscard]] void* find(const char* symbol) const noexcept;
  // Throws ProfilerError: the function, the code, its text, what to do.
  [[noreturn]] virtual void fail(const char* function, int code) const = 0;
  // Throws ProfilerError: the library is older than the function.
  [[noreturn]] void fail_missing(const char* function, const char* since) const;

 private:
  std::string path_;
  Words words_;
  std::unique_ptr<void, int (*)(void*)> handle_;
};

// One function of a FoundLibrary. Its arguments are declared here by hand; the call throws where it fails.
template <typename... Arguments>
class LibraryFunction {
 public:
  // Required where `since` is null; otherwise the release that brought it. `older` is the name in earlier releases.
  LibraryFunction(const FoundLibrary& library, const char* symbol, const char* since = nullptr,
                  const char* older = nullptr)
      : library_(library), symbol_(symbol), since_(since), pointer_(library.find(symbol)) {
    if (pointer_ == nullptr && older != nullptr) {
      symbol_ = older;
      pointer_ = library.find(older);
    }
    if (pointer_ == nullptr && since == nullptr) library.fail_missing(symbol, nullptr);
  }

  void operator()(Arguments... arguments) const {
    const int code = result(arguments...);
    if (code != 0) library_.fail(symbol_, code);
  }

  // The bare result: for destructors, which cannot throw, and where a failure is an answer.
  [[nodiscard]] int result(Arguments... arguments) const {
    if (pointer_ == nullptr) library_.fail_missing(symbol_, since_);
    return reinterpret_cast<int (*)(Arguments...)>(pointer_)(arguments...);
  }

  [[nodiscard]] bool is_there() const noexcept { return pointer_ != nullptr; }

 private:
  const FoundLibrary& library_;
  const char* symbol_;
  const char* since_;
  void* pointer_;
};

}  // namespace latpred
