#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace latpred {

// What an error knows besides its sentence; Python sees each field as an attribute.
struct ErrorData {
  std::string path;                // the file that was read
  std::int64_t offset = -1;        // byte in that file, -1 where it does not apply
  std::string node;                // the node of the user's graph
  std::string op;                  // its operator
  std::vector<std::string> valid;  // the values that would have been accepted
};

// Base of every error that latpred raises on purpose. The message says what is wrong, what was found,
// what was expected and what to do; callers on the way up add where.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorData data = {});

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] const ErrorData& data() const noexcept { return data_; }

  // Puts `context` and a colon before the message: "node 'conv_3' (conv): ...".
  void add_context(std::string_view context);
  [[nodiscard]] ErrorData& data() noexcept { return data_; }

 private:
  std::string message_;
  ErrorData data_;
};

class InvalidArgumentError : public Error {
  using Error::Error;
};
class ModelFileError : public Error {
  using Error::Error;
};
class ShapeError : public Error {
  using Error::Error;
};
class UnsupportedOperatorError : public Error {
  using Error::Error;
};
class CheckpointError : public Error {
  using Error::Error;
};
class ProfilerError : public Error {
  using Error::Error;
};
class MissingDependencyError : public Error {
  using Error::Error;
};

}  // namespace latpred
