#pragma once

#include <string>
#include <string_view>

namespace latpred::readers {

// Files that hold weights or objects of a program but no graph, and what one of them holds. The texts complete
// "'m.pt' ...".

[[nodiscard]] bool is_safetensors(std::string_view content);
[[nodiscard]] std::string describe_safetensors(std::string_view content);

// The .pdiparams beside a Paddle program: tensors one after another.
[[nodiscard]] bool is_paddle_parameters(std::string_view content);
[[nodiscard]] std::string describe_paddle_parameters(std::string_view content);

// Files of torch.save, zip archives or older: tensors only, or objects of somebody's classes as well.
[[nodiscard]] bool is_torch_save(std::string_view content);
[[nodiscard]] bool is_torch_weights(std::string_view content);
[[nodiscard]] std::string describe_torch_save(std::string_view content);

// Any other Python pickle.
[[nodiscard]] bool is_pickle(std::string_view content);
[[nodiscard]] bool is_paddle_pickle(std::string_view content);
[[nodiscard]] std::string describe_pickle(std::string_view content);

}  // namespace latpred::readers
