#pragma once

#include <string>

namespace latpred::readers {

// The model file that is meant by the folder `path`: a SavedModel's saved_model.pb, a Paddle program, a single .onnx
// file, the config.json of a Hugging Face model. Throws ModelFileError that says what the folder is otherwise.
[[nodiscard]] std::string model_in_folder(const std::string& path);

}  // namespace latpred::readers
