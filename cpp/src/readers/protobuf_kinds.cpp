#include "readers/protobuf_kinds.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "latpred/error.h"
#include "readers/containers/wire.h"

namespace latpred::readers {
namespace {

// The leading fields of a protobuf message, as far as they can be followed: enough to tell one schema from another.
struct Outline {
  bool is_valid = false;     // at least one field, and nothing that no message can hold
  bool is_complete = false;  // followed to the end of the file
  std::uint64_t seen = 0;    // bit n: field n, for n < 63; the last bit: any field beyond
  WireField first;           // its bytes end with the file where it was cut off
  WireField second;
};

constexpr std::uint32_t kBeyond = 63;

// A length-delimited field that says more bytes than there are, cut to those.
bool read_cut_field(std::string_view rest, WireField& field) {
  const auto tag = rest.empty() ? 0U : static_cast<std::uint8_t>(rest[0]);
  if (tag >= 0x80 || (tag & 7U) != static_cast<unsigned>(WireType::length_delimited) || tag >> 3U == 0) return false;
  std::size_t position = 1;
  while (position < rest.size() && static_cast<std::uint8_t>(rest[position]) >= 0x80) ++position;
  if (position + 1 >= rest.size()) return false;
  field = {.number = tag >> 3U, .type = WireType::length_delimited, .bits = 0, .bytes = rest.substr(position + 1)};
  return true;
}

Outline outline(std::string_view content) {
  constexpr int kMaxFields = 4096;
  const Source source{"", content};
  Outline result;
  int count = 0;
  const auto take = [&](const WireField& field) {
    (count == 0 ? result.first : result.second) = count < 2 ? field : result.second;
    result.seen |= std::uint64_t{1} << std::min(field.number, kBeyond);
    result.is_valid = true;
    ++count;
  };
  WireReader reader(source, content);
  std::size_t end = 0;  // of what was followed
  try {
    for (WireField field; count < kMaxFields;) {
      if (!reader.next(field)) {
        result.is_complete = true;
        break;
      }
      take(field);
      end = static_cast<std::size_t>(reader.offset());
    }
  } catch (const ModelFileError&) {
    // Cut off or another format: what was seen so far decides.
    WireField field;
    if (read_cut_field(content.substr(end), field)) take(field);
  }
  return result;
}

constexpr std::uint64_t bits(std::initializer_list<std::uint32_t> numbers) {
  std::uint64_t result = 0;
  for (const std::uint32_t number : numbers) result |= std::uint64_t{1} << number;
  return result;
}

constexpr bool has_only(std::uint64_t seen, std::uint64_t allowed) { return (seen & ~allowed) == 0; }

// Versions of schemas are small numbers.
bool starts_with_version(const Outline& found) {
  constexpr std::uint64_t kMaxVersion = 1000;
  return found.is_valid && found.first.number == 1 && found.first.type == WireType::varint &&
         found.first.bits <= kMaxVersion;
}

bool is_message(const WireField& field) { return field.type == WireType::length_delimited; }

// Whether the field's content starts with field `number` of type `type`.
bool holds(const WireField& field, std::uint32_t number, WireType type) {
  if (!is_message(field)) return false;
  const Outline inner = outline(field.bytes);
  return inner.is_valid && inner.first.number == number && inner.first.type == type;
}

}  // namespace

// ModelProto: `ir_version` is 1, `graph` 7, `opset_import` 8.
bool is_onnx(std::string_view content) {
  constexpr std::uint64_t kFields = bits({1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26});
  const Outline found = outline(content);
  if (!found.is_valid || !has_only(found.seen, kFields)) return false;
  const bool has_own_field = (found.seen & bits({7, 8})) != 0;
  if (found.is_complete) return has_own_field && (starts_with_version(found) || found.first.number != 1);
  // A file that was cut off: its start must be beyond doubt. A SavedModel's second field is a message, not a name.
  return starts_with_version(found) && (has_own_field || !is_saved_model(content));
}

// SavedModel: `saved_model_schema_version` is 1, `meta_graphs` 2; MetaGraphDef starts with its MetaInfoDef.
bool is_saved_model(std::string_view content) {
  const Outline found = outline(content);
  return starts_with_version(found) && has_only(found.seen, bits({1, 2})) && found.second.number == 2 &&
         (holds(found.second, 1, WireType::length_delimited) || holds(found.second, 2, WireType::length_delimited));
}

// GraphDef: `node` is 1, `library` 2, `version` 3, `versions` 4, `debug_info` 5; NodeDef starts with its name.
bool is_graph_def(std::string_view content) {
  const Outline found = outline(content);
  if (!found.is_valid || !has_only(found.seen, bits({1, 2, 3, 4, 5})) || !is_message(found.first)) return false;
  return found.first.number == 1 && holds(found.first, 1, WireType::length_delimited);
}

// MetaGraphDef: `meta_info_def` is 1 and starts with its `stripped_op_list`, 2; `graph_def` is 2.
bool is_meta_graph(std::string_view content) {
  const Outline found = outline(content);
  return found.is_valid && found.first.number == 1 && holds(found.first, 2, WireType::length_delimited) &&
         found.second.number == 2 && is_message(found.second);
}

// ProgramDesc: `blocks` is 1, `version` 4, `op_version_map` 5; BlockDesc starts with its index.
bool is_program_desc(std::string_view content) {
  const Outline found = outline(content);
  return found.is_valid && has_only(found.seen, bits({1, 2, 3, 4, 5})) && found.first.number == 1 &&
         holds(found.first, 1, WireType::varint);
}

// Core ML's Model: `specificationVersion` is 1, `description` 2, `isUpdatable` 10, the network itself 200 and above.
bool is_core_ml(std::string_view content) {
  const Outline found = outline(content);
  return starts_with_version(found) && has_only(found.seen, bits({1, 2, 10, kBeyond})) &&
         (found.seen & bits({kBeyond})) != 0;
}

}  // namespace latpred::readers
