#include <algorithm>
#include <limits>
#include <string>

#include "latpred/text.h"
#include "readers/tensorflow/tensorflow_operators.h"

// What cuts tensors: parts and ranges.
namespace latpred::readers::tensorflow {
namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

std::size_t count_of(const Node& node, std::string_view name) {
  constexpr std::int64_t kMostResults = 65536;
  const std::int64_t count = node.integer(name);
  if (count < 0 || count > kMostResults) node.fail(concat("its '", name, "' is ", count));
  return static_cast<std::size_t>(count);
}

void unpack(Node& node) {
  const std::int64_t axis = node.integer("axis");
  const auto parts = node.parts(OperatorId::split, {node.input(0)}, settings({{"axis", axis}}), count_of(node, "num"));
  std::vector<VariableId> results;
  for (const VariableId part : parts) {
    results.push_back(node.part(OperatorId::squeeze, {part}, settings({{"axes", std::vector<std::int64_t>{axis}}})));
  }
  node.set_results(std::move(results));
}

// Axis, then the tensor.
void split(Node& node) {
  node.result(OperatorId::split, {node.input(1)}, settings({{"axis", node.integer_of(0, "axis")}}),
              count_of(node, "num_split"));
}

// The tensor, the sizes (one of which may be the rest, -1), the axis.
void split_v(Node& node) {
  const std::int64_t axis = node.integer_of(2, "axis");
  const std::size_t count = count_of(node, "num_split");
  const auto sizes = node.known(1);
  const bool has_rest = sizes && std::find(sizes->begin(), sizes->end(), -1) != sizes->end();
  if (!has_rest) {
    node.result(OperatorId::split, {node.input(0), node.input(1)}, settings({{"axis", axis}}), count);
    return;
  }
  if (sizes->size() != count) node.fail(concat("gives ", count, " parts of sizes ", shape_text(*sizes)));
  // Sizes before the rest count from the start, those after it from the end.
  std::vector<VariableId> results;
  const auto rest = static_cast<std::size_t>(std::find(sizes->begin(), sizes->end(), -1) - sizes->begin());
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t before = 0;
    std::int64_t after = 0;
    for (std::size_t i = 0; i < k && k <= rest; ++i) before += (*sizes)[i];
    for (std::size_t i = std::max(k, rest) + (k > rest ? 0 : 1); i < count; ++i) after += (*sizes)[i];
    const std::int64_t start = k <= rest ? before : -after;
    const std::int64_t length = (*sizes)[k];
    const std::int64_t stop =
        k < rest ? before + length : (k == rest ? (after == 0 ? kToTheEnd : -after) : -after + length);
    results.push_back(node.part(OperatorId::slice, {node.input(0)},
                                settings({{"starts", std::vector<std::int64_t>{start}},
                                          {"ends", std::vector<std::int64_t>{stop == 0 ? kToTheEnd : stop}},
                                          {"axes", std::vector<std::int64_t>{axis}}})));
  }
  node.set_results(std::move(results));
}

// `value` where it is one of the marked numbers, `other` where it is not; all on shape arithmetic.
VariableId replaced(Node& node, VariableId values, const std::vector<std::int64_t>& mask,
                    const std::vector<std::int64_t>& others) {
  if (std::find(mask.begin(), mask.end(), 1) == mask.end()) return values;
  return node.part(OperatorId::where, {node.integers_constant(mask), node.integers_constant(others), values});
}

// x, begin, size: -1 takes the rest.
void slice(Node& node) {
  const auto begins = node.known(1);
  const auto sizes = node.known(2);
  if (begins && sizes && begins->size() == sizes->size()) {
    std::vector<std::int64_t> ends(begins->size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const bool is_rest = (*sizes)[i] == -1;
      if (is_rest || __builtin_add_overflow((*begins)[i], (*sizes)[i], &ends[i])) ends[i] = kToTheEnd;
    }
    node.result(OperatorId::slice, {node.input(0)}, settings({{"starts", *begins}, {"ends", ends}}));
    return;
  }
  const VariableId stop = node.part(OperatorId::add, {node.input(1), node.input(2)});
  const VariableId is_rest = node.part(OperatorId::equal, {node.input(2), node.scalar_constant(DType::int64, -1)});
  const VariableId end =
      node.part(OperatorId::where, {is_rest, node.scalar_constant(DType::int64, static_cast<double>(kToTheEnd)), stop});
  node.result(OperatorId::slice, {node.input(0), node.input(1), end});
}

// What a strided slice does with one entry of its lists.
struct Entry {
  bool is_ellipsis = false;
  bool is_new = false;
  bool takes_start = false;
  bool takes_end = false;
  bool drops = false;
};

std::vector<Entry> entries_of(const Node& node, std::size_t count) {
  const auto mask = [&](std::string_view name) { return node.integer(name); };
  const std::int64_t begin = mask("begin_mask");
  const std::int64_t end = mask("end_mask");
  const std::int64_t ellipsis = mask("ellipsis_mask");
  const std::int64_t fresh = mask("new_axis_mask");
  const std::int64_t shrink = mask("shrink_axis_mask");
  std::vector<Entry> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto has = [&](std::int64_t bits) { return ((bits >> i) & 1) != 0; };
    entries[i] = {.is_ellipsis = has(ellipsis),
                  .is_new = has(fresh) && !has(ellipsis),
                  .takes_start = has(begin),
                  .takes_end = has(end),
                  .drops = has(shrink)};
  }
  return entries;
}

