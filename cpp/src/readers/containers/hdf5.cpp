#include "readers/containers/hdf5.h"

#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "readers/containers/wire.h"

namespace latpred::readers {
namespace {

// Sizes and numbers from the HDF5 File Format Specification 3.0.
constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr std::uint64_t kMessageLink = 0x06;
constexpr std::uint64_t kMessageAttribute = 0x0C;
constexpr std::uint64_t kMessageContinuation = 0x10;
constexpr std::uint64_t kMessageSymbolTable = 0x11;
constexpr std::uint64_t kMessageAttributeInfo = 0x15;
constexpr unsigned kClassString = 3;
constexpr unsigned kClassVariableLength = 9;
constexpr std::uint64_t kHeaderPrefix1 = 16;
constexpr std::uint64_t kMessagePrefix1 = 8;
constexpr std::uint64_t kEntryScratch = 24;  // of a symbol table entry, behind its two addresses

// Guards against files that lead round in circles.
constexpr std::size_t kMaxBlocks = 1024;
constexpr std::size_t kMaxMessages = 65536;
constexpr std::size_t kMaxEntries = 65536;

std::uint64_t padded(std::uint64_t size) { return (size + 7) & ~std::uint64_t{7}; }

}  // namespace

std::string_view Hdf5RootAttributes::bytes(std::uint64_t position, std::uint64_t size, const char* what) const {
  const std::uint64_t total = source_.content.size();
  if (position > total || size > total - position) {
    source_.fail_as_damaged(concat(what, " at byte ", position, " takes ", size, " bytes, the file has ", total),
                            static_cast<std::int64_t>(std::min(position, total)));
  }
  return source_.content.substr(position, size);
}

std::uint64_t Hdf5RootAttributes::number(std::uint64_t position, unsigned size) const {
  const std::string_view at = bytes(position, size, "a number");
  std::uint64_t result = 0;
  for (unsigned i = size; i-- > 0;) result = result << 8 | static_cast<unsigned char>(at[i]);
  return result;
}

std::uint64_t Hdf5RootAttributes::position_of(std::string_view part) const {
  return static_cast<std::uint64_t>(source_.offset_of(part.data()));
}

// The position of the root group's object header.
std::uint64_t Hdf5RootAttributes::find_root() {
  if (!source_.content.starts_with(kSignature)) source_.fail("is no HDF5 file: its signature is missing");
  const std::uint64_t version = number(8, 1);
  if (version > 3) source_.fail(concat("HDF5 superblock version ", version, " is not read, 0 to 3 are"), 8);
  const std::uint64_t sizes = version < 2 ? 13 : 9;
  offset_size_ = static_cast<unsigned>(number(sizes, 1));
  length_size_ = static_cast<unsigned>(number(sizes + 1, 1));
  for (const unsigned size : {offset_size_, length_size_}) {
    if (size != 2 && size != 4 && size != 8) {
      source_.fail_as_damaged(concat("numbers of ", size, " bytes"), static_cast<std::int64_t>(sizes));
    }
  }
  // Version 0 and 1: four addresses, then the root group's entry, whose second address it is.
  const std::uint64_t addresses = version == 0 ? 24 : version == 1 ? 28 : 12;
  base_ = offset_at(addresses);
  const std::uint64_t root = addresses + (version < 2 ? 5 : 3) * std::uint64_t{offset_size_};
  return base_ + offset_at(root);
}

std::vector<Hdf5RootAttributes::Message> Hdf5RootAttributes::messages_of(std::uint64_t header) const {
  std::vector<Message> result;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks;  // position and size of the messages in each
  const bool is_new = bytes(header, 4, "an object header") == "OHDR";
  std::uint64_t flags = 0;
  if (is_new) {
    flags = number(header + 5, 1);
    std::uint64_t at = header + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const unsigned size_bytes = 1U << (flags & 3);
    const std::uint64_t size = number(at, size_bytes);
    blocks.emplace_back(at + size_bytes, size);
  } else {
    if (number(header, 1) != 1) {
      source_.fail_as_damaged(concat("object header of version ", number(header, 1)),
                              static_cast<std::int64_t>(header));
    }
    blocks.emplace_back(header + kHeaderPrefix1, number(header + 8, 4));
  }
  const std::uint64_t prefix = is_new ? 4 + ((flags & 4) != 0 ? 2 : 0) : kMessagePrefix1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [start, size] = blocks[i];
    (void)bytes(start, size, "a block of an object header");
    for (std::uint64_t at = start; at + prefix <= start + size;) {
      const std::uint64_t type = is_new ? number(at, 1) : number(at, 2);
      const std::uint64_t length = number(is_new ? at + 1 : at + 2, 2);
      if (length > start + size - at - prefix) {
        source_.fail_as_damaged("a message of an object header is longer than its block",
                                static_cast<std::int64_t>(at));
      }
      result.push_back({type, bytes(at + prefix, length, "a message")});
      if (result.size() > kMaxMessages) source_.fail("an object header has more than 65 536 messages");
      if (type == kMessageContinuation) {
        const std::uint64_t next = base_ + offset_at(at + prefix);
        const std::uint64_t next_size = length_at(at + prefix + offset_size_);
        // Newer blocks have a signature in front and a checksum behind.
        if (is_new && next_size < 8) source_.fail_as_damaged("a block of 8 bytes", static_cast<std::int64_t>(at));
        blocks.emplace_back(is_new ? next + 4 : next, is_new ? next_size - 8 : next_size);
        if (blocks.size() > kMaxBlocks) source_.fail("an object header has more than 1 024 blocks");
      }
      at += prefix + length;
    }
  }
  return result;
}

