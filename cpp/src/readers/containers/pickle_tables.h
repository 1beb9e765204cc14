#pragma once

#include <cstdint>
#include <string_view>

namespace latpred::readers {

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
inline constexpr Opcode kOpcodes[] = {
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

// Functions that make one tensor or array each.
inline constexpr std::string_view kTensorMakers[] = {
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
inline constexpr std::string_view kHarmless[] = {
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
inline constexpr std::string_view kHarmlessBuiltins[] = {"set",   "frozenset", "dict", "list", "tuple", "int",
                                                         "float", "complex",   "bool", "str",  "bytes", "bytearray"};
inline constexpr std::string_view kTorchTypes[] = {"float",
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

}  // namespace latpred::readers
