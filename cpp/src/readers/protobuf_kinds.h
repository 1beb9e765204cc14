#pragma once

#include <string_view>

namespace latpred::readers {

// Which protobuf message a file is. None has a signature: the numbers and types of its leading fields tell, in a file
// that was cut off too.
[[nodiscard]] bool is_onnx(std::string_view content);
[[nodiscard]] bool is_saved_model(std::string_view content);   // TensorFlow
[[nodiscard]] bool is_graph_def(std::string_view content);     // TensorFlow, frozen
[[nodiscard]] bool is_meta_graph(std::string_view content);    // TensorFlow, of a checkpoint
[[nodiscard]] bool is_program_desc(std::string_view content);  // Paddle
[[nodiscard]] bool is_core_ml(std::string_view content);       // Apple

}  // namespace latpred::readers