Hdf5RootAttributes::Hdf5RootAttributes(const Source& source) : source_(source) {
  root_ = messages_of(find_root());
  for (const Message& message : root_) {
    if (message.type == kMessageAttribute) add_attribute(message.data);
    if (message.type == kMessageAttributeInfo && message.data.size() >= 2) {
      const std::uint64_t at = position_of(message.data);
      const std::uint64_t heap = at + 2 + ((number(at + 1, 1) & 1) != 0 ? 2 : 0);
      const bool is_dense = offset_at(heap) != (~std::uint64_t{0} >> (64 - 8 * offset_size_));
      if (is_dense) {
        source_.fail(
            "the attributes of its root group are in HDF5's dense form, which is not read; save the model again "
            "as m.keras");
      }
    }
  }
}

void Hdf5RootAttributes::add_attribute(std::string_view message) {
  const std::uint64_t at = position_of(message);
  const std::uint64_t version = number(at, 1);
  if (version < 1 || version > 3) {
    source_.fail_as_damaged(concat("attribute of version ", version), static_cast<std::int64_t>(at));
  }
  const bool is_shared = version > 1 && (number(at + 1, 1) & 3) != 0;
  std::uint64_t position = at + (version == 3 ? 9 : 8);
  std::uint64_t sizes[3];
  for (std::uint64_t i = 0; i < 3; ++i) sizes[i] = number(at + 2 + 2 * i, 2);
  std::string_view parts[3];
  const std::uint64_t end = at + message.size();
  for (int i = 0; i < 3; ++i) {
    parts[i] = bytes(position, sizes[i], "a part of an attribute");
    position += version == 1 ? padded(sizes[i]) : sizes[i];
  }
  if (position > end) source_.fail_as_damaged("an attribute is longer than its message", static_cast<std::int64_t>(at));
  const std::string_view name = parts[0].substr(0, parts[0].find('\0'));
  if (is_shared) return;  // its type stands elsewhere: none that Keras writes
  attributes_.push_back({name, parts[1], parts[2], bytes(position, end - position, "the value of an attribute")});
}