// x, begin, end, strides, with masks: everything that Python's x[...] can say.
void strided_slice(Node& node) {
  constexpr std::size_t kMostEntries = 32;  // bits of a mask
  const std::vector<std::int64_t> strides = node.integers_of(3, "strides");
  if (strides.size() > kMostEntries) node.fail(concat("has ", strides.size(), " entries, at most ", kMostEntries));
  const std::vector<Entry> entries = entries_of(node, strides.size());
  const auto ellipsis = std::find_if(entries.begin(), entries.end(), [](const Entry& one) { return one.is_ellipsis; });
  const auto dots = static_cast<std::size_t>(ellipsis - entries.begin());

  // Entries behind the dots count from the last dimension, of the input for what is cut and of the result for what is
  // put in.
  std::int64_t behind_input = 0;
  std::int64_t behind_result = 0;
  for (std::size_t i = dots + 1; i < entries.size(); ++i) {
    if (!entries[i].is_new) ++behind_input;
    if (entries[i].is_new || !entries[i].drops) ++behind_result;
  }
  std::vector<std::size_t> cut;  // entries
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> dropped;
  std::vector<std::int64_t> put_in;
  std::int64_t at_input = 0;
  std::int64_t at_result = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == dots) {
      at_input = -behind_input;
      at_result = -behind_result;
      continue;
    }
    if (entries[i].is_new) {
      put_in.push_back(at_result++);
      continue;
    }
    cut.push_back(i);
    axes.push_back(at_input);
    if (entries[i].drops) {
      dropped.push_back(at_input);
    } else {
      ++at_result;
    }
    ++at_input;
  }

  VariableId result = node.input(0);
  const bool cuts_something = std::any_of(cut.begin(), cut.end(), [&](std::size_t i) {
    return entries[i].drops || !entries[i].takes_start || !entries[i].takes_end || strides[i] != 1;
  });
  if (cuts_something) {
    std::vector<std::int64_t> steps;
    std::vector<std::int64_t> from_start;  // whether an entry's begin is the border
    std::vector<std::int64_t> starts_there;
    std::vector<std::int64_t> to_end;
    std::vector<std::int64_t> ends_there;
    std::vector<std::int64_t> positions;
    for (const std::size_t i : cut) {
      const Entry& entry = entries[i];
      const bool forward = strides[i] > 0;
      steps.push_back(entry.drops ? 1 : strides[i]);
      from_start.push_back(entry.takes_start && !entry.drops ? 1 : 0);
      starts_there.push_back(forward ? 0 : kToTheEnd);
      to_end.push_back(entry.takes_end && !entry.drops ? 1 : 0);
      ends_there.push_back(forward ? kToTheEnd : std::numeric_limits<std::int64_t>::min());
      positions.push_back(static_cast<std::int64_t>(i));
    }
    const auto begins = node.known(1);
    const auto ends = node.known(2);
    // A dropped dimension keeps one element whatever its end says.
    const bool drops_any = !dropped.empty();
    const bool begins_fit = begins && begins->size() == strides.size();
    const bool ends_fit = ends && ends->size() == strides.size();
    std::vector<VariableId> inputs{result, kAbsent, kAbsent, kAbsent, kAbsent};
    Attributes attributes = settings({{"axes", axes}, {"steps", steps}});
    if (begins_fit && ends_fit) {
      std::vector<std::int64_t> starts;
      std::vector<std::int64_t> stops;
      for (std::size_t k = 0; k < cut.size(); ++k) {
        const std::int64_t start = from_start[k] != 0 ? starts_there[k] : (*begins)[cut[k]];
        starts.push_back(start);
        if (entries[cut[k]].drops) {
          stops.push_back(start == -1 || start == kToTheEnd ? kToTheEnd : start + 1);
        } else {
          stops.push_back(to_end[k] != 0 ? ends_there[k] : (*ends)[cut[k]]);
        }
      }
      attributes.set("starts", starts);
      attributes.set("ends", stops);
      inputs = {result};
    } else {
      // Known when the sizes are: shape arithmetic does what the masks say.
      const bool is_whole = cut.size() == entries.size();
      const auto chosen = [&](VariableId list) {
        return is_whole ? list : node.part(OperatorId::gather, {list, node.integers_constant(positions)});
      };
      const VariableId start = replaced(node, chosen(node.input(1)), from_start, starts_there);
      VariableId stop = replaced(node, chosen(node.input(2)), to_end, ends_there);
      if (drops_any) {
        const VariableId next = node.part(OperatorId::add, {start, node.scalar_constant(DType::int64, 1)});
        const VariableId is_last = node.part(OperatorId::equal, {start, node.scalar_constant(DType::int64, -1)});
        const std::vector<std::int64_t> far(cut.size(), kToTheEnd);
        const VariableId one = node.part(OperatorId::where, {is_last, node.integers_constant(far), next});
        std::vector<std::int64_t> mask;
        for (const std::size_t i : cut) mask.push_back(entries[i].drops ? 1 : 0);
        stop = node.part(OperatorId::where, {node.integers_constant(mask), one, stop});
      }
      inputs[1] = start;
      inputs[2] = stop;
    }
    result = node.part(OperatorId::slice, std::move(inputs), std::move(attributes));
  }
  if (!dropped.empty()) result = node.part(OperatorId::squeeze, {result}, settings({{"axes", dropped}}));
  if (!put_in.empty()) result = node.part(OperatorId::unsqueeze, {result}, settings({{"axes", put_in}}));
  node.alias(result);
}

const std::vector<OperatorRow> kSlices{
    {"Unpack", OperatorId::split, unpack},
    {"Split", OperatorId::split, split},
    {"SplitV", OperatorId::split, split_v},
    {"Slice", OperatorId::slice, slice},
    {"StridedSlice", OperatorId::slice, strided_slice},
};

}  // namespace

const std::vector<OperatorRow>& slice_rows() { return kSlices; }

}  // namespace latpred::readers::tensorflow
