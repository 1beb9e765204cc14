#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace latpred {

// A number that differs where the words given to it do: FNV-1a over whole words.
class Fingerprint {
 public:
  void add(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x100000001B3;
    hash_ ^= hash_ >> 32;  // words differ in their high bits, which a product alone never brings down
  }
  void add(std::span<const double> values) {
    add(values.size());
    for (const double value : values) add(std::bit_cast<std::uint64_t>(value));
  }
  void add(std::span<const std::int64_t> values) {
    add(values.size());
    for (const std::int64_t value : values) add(static_cast<std::uint64_t>(value));
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325;
};

}  // namespace latpred
