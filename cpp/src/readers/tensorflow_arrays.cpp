#include <algorithm>
#include <limits>
#include <string>

#include "latpred/text.h"
#include "readers/tensorflow_operators.h"

// What makes, reshapes, joins, cuts and picks tensors.
namespace latpred::readers::tensorflow {
namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

void alias(Node& node) { node.alias(node.input(0)); }

void alias_all(Node& node) { node.set_results(node.inputs()); }

void random(Node& node) {
  node.result(row_of(node).op, {node.input(0)}, settings({{"dtype", static_cast<std::int64_t>(node.dtype("dtype"))}}));
}

void shape_of(Node& node) { node.result(row_of(node).op, {node.input(0)}); }

void shapes_of(Node& node) {
  std::vector<VariableId> results;
  for (const VariableId input : node.inputs()) results.push_back(node.part(OperatorId::shape, {input}));
  node.set_results(std::move(results));
}

void rank(Node& node) {
  if (const auto known = node.sizes_of(0)) {
    node.alias(node.scalar_constant(DType::int32, static_cast<double>(known->size())));
    return;
  }
  const VariableId sizes = node.part(OperatorId::shape, {node.input(0)});
  node.result(OperatorId::size, {sizes});
}

// A target of 0 is an empty dimension here, not a kept one.
void reshape(Node& node) {
  node.result(OperatorId::reshape, {node.input(0), node.input(1)}, settings({{"allowzero", std::int64_t{1}}}));
}

void expand_dims(Node& node) {
  node.result(OperatorId::unsqueeze, {node.input(0)}, settings({{"axes", node.integers_of(1, "axis")}}));
}

void squeeze(Node& node) {
  const std::vector<std::int64_t> axes = node.integers("squeeze_dims");
  node.result(OperatorId::squeeze, {node.input(0)}, axes.empty() ? Attributes{} : settings({{"axes", axes}}));
}

void transpose(Node& node) {
  node.result(OperatorId::transpose, {node.input(0)}, settings({{"perm", node.integers_of(1, "order")}}));
}

void broadcast_to(Node& node) { node.result(OperatorId::expand, {node.input(0), node.input(1)}); }

// Shapes that broadcast against each other: the larger size of each dimension.
void broadcast_shapes(Node& node) { node.result(OperatorId::max, {node.input(0), node.input(1)}); }

void tile(Node& node) { node.result(OperatorId::tile, {node.input(0), node.input(1)}); }

// A pair for each dimension -> all starts, then all ends.
void pad(Node& node) {
  VariableId pads = kAbsent;
  if (const auto known = node.known(1)) {
    std::vector<std::int64_t> flat;
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t i = first; i < known->size(); i += 2) flat.push_back((*known)[i]);
    }
    pads = node.integers_constant(flat);
  } else {
    const VariableId turned =
        node.part(OperatorId::transpose, {node.input(1)}, settings({{"perm", std::vector<std::int64_t>{1, 0}}}));
    pads = node.part(OperatorId::reshape, {turned, node.integers_constant({-1})});
  }
  Attributes attributes;
  if (node.op() == "MirrorPad") {
    attributes.set("mode", std::string(node.text("mode") == "REFLECT" ? "reflect" : "edge"));
  }
  std::vector<VariableId> inputs{node.input(0), pads};
  if (node.op() == "PadV2") inputs.push_back(node.input(2));
  node.result(OperatorId::pad, std::move(inputs), std::move(attributes));
}

// Axis last (ConcatV2) or first (Concat).
void concat_inputs(Node& node, std::size_t axis_at) {
  std::vector<VariableId> inputs = node.inputs();
  const std::int64_t axis = node.integer_of(axis_at, "axis");
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(axis_at));
  if (inputs.empty()) node.fail("joins nothing");
  node.result(OperatorId::concat, std::move(inputs), settings({{"axis", axis}}));
}

void concat_v2(Node& node) {
  if (node.inputs().empty()) node.fail("joins nothing");
  concat_inputs(node, node.inputs().size() - 1);
}

void concat_v1(Node& node) { concat_inputs(node, 0); }

void pack(Node& node) {
  const std::int64_t axis = node.integer("axis");
  std::vector<VariableId> parts;
  for (const VariableId input : node.inputs()) {
    parts.push_back(node.part(OperatorId::unsqueeze, {input}, settings({{"axes", std::vector<std::int64_t>{axis}}})));
  }
  if (parts.empty()) node.fail("joins nothing");
  node.result(OperatorId::concat, std::move(parts), settings({{"axis", axis}}));
}

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

// Elements of axis `axis`; with batch dimensions each has indices of its own.
void gather_along(Node& node, std::int64_t axis, std::int64_t batch_dims) {
  if (batch_dims == 0) {
    node.result(OperatorId::gather, {node.input(0), node.input(1)}, settings({{"axis", axis}}));
    return;
  }
  if (axis != batch_dims) {
    node.fail(concat("gathers along axis ", axis, " behind ", batch_dims, " batch dimensions, which is not read"));
  }
  const VariableId indices =
      node.part(OperatorId::unsqueeze, {node.input(1)}, settings({{"axes", std::vector<std::int64_t>{-1}}}));
  node.result(OperatorId::gather_nd, {node.input(0), indices}, settings({{"batch_dims", batch_dims}}));
}