const Hdf5RootAttributes::Attribute* Hdf5RootAttributes::find(std::string_view name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

std::optional<std::string> Hdf5RootAttributes::text(std::string_view name) const {
  const Attribute* const attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  const std::uint64_t at = position_of(attribute->data);
  const auto fail = [&](const std::string& what) {
    source_.fail(concat("attribute '", name, "' of its root group ", what), static_cast<std::int64_t>(at));
  };
  if (attribute->datatype.size() < 8) fail("has no type");
  const unsigned kind = static_cast<unsigned char>(attribute->datatype[0]) & 0x0FU;
  std::string_view content;
  if (kind == kClassString) {
    content = attribute->data.substr(0, number(position_of(attribute->datatype) + 4, 4));
  } else if (kind == kClassVariableLength && (static_cast<unsigned char>(attribute->datatype[1]) & 0x0FU) == 1) {
    const std::uint64_t size = number(at, 4);
    const std::uint64_t heap = base_ + offset_at(at + 4);
    content = heap_object(heap, number(at + 4 + offset_size_, 4)).substr(0, size);
  } else {
    fail("is no text");
  }
  content = content.substr(0, content.find('\0'));
  if (!is_utf8(content)) fail("is no UTF-8");
  return std::string(content);
}

std::string_view Hdf5RootAttributes::heap_object(std::uint64_t collection, std::uint64_t index) const {
  if (bytes(collection, 4, "a heap") != "GCOL") {
    source_.fail_as_damaged("a heap without its signature", static_cast<std::int64_t>(collection));
  }
  const std::uint64_t size = length_at(collection + 8);
  (void)bytes(collection, size, "a heap");
  const std::uint64_t prefix = 8 + length_size_;
  std::uint64_t at = collection + 8 + length_size_;
  while (at + prefix <= collection + size) {
    const std::uint64_t found = number(at, 2);
    const std::uint64_t length = length_at(at + 8);
    if (found == 0) break;  // free space ends the heap
    if (length > collection + size - at - prefix) {
      source_.fail_as_damaged("an object is longer than its heap", static_cast<std::int64_t>(at));
    }
    if (found == index) return bytes(at + prefix, length, "an object of a heap");
    at += prefix + padded(length);
  }
  source_.fail_as_damaged(concat("object ", index, " is missing in a heap"), static_cast<std::int64_t>(collection));
}

std::int64_t Hdf5RootAttributes::count_entries(const std::vector<Message>& group, std::string_view wanted) const {
  std::int64_t count = 0;
  for (const Message& message : group) {
    if (message.type == kMessageLink && wanted.empty()) ++count;
    if (message.type != kMessageSymbolTable || message.data.size() < 2 * std::uint64_t{offset_size_}) continue;
    const std::uint64_t at = position_of(message.data);
    const std::uint64_t heap = base_ + offset_at(at + offset_size_);
    const std::uint64_t names = base_ + offset_at(heap + 8 + 2 * std::uint64_t{length_size_});
    std::vector<std::uint64_t> nodes{base_ + offset_at(at)};
    std::size_t num_visited = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint64_t node = nodes[i];
      const std::string_view signature = bytes(node, 4, "a node of a group");
      const std::uint64_t used = number(node + 6, 2);
      for (std::uint64_t k = 0; k < used; ++k) {
        if (++num_visited > kMaxEntries) {
          source_.fail_as_damaged("a group has more than 65 536 entries", static_cast<std::int64_t>(node));
        }
        if (signature == "TREE") {
          const std::uint64_t first = node + 8 + 2 * std::uint64_t{offset_size_} + length_size_;
          nodes.push_back(base_ + offset_at(first + k * (offset_size_ + std::uint64_t{length_size_})));
          continue;
        }
        if (wanted.empty()) {
          ++count;
          continue;
        }
        const std::uint64_t entry = node + 8 + k * (2 * std::uint64_t{offset_size_} + kEntryScratch);
        const std::uint64_t name = names + offset_at(entry);
        if (bytes(name, wanted.size() + 1, "a name") == std::string(wanted) + '\0') {
          return count_entries(messages_of(base_ + offset_at(entry + offset_size_)), "");
        }
      }
    }
    break;  // a group has one table
  }
  return count;
}

std::int64_t Hdf5RootAttributes::num_members() const {
  // Older files list the layers in an attribute, whose dataspace is one-dimensional.
  if (const Attribute* const names = find("layer_names"); names != nullptr && names->dataspace.size() >= 4) {
    const std::uint64_t at = position_of(names->dataspace);
    const std::uint64_t dimensions = at + (number(at, 1) == 1 ? 8 : 4);
    if (number(at + 1, 1) == 1)
      return static_cast<std::int64_t>(std::min<std::uint64_t>(length_at(dimensions), kMaxMessages));
  }
  return count_entries(root_, "layers");
}

}  // namespace latpred::readers
