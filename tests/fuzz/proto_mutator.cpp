// A mutator that knows protobuf: it changes one field somewhere in the tree of messages and writes all lengths anew.
// Flipped bytes alone nearly always break a length, and then only the wire reader is tested.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

struct Field {
  std::uint64_t tag = 0;
  std::uint64_t value = 0;      // varint
  std::string bytes;            // fixed values, and content that is no message
  std::vector<Field> children;  // content that reads as a message
};

constexpr int kMaxDepth = 12;

bool read_varint(std::string_view& text, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool parse(std::string_view text, int depth, std::vector<Field>& fields) {
  while (!text.empty()) {
    Field field;
    if (!read_varint(text, field.tag) || field.tag >> 3 == 0 || field.tag >> 3 > 100) return false;
    std::uint64_t size = 0;
    switch (field.tag & 7) {
      case 0:
        if (!read_varint(text, field.value)) return false;
        break;
      case 1:
        size = 8;
        break;
      case 5:
        size = 4;
        break;
      case 2:
        if (!read_varint(text, size)) return false;
        break;
      default:
        return false;
    }
    if (size > text.size()) return false;
    field.bytes = text.substr(0, size);
    text.remove_prefix(size);
    if ((field.tag & 7) == 2 && (depth == kMaxDepth || !parse(field.bytes, depth + 1, field.children))) {
      field.children.clear();
    }
    fields.push_back(std::move(field));
  }
  return true;
}

void write_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void write(const std::vector<Field>& fields, std::string& out) {
  for (const Field& field : fields) {
    write_varint(out, field.tag);
    if ((field.tag & 7) == 0) {
      write_varint(out, field.value);
      continue;
    }
    std::string content = field.bytes;
    if (!field.children.empty()) {
      content.clear();
      write(field.children, content);
    }
    if ((field.tag & 7) == 2) write_varint(out, content.size());
    out += content;
  }
}

// Every list of fields in the tree, with its owner where it has one.
void collect(std::vector<Field>& fields, std::vector<std::vector<Field>*>& lists) {
  lists.push_back(&fields);
  for (Field& field : fields) {
    if (!field.children.empty()) collect(field.children, lists);
  }
}

std::uint64_t odd_number(std::mt19937& random) {
  constexpr std::int64_t kNumbers[] = {0,  1,   2,       3,         4,         7,         8,         -1,        -2,
                                       64, 255, 1 << 16, 1LL << 31, 1LL << 32, 1LL << 40, INT64_MAX, INT64_MIN, 4096};
  return static_cast<std::uint64_t>(kNumbers[random() % std::size(kNumbers)]);
}

void mutate_field(Field& field, std::mt19937& random) {
  if ((field.tag & 7) == 0) {
    field.value = random() % 2 == 0 ? odd_number(random) : field.value + random() % 5 - 2;
    return;
  }
  field.children.clear();
  const std::size_t old_size = field.bytes.size();
  const std::size_t room = (field.tag & 7) == 2 ? old_size + 8 : old_size;
  field.bytes.resize(room);
  const std::size_t size = LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(field.bytes.data()), old_size, room);
  field.bytes.resize((field.tag & 7) == 2 ? size : old_size);
}

void mutate_tree(std::vector<Field>& root, std::mt19937& random) {
  std::vector<std::vector<Field>*> lists;
  collect(root, lists);
  std::vector<Field>& list = *lists[random() % lists.size()];
  if (list.empty()) return;
  const std::size_t at = random() % list.size();
  switch (random() % 6) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1: {
      const Field copy = list[at];  // inserting into a list may move what it is taken from
      list.push_back(copy);
      break;
    }
    case 2:
      std::swap(list[at], list[random() % list.size()]);
      break;
    case 3: {
      // A field of the same kind from elsewhere: another name, another shape, another body.
      const std::vector<Field>& others = *lists[random() % lists.size()];
      if (others.empty()) break;
      const Field other = others[random() % others.size()];
      if ((other.tag & 7) == (list[at].tag & 7)) {
        const std::uint64_t tag = list[at].tag;
        list[at] = other;
        list[at].tag = tag;
      }
      break;
    }
    default:
      mutate_field(list[at], random);
      break;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937 random(seed);
  std::vector<Field> root;
  constexpr unsigned kRawShare = 8;  // one change in eight is of bare bytes: damaged files must be tried too
  if (random() % kRawShare == 0 || !parse({reinterpret_cast<const char*>(data), size}, 0, root)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  mutate_tree(root, random);
  std::string out;
  write(root, out);
  if (out.empty() || out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}