void gather_v2(Node& node) { gather_along(node, node.integer_of(2, "axis"), node.integer("batch_dims")); }

void gather(Node& node) { gather_along(node, 0, 0); }

void resource_gather(Node& node) {
  const std::int64_t batch_dims = node.integer("batch_dims");
  gather_along(node, batch_dims, batch_dims);
}

void gather_nd(Node& node) { node.result(OperatorId::gather_nd, {node.input(0), node.input(1)}); }

// indices, updates, the shape of the result.
void scatter_nd(Node& node) {
  const VariableId zeros = node.part(OperatorId::expand, {node.scalar_constant(node.dtype("T"), 0), node.input(2)});
  node.result(OperatorId::scatter_nd, {zeros, node.input(0), node.input(1)});
}

void tensor_scatter(Node& node) { node.result(OperatorId::scatter_nd, {node.input(0), node.input(1), node.input(2)}); }

// indices, depth, value where hot, value elsewhere.
void one_hot(Node& node) {
  node.result(OperatorId::one_hot, {node.input(0), node.input(1), node.input(2)},
              settings({{"axis", node.integer("axis")}}));
}

// Shape, value.
void fill(Node& node) { node.result(OperatorId::expand, {node.input(1), node.input(0)}); }

void like(Node& node) {
  const VariableId sizes = node.part(OperatorId::shape, {node.input(0)});
  const double value = node.op() == "OnesLike" ? 1 : 0;
  node.result(OperatorId::expand, {node.scalar_constant(node.dtype("T"), value), sizes});
}

void range(Node& node) { node.result(OperatorId::range, {node.input(0), node.input(1), node.input(2)}); }

void reverse(Node& node) {
  node.result(OperatorId::flip, {node.input(0)}, settings({{"axes", node.integers_of(1, "axes")}}));
}

void roll(Node& node) { node.result(OperatorId::roll, {node.input(0)}); }

void band_part(Node& node) { node.result(OperatorId::trilu, {node.input(0)}); }

// Positions of what is not zero, one row for each.
void where_true(Node& node) {
  const VariableId found = node.part(OperatorId::non_zero, {node.input(0)});
  node.result(OperatorId::transpose, {found}, settings({{"perm", std::vector<std::int64_t>{1, 0}}}));
}

// boxes [n, 4], scores [n], how many at most, thresholds.
void suppress(Node& node) {
  const auto first = settings({{"axes", std::vector<std::int64_t>{0}}});
  const VariableId boxes = node.part(OperatorId::unsqueeze, {node.input(0)}, first);
  const VariableId scores =
      node.part(OperatorId::unsqueeze, {node.input(1)}, settings({{"axes", std::vector<std::int64_t>{0, 1}}}));
  const VariableId most = node.part(OperatorId::reshape, {node.input(2), node.integers_constant({-1})});
  const VariableId chosen = node.part(OperatorId::non_max_suppression, {boxes, scores, most});
  const VariableId last = node.part(OperatorId::slice, {chosen},
                                    settings({{"starts", std::vector<std::int64_t>{2}},
                                              {"ends", std::vector<std::int64_t>{3}},
                                              {"axes", std::vector<std::int64_t>{1}}}));
  const VariableId indices = node.part(OperatorId::squeeze, {last}, settings({{"axes", std::vector<std::int64_t>{1}}}));
  std::vector<VariableId> results{indices};
  if (node.op() == "NonMaxSuppressionV5") results.push_back(node.part(OperatorId::gather, {node.input(1), indices}));
  if (node.op() == "NonMaxSuppressionV4" || node.op() == "NonMaxSuppressionV5") {
    results.push_back(node.part(OperatorId::size, {indices}));
  }
  node.set_results(std::move(results));
}

// --- lists of tensors, which loops fill and read turn by turn

void list_reserve(Node& node) { node.alias(node.lowering().make_list(node, {})); }

void list_from_tensor(Node& node) { node.alias(node.lowering().make_list(node, {.stacked = node.input(0)})); }

TensorList& list_of(const Node& node) {
  TensorList* const found = node.lowering().list(node.input(0));
  if (found == nullptr) node.fail("takes a list of tensors that is made by no operator known here");
  return *found;
}

VariableId filled(const Node& node) {
  const TensorList& list = list_of(node);
  if (list.stacked == kAbsent) node.fail("reads a list of tensors before anything is put into it");
  return list.stacked;
}

void list_get(Node& node) {
  node.result(OperatorId::gather, {filled(node), node.input(1)}, settings({{"axis", std::int64_t{0}}}));
}

void list_set(Node& node) {
  (void)list_of(node);
  node.alias(node.lowering().make_list(node, {.item = node.input(2), .position = node.input(1)}));
}

