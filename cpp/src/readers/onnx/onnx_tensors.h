#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "latpred/program.h"
#include "readers/onnx/onnx_messages.h"

namespace latpred::readers {

// A TensorProto: what it is, and where its content stands. The content itself is not touched.
struct TensorMessage {
  std::string_view name;
  DType dtype = DType::undefined;
  Shape dims;
  std::int64_t num_elements = 0;
  Message body;  // the whole message, for content in typed fields
  bool has_raw = false;
  std::string_view raw;  // content as packed little-endian bytes
  bool is_external = false;
  std::string_view location;  // of external content, relative to the model's folder
  std::int64_t offset = 0;
};

// Refuses negative and overflowing sizes, an element type that is missing or unknown, raw content of another length
// than the sizes say, and external content outside the model's folder.
[[nodiscard]] TensorMessage parse_tensor(const Source& source, Message message);

// The content where it is small, numeric and in the file; nullptr otherwise.
[[nodiscard]] std::shared_ptr<const Value> decode_value(const Source& source, const TensorMessage& tensor);

// Makes `variable` the stored tensor that `tensor` is; its name is left as it is.
void store(const Source& source, const TensorMessage& tensor, Variable& variable);

// Gives stored bytes that hold several elements of `bits` each, along the last axis, the type and number of these. Does
// nothing to what is no such tensor, or was unpacked before; widths without a type of their own stay bytes.
void unpack(Variable& variable, std::int64_t bits);

}  // namespace latpred::readers
