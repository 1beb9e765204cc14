#pragma once

#include <memory>

#include "latpred/program.h"
#include "readers/tensorflow/tensorflow_messages.h"

namespace latpred::readers::tensorflow {

// A TensorProto: what it is, and where its content stands. Refuses sizes that are negative or overflow, a type that no
// network computes with, and packed content of another length than the sizes say.
[[nodiscard]] TensorMessage parse_tensor(const Source& source, Message message);

// The content where it is small and numeric; nullptr otherwise.
[[nodiscard]] std::shared_ptr<const Value> decode_value(const Source& source, const TensorMessage& tensor);

}  // namespace latpred::readers::tensorflow
