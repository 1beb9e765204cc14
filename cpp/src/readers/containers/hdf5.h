#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/source.h"

namespace latpred::readers {

// The attributes of an HDF5 file's root group: all that a whole Keras model keeps its network in. Data sets, filters
// and the rest of the format are not looked at. `source` must outlive it.
class Hdf5RootAttributes {
 public:
  // Throws ModelFileError where the file is cut off or broken, or stores the attributes in a form that is not read.
  explicit Hdf5RootAttributes(const Source& source);

  // The text of attribute `name`; nothing where there is none. Throws ModelFileError where it is no text.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  // Of a file of weights: how many layers it lists.
  [[nodiscard]] std::int64_t num_members() const;

 private:
  struct Attribute {
    std::string_view name;
    std::string_view datatype;
    std::string_view dataspace;
    std::string_view data;
  };
  // One message of an object header.
  struct Message {
    std::uint64_t type = 0;
    std::string_view data;
  };

  [[nodiscard]] std::string_view bytes(std::uint64_t position, std::uint64_t size, const char* what) const;
  [[nodiscard]] std::uint64_t number(std::uint64_t position, unsigned size) const;
  [[nodiscard]] std::uint64_t offset_at(std::uint64_t position) const { return number(position, offset_size_); }
  [[nodiscard]] std::uint64_t length_at(std::uint64_t position) const { return number(position, length_size_); }
  [[nodiscard]] std::uint64_t position_of(std::string_view part) const;

  [[nodiscard]] std::vector<Message> messages_of(std::uint64_t header) const;
  [[nodiscard]] std::uint64_t find_root();
  void add_attribute(std::string_view message);
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  [[nodiscard]] std::string_view heap_object(std::uint64_t collection, std::uint64_t index) const;
  // Entries of a group, or of the one named `wanted` in it.
  [[nodiscard]] std::int64_t count_entries(const std::vector<Message>& group, std::string_view wanted) const;

  const Source& source_;
  unsigned offset_size_ = 8;  // bytes in an address
  unsigned length_size_ = 8;
  std::uint64_t base_ = 0;  // what addresses count from
  std::vector<Message> root_;
  std::vector<Attribute> attributes_;
};

}  // namespace latpred::readers
