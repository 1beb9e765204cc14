#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace latpred::testing {

// A table of a flatbuffer in the making: fields by number, each a number or something that stands elsewhere.
class Flat {
 public:
  template <typename T>
  Flat& number(int field, T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    fields_[field] = {bytes, nullptr};
    return *this;
  }
  template <typename T>
  Flat& numbers(int field, const std::vector<T>& values) {
    return elsewhere(field, [values](std::string& out) {
      const std::size_t position = append(out, static_cast<std::uint32_t>(values.size()));
      for (const T value : values) append(out, value);
      return position;
    });
  }
  Flat& text(int field, const std::string& value) {
    return elsewhere(field, [value](std::string& out) {
      const std::size_t position = append(out, static_cast<std::uint32_t>(value.size()));
      out += value;
      return position;
    });
  }
  Flat& table(int field, const Flat& value) {
    return elsewhere(field, [value](std::string& out) { return value.write(out); });
  }
  Flat& tables(int field, const std::vector<Flat>& values) {
    return elsewhere(field, [values](std::string& out) {
      const std::size_t position = append(out, static_cast<std::uint32_t>(values.size()));
      const std::size_t first = out.size();
      out.append(values.size() * sizeof(std::uint32_t), '\0');
      for (std::size_t i = 0; i < values.size(); ++i) {
        patch(out, first + i * sizeof(std::uint32_t), values[i].write(out));
      }
      return position;
    });
  }

  // The file: the offset of this table, its identifier, the rest.
  [[nodiscard]] std::string file(const std::string& identifier) const {
    std::string out(sizeof(std::uint32_t), '\0');
    out += identifier;
    patch(out, 0, write(out));
    return out;
  }

 private:
  using Write = std::function<std::size_t(std::string& out)>;
  struct Field {
    std::string bytes;
    Write write;
  };

  template <typename T>
  static std::size_t append(std::string& out, T value) {
    const std::size_t position = out.size();
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return position;
  }
  static void patch(std::string& out, std::size_t at, std::size_t target) {
    const auto offset = static_cast<std::uint32_t>(target - at);
    std::memcpy(out.data() + at, &offset, sizeof(offset));
  }
  Flat& elsewhere(int field, Write write) {
    fields_[field] = {std::string(sizeof(std::uint32_t), '\0'), std::move(write)};
    return *this;
  }

  std::size_t write(std::string& out) const {
    constexpr std::size_t kHeader = 4;
    const int num_fields = fields_.empty() ? 0 : fields_.rbegin()->first + 1;
    std::vector<std::uint16_t> offsets(static_cast<std::size_t>(num_fields));
    std::size_t size = kHeader;
    for (const auto& [number, field] : fields_) {
      offsets[static_cast<std::size_t>(number)] = static_cast<std::uint16_t>(size);
      size += field.bytes.size();
    }
    const std::size_t layout = append(out, static_cast<std::uint16_t>(kHeader + 2 * offsets.size()));
    append(out, static_cast<std::uint16_t>(size));
    for (const std::uint16_t offset : offsets) append(out, offset);
    const std::size_t table = append(out, static_cast<std::int32_t>(out.size() - layout));
    for (const auto& [number, field] : fields_) out += field.bytes;
    for (const auto& [number, field] : fields_) {
      if (field.write != nullptr) {
        patch(out, table + offsets[static_cast<std::size_t>(number)], field.write(out));
      }
    }
    return table;
  }

  std::map<int, Field> fields_;
};

}  // namespace latpred::testing
