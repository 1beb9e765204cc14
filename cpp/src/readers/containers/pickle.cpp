#include "readers/containers/pickle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "latpred/text.h"
#include "readers/containers/pickle_tables.h"

namespace latpred::readers {
namespace {

using namespace std::string_view_literals;

// Guards: an honest pickle of a network has its tensors' content elsewhere or in few long texts.
constexpr std::int64_t kMaxOpcodes = 4'000'000;
constexpr std::size_t kMaxStack = 200'000;
constexpr std::size_t kMaxRemembered = 100'000;
constexpr std::size_t kMaxImports = 50'000;
constexpr std::size_t kMaxClasses = 1000;
constexpr std::size_t kMaxNameBytes = 256;

// torch.save before 1.6 starts with the pickle of this number (torch.serialization.MAGIC_NUMBER).
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."sv;
constexpr std::string_view kPaddleKey = "StructuredToParameterName@@";

constexpr std::size_t kCodes = 256;

// By code; nullptr where no opcode has it.
std::array<const Opcode*, kCodes> opcodes_by_code() {
  std::array<const Opcode*, kCodes> table{};
  for (const Opcode& opcode : kOpcodes) table[static_cast<std::uint8_t>(opcode.code)] = &opcode;
  return table;
}

template <std::size_t count>
bool contains(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_harmless(std::string_view module, std::string_view name, const std::string& qualified) {
  if (contains(kHarmless, qualified)) return true;
  if (module == "builtins" || module == "__builtin__") return contains(kHarmlessBuiltins, name);
  // "torch FloatStorage" and its kin stand for a dtype; they are not called.
  if (module == "torch" || module == "torch.cuda") return name.ends_with("Storage") || contains(kTorchTypes, name);
  return module == "numpy.dtypes" && name.ends_with("DType");
}

enum class ItemKind : std::uint8_t { other, mark, text, global };

struct Item {
  ItemKind kind = ItemKind::other;
  bool makes_tensor = false;
  std::string_view text;
};

// A pickle's stack machine, on kinds of items instead of objects.
class Scanner {
 public:
  explicit Scanner(std::string_view content) : content_(content) {}

  PickleSummary run() {
    static const std::array<const Opcode*, kCodes> opcodes = opcodes_by_code();
    for (std::int64_t count = 0; count < kMaxOpcodes && position_ < content_.size(); ++count) {
      const Opcode* const opcode = opcodes[static_cast<std::uint8_t>(content_[position_++])];
      if (opcode == nullptr || !read_argument(opcode->argument) || !apply(*opcode)) break;
      summary_.size = position_;
      if (opcode->effect != Effect::stop) continue;
      summary_.is_whole = num_imports_ <= kMaxImports;
      break;
    }
    return std::move(summary_);
  }

 private:
  bool take(std::uint64_t size, std::string_view& bytes) {
    if (size > content_.size() - position_) return false;
    bytes = content_.substr(position_, static_cast<std::size_t>(size));
    position_ += static_cast<std::size_t>(size);
    return true;
  }

  bool take_number(std::size_t size, std::uint64_t& number) {
    std::string_view bytes;
    if (!take(size, bytes)) return false;
    number = 0;
    std::memcpy(&number, bytes.data(), bytes.size());  // little-endian, as pickles are
    return true;
  }

  bool take_line(std::string_view& line) {
    const std::size_t end = content_.find('\n', position_);
    if (end == std::string_view::npos) return false;
    line = content_.substr(position_, end - position_);
    position_ = end + 1;
    return true;
  }

  // Leaves texts in text_ (and second_), numbers in number_.
  bool read_argument(Argument argument) {
    switch (argument) {
      case Argument::none:
        return true;
      case Argument::bytes1:
        return take_number(1, number_);
      case Argument::bytes2:
        return take_number(2, number_);
      case Argument::bytes4:
        return take_number(4, number_);
      case Argument::bytes8:
        return take_number(8, number_);
      case Argument::counted1:
        return take_number(1, number_) && take(number_, text_);
      case Argument::counted4:
        return take_number(4, number_) && take(number_, text_);
      case Argument::counted8:
        return take_number(8, number_) && take(number_, text_);
      case Argument::line:
        return take_line(text_) && (parse_number(), true);
      case Argument::two_lines:
        return take_line(text_) && take_line(second_);
    }
    return false;
  }

  void parse_number() {
    number_ = 0;
    std::from_chars(text_.data(), text_.data() + text_.size(), number_);
  }

  bool pop(std::size_t count) {
    for (; count > 0; --count) {
      if (stack_.empty() || stack_.back().kind == ItemKind::mark) return false;
      stack_.pop_back();
    }
    return true;
  }

  // Everything above the last mark and the mark; `lowest` is what stood right above it.
  bool pop_to_mark(Item& lowest) {
    lowest = {};
    while (!stack_.empty()) {
      const Item top = stack_.back();
      stack_.pop_back();
      if (top.kind == ItemKind::mark) return true;
      lowest = top;
    }
    return false;
  }

  bool push(const Item& item) {
    if (stack_.size() >= kMaxStack) return false;
    stack_.push_back(item);
    return true;
  }

  bool remember(std::uint64_t index) {
    if (stack_.empty()) return false;
    const Item& top = stack_.back();
    if (top.kind != ItemKind::text && top.kind != ItemKind::global) return true;
    if (memo_.size() >= kMaxRemembered) return false;
    memo_[index] = top;
    return true;
  }

  // The class or function that a pickle names.
  Item import(std::string_view module, std::string_view name) {
    if (++num_imports_ > kMaxImports) return {};
    if (module.starts_with("paddle") || name == kPaddleKey) summary_.is_paddle = true;
    const std::string qualified =
        concat(module.substr(0, kMaxNameBytes), module.empty() ? "" : ".", name.substr(0, kMaxNameBytes));
    const bool makes_tensor = contains(kTensorMakers, qualified);
    if (!makes_tensor && !is_harmless(module, name, qualified)) note(qualified);
    return {ItemKind::global, makes_tensor, {}};
  }

  void note(const std::string& name) {
    if (seen_.size() < kMaxClasses && seen_.insert(name).second) summary_.classes.push_back(name);
  }

  bool call(const Item& callable) {
    summary_.num_tensors += callable.makes_tensor ? 1 : 0;
    return push({});
  }

  bool apply(const Opcode& opcode) {
    Item lowest;
    switch (opcode.effect) {
      case Effect::push:
        return pop(opcode.pops) && push({});
      case Effect::push_text:
        if (text_ == kPaddleKey) summary_.is_paddle = true;
        return push({ItemKind::text, false, text_});
      case Effect::pop:
        // POP takes a mark as well (protocol 0 does so).
        if (opcode.code == '0' && !stack_.empty()) return stack_.pop_back(), true;
        return pop(opcode.pops);
      case Effect::mark:
        return push({ItemKind::mark, false, {}});
      case Effect::to_mark:
        return pop_to_mark(lowest) && push({});
      case Effect::drop_mark:
        return pop_to_mark(lowest);
      case Effect::get: {
        const auto found = memo_.find(number_);
        return push(found == memo_.end() ? Item{} : found->second);
      }
      case Effect::put:
        return remember(number_);
      case Effect::memoize:
        return remember(next_memo_++);
      case Effect::global:
        return push(import(text_, second_));
      case Effect::stack_class: {
        if (stack_.size() < 2) return false;
        const Item name = stack_.back();
        const Item module = stack_[stack_.size() - 2];
        const bool is_named = name.kind == ItemKind::text && module.kind == ItemKind::text;
        return pop(2) && push(is_named ? import(module.text, name.text) : import("", "(a name made while reading)"));
      }
      case Effect::inst: {
        const Item callable = import(text_, second_);
        return pop_to_mark(lowest) && call(callable);
      }
      case Effect::obj:
        return pop_to_mark(lowest) && call(lowest);
      case Effect::call: {
        if (!pop(opcode.pops) || stack_.empty()) return false;
        const Item callable = stack_.back();
        return pop(1) && call(callable);
      }
      case Effect::duplicate:
        return !stack_.empty() && push(Item{stack_.back()});
      case Effect::extension:
        return push(import("", "(a class by its number)"));
      case Effect::stop:
        return !stack_.empty();
    }
    return false;
  }

  std::string_view content_;
  std::size_t position_ = 0;
  std::string_view text_;
  std::string_view second_;
  std::uint64_t number_ = 0;
  std::uint64_t next_memo_ = 0;
  std::size_t num_imports_ = 0;
  std::unordered_set<std::string> seen_;  // of summary_.classes
  std::vector<Item> stack_;
  std::unordered_map<std::uint64_t, Item> memo_;
  PickleSummary summary_;
};

}  // namespace

PickleSummary scan_pickle(std::string_view content) { return Scanner(content).run(); }

bool is_legacy_checkpoint(std::string_view content) { return content.starts_with(kLegacyMagic); }

PickleSummary scan_legacy_checkpoint(std::string_view content) {
  constexpr int kPickles = 5;  // the magic number, a version, the machine, the object, the names of its storages
  PickleSummary all;
  for (int index = 0; index < kPickles; ++index) {
    PickleSummary one = scan_pickle(content.substr(all.size));
    all.is_whole = one.is_whole;
    all.size += one.size;
    all.num_tensors += one.num_tensors;
    all.classes.insert(all.classes.end(), one.classes.begin(), one.classes.end());
    if (!all.is_whole) break;
  }
  return all;
}

}  // namespace latpred::readers
