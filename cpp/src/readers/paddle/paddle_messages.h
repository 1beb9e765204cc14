#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/attributes.h"
#include "latpred/dtype.h"
#include "readers/source.h"

namespace latpred::readers {

// The messages of Paddle's framework.proto, as far as a network's structure needs them.

struct PaddleArgument {
  std::string_view parameter;
  std::vector<std::string_view> names;
};

struct PaddleOpMessage {
  std::string_view type;
  std::vector<PaddleArgument> inputs;
  std::vector<PaddleArgument> outputs;
  Attributes attributes;
  std::int64_t offset = 0;
};

struct PaddleVariableMessage {
  std::string_view name;
  DType dtype = DType::undefined;
  std::optional<std::vector<std::int64_t>> sizes;  // of tensors only
  bool is_persistable = false;
  bool is_fed = false;  // need_check_feed: data that the caller gives
  std::int64_t offset = 0;
};

struct PaddleBlockMessage {
  std::vector<PaddleVariableMessage> variables;
  std::vector<PaddleOpMessage> operators;
};

struct PaddleProgramMessage {
  PaddleBlockMessage main;
  std::int64_t num_blocks = 0;
  std::int64_t version = 0;  // 2004001: 2.4.1
};

// Refuses more than `max_nodes` operators in the first block, before they are all kept.
[[nodiscard]] PaddleProgramMessage parse_paddle_program(const Source& source, std::int64_t max_nodes);

}  // namespace latpred::readers
