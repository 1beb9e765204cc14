#include "readers/pickle.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "latpred/text.h"

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

// How the argument that follows an opcode is delimited (pickletools.py of CPython names them likewise).
enum class Argument : std::uint8_t {
  none,
  bytes1,
  bytes2,
  bytes4,
  bytes8,
  counted1,  // a length of 1, 4 or 8 bytes, then as many
  counted4,
  counted8,
  line,
  two_lines,
};

enum class Effect : std::uint8_t {
  push,         // pops `pops`, pushes something
  push_text,    // a text, which may name a class
  pop,          // pops `pops`
  mark,         // pushes a mark
  to_mark,      // pops down to the mark, pushes something
  drop_mark,    // pops down to the mark
  get,          // pushes what is remembered under the argument
  put,          // remembers the top under the argument
  memoize,      // remembers the top under the next number
  global,       // the class is the argument
  stack_class,  // the class is the two texts on top
  inst,         // class in the argument, called with what is above the mark
  obj,          // called with what is above the mark, the class lowest
  call,         // pops arguments and a callable, pushes its result; one more for NEWOBJ_EX
  duplicate,
  extension,  // a class by its number in a registry of the running Python
  stop,
};

struct Opcode {
  char code;
  Argument argument;
  Effect effect;
  std::uint8_t pops = 0;
};

// Every opcode of protocols 0 to 5 (pickletools.opcodes).
constexpr Opcode kOpcodes[] = {
    {'I', Argument::line, Effect::push},
    {'J', Argument::bytes4, Effect::push},
    {'K', Argument::bytes1, Effect::push},
    {'M', Argument::bytes2, Effect::push},
    {'L', Argument::line, Effect::push},
    {'\x8a', Argument::counted1, Effect::push},
    {'\x8b', Argument::counted4, Effect::push},
    {'S', Argument::line, Effect::push_text},
    {'T', Argument::counted4, Effect::push_text},
    {'U', Argument::counted1, Effect::push_text},
    {'B', Argument::counted4, Effect::push},
    {'C', Argument::counted1, Effect::push},
    {'\x8e', Argument::counted8, Effect::push},
    {'\x96', Argument::counted8, Effect::push},
    {'\x97', Argument::none, Effect::push},
    {'\x98', Argument::none, Effect::push, 1},
    {'N', Argument::none, Effect::push},
    {'\x88', Argument::none, Effect::push},
    {'\x89', Argument::none, Effect::push},
    {'V', Argument::line, Effect::push_text},
    {'\x8c', Argument::counted1, Effect::push_text},
    {'X', Argument::counted4, Effect::push_text},
    {'\x8d', Argument::counted8, Effect::push_text},
    {'F', Argument::line, Effect::push},
    {'G', Argument::bytes8, Effect::push},
    {']', Argument::none, Effect::push},
    {'a', Argument::none, Effect::pop, 1},
    {'e', Argument::none, Effect::drop_mark},
    {'l', Argument::none, Effect::to_mark},
    {')', Argument::none, Effect::push},
    {'t', Argument::none, Effect::to_mark},
    {'\x85', Argument::none, Effect::push, 1},
    {'\x86', Argument::none, Effect::push, 2},
    {'\x87', Argument::none, Effect::push, 3},
    {'}', Argument::none, Effect::push},
    {'d', Argument::none, Effect::to_mark},
    {'s', Argument::none, Effect::pop, 2},
    {'u', Argument::none, Effect::drop_mark},
    {'\x8f', Argument::none, Effect::push},
    {'\x90', Argument::none, Effect::drop_mark},
    {'\x91', Argument::none, Effect::to_mark},
    {'0', Argument::none, Effect::pop, 1},
    {'2', Argument::none, Effect::duplicate},
    {'(', Argument::none, Effect::mark},
    {'1', Argument::none, Effect::drop_mark},
    {'g', Argument::line, Effect::get},
    {'h', Argument::bytes1, Effect::get},
    {'j', Argument::bytes4, Effect::get},
    {'p', Argument::line, Effect::put},
    {'q', Argument::bytes1, Effect::put},
    {'r', Argument::bytes4, Effect::put},
    {'\x94', Argument::none, Effect::memoize},
    {'\x82', Argument::bytes1, Effect::extension},
    {'\x83', Argument::bytes2, Effect::extension},
    {'\x84', Argument::bytes4, Effect::extension},
    {'c', Argument::two_lines, Effect::global},
    {'\x93', Argument::none, Effect::stack_class},
    {'R', Argument::none, Effect::call, 1},
    {'b', Argument::none, Effect::pop, 1},
    {'i', Argument::two_lines, Effect::inst},
    {'o', Argument::none, Effect::obj},
    {'\x81', Argument::none, Effect::call, 1},
    {'\x92', Argument::none, Effect::call, 2},
    {'\x80', Argument::bytes1, Effect::pop, 0},
    {'\x95', Argument::bytes8, Effect::pop, 0},
    {'P', Argument::line, Effect::push},
    {'Q', Argument::none, Effect::push, 1},
    {'.', Argument::none, Effect::stop},
};