void list_push(Node& node) {
  (void)list_of(node);
  node.alias(node.lowering().make_list(node, {.item = node.input(1)}));
}

void list_stack(Node& node) { node.alias(filled(node)); }

void list_concat(Node& node) {
  node.fail("joins a list of tensors of different sizes, which is not read; stack tensors of one size");
}

void list_length(Node& node) {
  const VariableId sizes = node.part(OperatorId::shape, {filled(node)}, settings({{"end", std::int64_t{1}}}));
  node.result(OperatorId::squeeze, {sizes}, settings({{"axes", std::vector<std::int64_t>{0}}}));
}

const std::vector<OperatorRow> kRows{
    {"Identity", OperatorId::identity, alias},
    {"StopGradient", OperatorId::identity, alias},
    {"PreventGradient", OperatorId::identity, alias},
    {"CheckNumerics", OperatorId::identity, alias},
    {"Snapshot", OperatorId::identity, alias},
    {"EnsureShape", OperatorId::identity, alias},
    {"PlaceholderWithDefault", OperatorId::identity, alias},
    {"ReadVariableOp", OperatorId::identity, alias},
    {"DebugIdentityV2", OperatorId::identity, alias},
    {"IdentityN", OperatorId::identity, alias_all},
    {"Shape", OperatorId::shape, shape_of},
    {"ShapeN", OperatorId::shape, shapes_of},
    {"Size", OperatorId::size, shape_of},
    {"Rank", OperatorId::size, rank},
    {"Reshape", OperatorId::reshape, reshape},
    {"ExpandDims", OperatorId::unsqueeze, expand_dims},
    {"Squeeze", OperatorId::squeeze, squeeze},
    {"Transpose", OperatorId::transpose, transpose},
    {"BroadcastTo", OperatorId::expand, broadcast_to},
    {"BroadcastArgs", OperatorId::max, broadcast_shapes},
    {"Tile", OperatorId::tile, tile},
    {"Pad", OperatorId::pad, pad},
    {"PadV2", OperatorId::pad, pad},
    {"MirrorPad", OperatorId::pad, pad},
    {"ConcatV2", OperatorId::concat, concat_v2},
    {"Concat", OperatorId::concat, concat_v1},
    {"Pack", OperatorId::concat, pack},
    {"Unpack", OperatorId::split, unpack},
    {"Split", OperatorId::split, split},
    {"SplitV", OperatorId::split, split_v},
    {"Slice", OperatorId::slice, slice},
    {"StridedSlice", OperatorId::slice, strided_slice},
    {"Gather", OperatorId::gather, gather},
    {"GatherV2", OperatorId::gather, gather_v2},
    {"ResourceGather", OperatorId::gather, resource_gather},
    {"GatherNd", OperatorId::gather_nd, gather_nd},
    {"ResourceGatherNd", OperatorId::gather_nd, gather_nd},
    {"ScatterNd", OperatorId::scatter_nd, scatter_nd},
    {"TensorScatterUpdate", OperatorId::scatter_nd, tensor_scatter},
    {"TensorScatterAdd", OperatorId::scatter_nd, tensor_scatter},
    {"OneHot", OperatorId::one_hot, one_hot},
    {"Fill", OperatorId::expand, fill},
    {"ZerosLike", OperatorId::expand, like},
    {"OnesLike", OperatorId::expand, like},
    {"Range", OperatorId::range, range},
    {"ReverseV2", OperatorId::flip, reverse},
    {"Roll", OperatorId::roll, roll},
    {"MatrixBandPart", OperatorId::trilu, band_part},
    {"Where", OperatorId::non_zero, where_true},
    {"NonMaxSuppression", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV2", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV3", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV4", OperatorId::non_max_suppression, suppress},
    {"NonMaxSuppressionV5", OperatorId::non_max_suppression, suppress},
    {"RandomUniform", OperatorId::random_uniform, random},
    {"RandomStandardNormal", OperatorId::random_normal, random},
    {"TruncatedNormal", OperatorId::random_normal, random},
    {"TensorListReserve", OperatorId::sequence_empty, list_reserve},
    {"EmptyTensorList", OperatorId::sequence_empty, list_reserve},
    {"TensorListFromTensor", OperatorId::sequence_construct, list_from_tensor},
    {"TensorListGetItem", OperatorId::sequence_at, list_get},
    {"TensorListSetItem", OperatorId::sequence_insert, list_set},
    {"TensorListPushBack", OperatorId::sequence_insert, list_push},
    {"TensorListStack", OperatorId::concat_from_sequence, list_stack},
    {"TensorListConcatV2", OperatorId::concat_from_sequence, list_concat},
    {"TensorListLength", OperatorId::sequence_length, list_length},
};

}  // namespace

const std::vector<OperatorRow>& array_rows() { return kRows; }

bool is_alias(std::string_view op) {
  const OperatorRow* const row = operator_row(op);
  return row != nullptr && row->convert == alias;
}

}  // namespace latpred::readers::tensorflow
