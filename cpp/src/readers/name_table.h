#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "latpred/program.h"

namespace latpred::readers {

// Names of a file -> variables. Open addressing in one array: half of the time that reading a graph takes would go
// into the nodes of a std::unordered_map.
class NameTable {
 public:
  void reserve(std::size_t count) {
    if (2 * count > slots_.size()) rehash(2 * count);
  }

  [[nodiscard]] const VariableId* find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[position(name)];
    return slot.is_used ? &slot.id : nullptr;
  }

  // The entry of `name`, made with `id` where there is none yet, and whether it was made. Valid until the next call.
  std::pair<VariableId*, bool> emplace(std::string_view name, VariableId id) {
    if (2 * (count_ + 1) > slots_.size()) rehash(4 * (count_ + 1));
    Slot& slot = slots_[position(name)];
    if (slot.is_used) return {&slot.id, false};
    slot = {name, id, true};
    ++count_;
    return {&slot.id, true};
  }

 private:
  struct Slot {
    std::string_view name;
    VariableId id = kAbsent;
    bool is_used = false;
  };

  // Where `name` stands or would stand; the table is never full.
  [[nodiscard]] std::size_t position(std::string_view name) const {
    std::size_t slot = std::hash<std::string_view>{}(name)&mask_;
    while (slots_[slot].is_used && slots_[slot].name != name) slot = (slot + 1) & mask_;
    return slot;
  }

  void rehash(std::size_t least) {
    std::size_t size = 8;
    while (size < least) size *= 2;
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
    mask_ = size - 1;
    for (Slot& slot : old) {
      if (slot.is_used) slots_[position(slot.name)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t count_ = 0;
};

}  // namespace latpred::readers