constexpr std::size_t kCodes = 256;

// By code; nullptr where no opcode has it.
std::array<const Opcode*, kCodes> opcodes_by_code() {
  std::array<const Opcode*, kCodes> table{};
  for (const Opcode& opcode : kOpcodes) table[static_cast<std::uint8_t>(opcode.code)] = &opcode;
  return table;
}

// Functions that make one tensor or array each.
constexpr std::string_view kTensorMakers[] = {
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_sparse_csr_tensor",
    "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_nested_tensor",
    "torch._utils._rebuild_device_tensor_from_numpy",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor",
    "numpy.core.multiarray._reconstruct",
    "numpy._core.multiarray._reconstruct",
    "numpy.core.numeric._frombuffer",
    "numpy._core.numeric._frombuffer",
};

// The other parts of weights: what torch.load(weights_only=True) lets through (torch/_weights_only_unpickler.py), and
// what numpy needs for its arrays.
constexpr std::string_view kHarmless[] = {
    "collections.OrderedDict",
    "collections.Counter",
    "collections.defaultdict",
    "_codecs.encode",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_wrapper_subclass",
    "torch._tensor._rebuild_from_type_v2",
    "torch.nn.parameter.Parameter",
    "torch.nn.parameter.Buffer",
    "torch.serialization._get_layout",
    "torch.Tensor",
    "torch.Size",
    "torch.device",
    "torch.storage.UntypedStorage",
    "torch.storage.TypedStorage",
    "numpy.ndarray",
    "numpy.dtype",
    "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
};
constexpr std::string_view kHarmlessBuiltins[] = {"set",   "frozenset", "dict", "list", "tuple", "int",
                                                  "float", "complex",   "bool", "str",  "bytes", "bytearray"};
constexpr std::string_view kTorchTypes[] = {"float",
                                            "float16",
                                            "float32",
                                            "float64",
                                            "bfloat16",
                                            "half",
                                            "double",
                                            "uint8",
                                            "uint16",
                                            "uint32",
                                            "uint64",
                                            "int8",
                                            "int16",
                                            "int32",
                                            "int64",
                                            "short",
                                            "int",
                                            "long",
                                            "bool",
                                            "complex32",
                                            "complex64",
                                            "complex128",
                                            "qint8",
                                            "quint8",
                                            "qint32",
                                            "quint4x2",
                                            "quint2x4",
                                            "float8_e4m3fn",
                                            "float8_e5m2",
                                            "per_tensor_affine",
                                            "per_channel_affine",
                                            "strided",
                                            "sparse_coo",
                                            "sparse_csr",
                                            "contiguous_format",
                                            "channels_last",
                                            "preserve_format"};

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
