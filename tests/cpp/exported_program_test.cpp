#include "readers/torch/exported_program.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/exported_program.h"
#include "latpred/shapes.h"
#include "latpred/text.h"
#include "message_of.h"
#include "zip_writer.h"

namespace latpred {
namespace {

using testing::message_of;
using testing::zip_archive;
using testing::ZipItem;

// A document of torch.export in the making: small graphs written as text.
struct Written {
  std::string nodes;
  std::string tensors;
  std::string specs;
  std::string outputs;
  std::string symbols;
  std::string ranges;
  std::string major = "8";

  Written& tensor(const std::string& name, const std::string& sizes, int dtype = 7, const std::string& strides = "") {
    separate(tensors) += "\"" + name + "\":{\"dtype\":" + std::to_string(dtype) + ",\"sizes\":[" + sizes +
                         "],\"strides\":[" + strides + "],\"new_member\":{\"of\":\"a later minor version\"}}";
    return *this;
  }
  Written& spec(const std::string& kind, const std::string& arg, const std::string& more = "") {
    separate(specs) += "{\"" + kind + "\":{\"arg\":{" + arg + "}" + more + "}}";
    return *this;
  }
  Written& input(const std::string& name, const std::string& sizes, int dtype = 7) {
    return tensor(name, sizes, dtype).spec("user_input", R"("as_tensor":{"name":")" + name + "\"}");
  }
  Written& parameter(const std::string& name, const std::string& sizes, const std::string& strides = "") {
    return tensor("p_" + name, sizes, 7, strides)
        .spec("parameter", R"("name":"p_)" + name + "\"", R"(,"parameter_name":")" + name + "\"");
  }
  Written& node(const std::string& target, const std::string& name, const std::string& inputs,
                const std::string& kind = "as_tensor", const std::string& key = "name") {
    const std::string prefix = target.starts_with("_operator.") ? "" : "torch.ops.";
    separate(nodes) += R"({"target":")" + prefix + target + R"(","inputs":[)" + inputs + R"(],"outputs":[{")" + kind +
                       R"(":{")" + key + R"(":")" + name +
                       R"("}}],"metadata":{"stack_trace":"File \"a.py\""},"name":")" + name + "\"}";
    return *this;
  }
  Written& output(const std::string& name) {
    separate(outputs) += R"({"as_tensor":{"name":")" + name + "\"}}";
    return *this;
  }
  [[nodiscard]] std::string graph(const std::string& inputs = "") const {
    return R"({"inputs":[)" + inputs + R"(],"outputs":[)" + outputs + R"(],"nodes":[)" + nodes +
           R"(],"tensor_values":{)" + tensors + R"(},"sym_int_values":{)" + symbols + "}}";
  }
  [[nodiscard]] std::string text() const {
    return R"({"graph_module":{"graph":)" + graph() + R"(,"signature":{"input_specs":[)" + specs +
           R"(],"output_specs":[]}},"opset_version":{"aten":10},"range_constraints":{)" + ranges +
           R"(},"schema_version":{"major":)" + major + R"(,"minor":99},"torch_version":"2.13.0"})";
  }

 private:
  static std::string& separate(std::string& list) { return list += list.empty() ? "" : ","; }
};

std::string argument(const std::string& name, const std::string& value) {
  return R"({"name":")" + name + R"(","arg":{)" + value + R"(},"kind":1})";
}
std::string tensor_argument(const std::string& name, const std::string& tensor) {
  return argument(name, R"("as_tensor":{"name":")" + tensor + "\"}");
}
std::string ints(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : ",") + (R"({"as_int":)" + std::to_string(size) + "}");
  return text;
}
std::string expression(const std::string& srepr) {
  return R"({"as_expr":{"expr_str":")" + srepr + R"(","hint":{"as_int":4}}})";
}
std::string linear_inputs(const std::string& x, const std::string& weight) {
  return tensor_argument("input", x) + "," + tensor_argument("weight", weight);
}

Written linear(const std::string& batch = R"({"as_int":2})") {
  Written file;
  file.input("x", batch + "," + ints({16})).parameter("w", ints({8, 16})).tensor("y", batch + "," + ints({8}));
  file.node("aten.linear.default", "y", linear_inputs("x", "p_w")).output("y");
  return file;
}

Program read(const Written& file, const std::map<std::string, std::string>& weights = {}) {
  return read_exported_program_document(file.text(), weights, "m");
}
Graph graph_of(const Written& file, std::int64_t batch = kSavedBatch) {
  return resolve(std::make_shared<const Program>(read(file)), {.batch = batch});
}
std::string refusal(const Written& file) {
  return message_of<Error>([&] { (void)graph_of(file); });
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const char* const kBatchSymbol = "Symbol('s77', positive=True, integer=True)";

TEST(ExportedProgram, ReadsADocument) {
  const Program program = read(linear());
  EXPECT_EQ(program.source.framework, "pytorch");
  EXPECT_EQ(program.source.format, "torch.export document, schema 8.99");
  EXPECT_EQ(program.source.producer, "torch 2.13.0");
  EXPECT_EQ(program.source.operator_counts.at("aten.linear.default"), 1);
  EXPECT_FALSE(program.folds_stored);
  const Graph graph = graph_of(linear());
  EXPECT_EQ(graph.macs(), 2 * 16 * 8);
  EXPECT_EQ(graph.num_parameters(), 16 * 8);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.inputs.at(0))].name, "x");
  EXPECT_EQ(graph_of(linear(), 8).macs(), 8 * 16 * 8);
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(ExportedProgram, SeesFiltersWithTheChannelsInnermost) {
  const auto ints = [](const Shape& numbers) {
    std::string text;
    for (const std::int64_t number : numbers) {
      text += (text.empty() ? "" : ",") + concat("{\"as_int\":", number, "}");
    }
    return text;
  };
  const auto is_channels_last = [&](const Shape& sizes, const Shape& strides) {
    Written file = linear();
    file.parameter("filter", ints(sizes), ints(strides));
    return read(file).channels_last;
  };
  EXPECT_TRUE(is_channels_last({8, 3, 5, 4}, {60, 1, 12, 3}));
  EXPECT_FALSE(is_channels_last({8, 3, 5, 4}, {60, 20, 4, 1}));
  EXPECT_FALSE(is_channels_last({8, 3, 5, 4}, {120, 1, 24, 3}));  // a part of something
  EXPECT_FALSE(is_channels_last({8, 3, 1, 1}, {3, 1, 3, 3}));     // one pixel: the same in both orders
  EXPECT_FALSE(is_channels_last({8, 1, 3, 3}, {9, 1, 3, 1}));     // one channel: likewise
  EXPECT_FALSE(is_channels_last({8, 3, 5}, {15, 1, 3}));
  EXPECT_NE(message_of<ModelFileError>([&] { (void)is_channels_last({8, 3, -5, 4}, {60, 1, 12, 3}); }), "");

  Written file = linear();
  file.tensor("image", ints({8, 3, 5, 4}), 7, ints({60, 1, 12, 3}));
  EXPECT_FALSE(read(file).channels_last);  // what is no filter says nothing
}

TEST(ExportedProgram, EvaluatesSymbolicSizes) {
  Written file = linear(expression(kBatchSymbol));
  file.ranges = R"("s77":{"min_val":2,"max_val":64})";
  EXPECT_EQ(graph_of(file, 8).macs(), 8 * 16 * 8);
  EXPECT_TRUE(graph_of(file, 8).warnings.empty());
  const Graph one = graph_of(file, 1);
  EXPECT_EQ(one.macs(), 16 * 8);
  EXPECT_EQ(one.warnings, std::vector<std::string>{"the file was made for sizes 's77' of 2 to 64; predicted for 1"});
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { (void)graph_of(file, 65); }),
            "the file was made for sizes 's77' of 2 to 64, asked is 65; ask for one of these or export it with another "
            "range");
}

TEST(ExportedProgram, ComputesSizesOfNodes) {
  Written file;
  const std::string batch = expression(kBatchSymbol);
  file.input("x", batch + "," + ints({16}));
  file.symbols = R"("size":{},"half":{},"rest":{})";
  const std::string x = tensor_argument("self", "x");
  file.node("aten.sym_size.int", "size", x + "," + argument("dim", R"("as_int":0)"), "as_sym_int", "as_name");
  const std::string size = argument("a", R"("as_sym_int":{"as_name":"size"})");
  file.node("_operator.floordiv", "half", size + "," + argument("b", R"("as_int":2)"), "as_sym_int", "as_name");
  file.tensor("y", expression("FloorDiv(" + std::string(kBatchSymbol) + ", Integer(2))") + "," + ints({32}));
  file.node("aten.view.default", "y",
            x + "," + argument("size", R"("as_sym_ints":[{"as_name":"half"},{"as_int":32}])"));
  file.output("y");
  const Graph graph = graph_of(file, 12);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs.at(0))].shape, (Shape{6, 32}));
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(ExportedProgram, TiesWeightsOfOneIdentity) {
  Written file = linear();
  file.parameter("v", ints({8, 16})).tensor("z", ints({2, 8})).output("z");
  file.node("aten.linear.default", "z", linear_inputs("x", "p_v"));
  EXPECT_EQ(graph_of(file).num_parameters(), 2 * 16 * 8);
  const auto program = std::make_shared<const Program>(read(file, {{"w", "1"}, {"v", "1"}}));
  EXPECT_EQ(resolve(program, {.batch = 2}).num_parameters(), 16 * 8);
  const auto apart = std::make_shared<const Program>(read(file, {{"w", "1"}, {"v", "2"}}));
  EXPECT_EQ(resolve(apart, {.batch = 2}).num_parameters(), 2 * 16 * 8);
}

TEST(ExportedProgram, TellsBuffersAndUnusedInputs) {
  Written file = linear();
  file.tensor("b_scale", ints({8}))
      .spec("buffer", R"("name":"b_scale")", R"(,"buffer_name":"scale","persistent":true)");
  file.parameter("unused", ints({1000})).spec("user_input", R"("as_none":true)").spec("user_input", R"("as_int":3)");
  file.tensor("z", ints({2, 8})).output("z");
  file.node("aten.mul.Tensor", "z", tensor_argument("self", "y") + "," + tensor_argument("other", "b_scale"));
  const Graph graph = graph_of(file);
  EXPECT_EQ(graph.num_parameters(), 16 * 8);
  EXPECT_EQ(graph.num_statistics(), 8);
  EXPECT_EQ(graph.inputs.size(), 1U);
}

Written branches() {
  Written body;
  body.tensor("a", ints({2, 16})).tensor("w", ints({8, 16})).tensor("out", ints({2, 8}));
  body.node("aten.linear.default", "out", linear_inputs("a", "w")).output("out");
  Written none = body;
  none.nodes.clear();
  none.node("aten.zeros.default", "out", argument("size", R"("as_ints":[2,8])"));
  const std::string inputs = R"({"as_tensor":{"name":"a"}},{"as_tensor":{"name":"w"}})";
  Written file;
  file.input("x", ints({2, 16})).input("flag", "", 12).parameter("w", ints({8, 16})).tensor("y", ints({2, 8}));
  file.node("higher_order.cond", "y",
            tensor_argument("", "flag") + "," +
                argument("", R"("as_graph":{"name":"t","graph":)" + none.graph(inputs) + "}") + "," +
                argument("", R"("as_graph":{"name":"f","graph":)" + body.graph(inputs) + "}") + "," +
                argument("", R"("as_tensors":[{"name":"x"},{"name":"p_w"}])"));
  return file.output("y");
}

TEST(ExportedProgram, WalksBranches) {
  const Graph graph = graph_of(branches());
  EXPECT_EQ(graph.macs(), 2 * 16 * 8);
  ASSERT_EQ(graph.warnings.size(), 1U);
  EXPECT_TRUE(has(graph.warnings[0], "predicted for the costlier branch, 'else'"));
}

TEST(ExportedProgram, InlinesGraphsCalledUnderOtherSettings) {
  Written body;
  body.tensor("a", ints({2, 16})).tensor("w", ints({8, 16})).tensor("out", ints({2, 8}));
  body.node("aten.linear.default", "out", linear_inputs("a", "w")).output("out");
  const std::string inputs = R"({"as_tensor":{"name":"a"}},{"as_tensor":{"name":"w"}})";
  Written file;
  file.input("x", ints({2, 16})).parameter("w", ints({8, 16})).tensor("y", ints({2, 8})).tensor("z", ints({2, 8}));
  file.node("higher_order.wrap_with_set_grad_enabled", "y",
            argument("", R"("as_bool":false)") + "," +
                argument("", R"("as_graph":{"name":"submod","graph":)" + body.graph(inputs) + "}") + "," +
                tensor_argument("", "x") + "," + tensor_argument("", "p_w"));
  file.node("aten.relu.default", "z", tensor_argument("self", "y")).output("z");
  const Graph graph = graph_of(file);
  EXPECT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.macs(), 2 * 16 * 8);
}

TEST(ExportedProgram, TellsWhatANetworkTakesOutOfAutocast) {
  Written file = linear();
  file.tensor("z", ints({2, 8})).node("aten.relu.default", "z", tensor_argument("self", "y")).output("z");
  const std::string plain = "\"stack_trace\":\"File \\\"a.py\\\"\"";
  const std::size_t at = file.nodes.rfind(plain);
  ASSERT_NE(at, std::string::npos);
  file.nodes.replace(at, plain.size(), R"("latpred_autocast":"half")");
  const std::vector<Node> nodes = graph_of(file).nodes;
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_FALSE(nodes[0].attributes.has("autocast"));
  EXPECT_EQ(nodes[1].attributes.text("autocast", ""), "half");
  file.nodes.replace(file.nodes.rfind("half"), 4, "best");
  EXPECT_EQ(refusal(file), "'m': node 'z' (aten.relu.default): metadata latpred_autocast is 'best', expected 'half'");
}

// x.to(weight.dtype) in the code of a network: a type that both have where it was exported.
TEST(ExportedProgram, TellsWhatTheCodeOfANetworkConverts) {
  const auto converted = [](const std::string& target, const std::string& type) {
    Written file = linear();
    file.tensor("t", ints({2, 8})).node(target, "t", tensor_argument("self", "y") + type);
    file.tensor("z", ints({2, 8})).node("aten.relu.default", "z", tensor_argument("self", "t")).output("z");
    const std::vector<Node> nodes = graph_of(file).nodes;
    EXPECT_EQ(nodes.size(), 2U);
    return nodes.back().attributes.integers("converts", {});
  };
  const std::string single = "," + argument("dtype", R"("as_scalar_type":7)");
  const std::string device = "," + argument("device", R"("as_device":{"type":"cpu","index":null})");
  EXPECT_EQ(converted("aten.to.dtype", single), Shape{0});
  EXPECT_EQ(converted("aten.type_as.default", "," + tensor_argument("other", "x")), Shape{0});
  EXPECT_EQ(converted("aten.to.device", device + single), Shape{});  // which names the tensor's own type
}

TEST(ExportedProgram, RefusesOtherVersionsOfTheSchema) {
  Written file = linear();
  file.major = "9";
  EXPECT_EQ(refusal(file),
            "'m': it is written in version 9 of torch's export schema, this version of latpred reads version 8; load "
            "it with the torch that wrote it (2.13.0) and save it with a current one");
}

TEST(ExportedProgram, RefusesBrokenDocumentsByName) {
  Written dangling = linear();
  dangling.node("aten.relu.default", "y", tensor_argument("self", "nobody"));
  EXPECT_EQ(refusal(dangling), "'m': node 'y' (aten.relu.default): reads 'nobody', which its graph does not declare");
  Written twice = linear();
  twice.node("aten.relu.default", "y", tensor_argument("self", "x"));
  EXPECT_EQ(refusal(twice), "'m': node 'y' (aten.relu.default): gives 'y', which exists already");
  Written over_weight = linear();
  over_weight.node("aten.relu.default", "p_w", tensor_argument("self", "x"));
  EXPECT_TRUE(has(refusal(over_weight), "gives 'p_w', which exists already"));
  Written listed = linear();
  listed.spec("user_input", R"("as_tensor":{"name":"x"})");
  EXPECT_EQ(refusal(listed), "'m': input 'x' is listed twice");
  Written cycle;
  cycle.input("x", ints({2})).tensor("a", ints({2})).tensor("b", ints({2})).output("b");
  cycle.node("aten.add.Tensor", "a", tensor_argument("self", "x") + "," + tensor_argument("other", "b"));
  cycle.node("aten.relu.default", "b", tensor_argument("self", "a"));
  EXPECT_TRUE(has(refusal(cycle), "before anything makes it"));
  Written kind = linear();
  kind.node("aten.relu.default", "z", argument("self", R"("as_tenzor":{"name":"x"})"));
  EXPECT_TRUE(has(refusal(kind), "unknown kind of argument 'as_tenzor'; did you mean 'as_tensor'?"));
  Written type = linear();
  type.tensor("z", ints({2}), 99);
  EXPECT_EQ(refusal(type), "'m': tensor 'z': element type 99 of the export schema is not known (complex32 is 9)");
  Written size = linear(expression("zoo(Symbol('s0'))"));
  EXPECT_TRUE(has(refusal(size), "no function 'zoo' of integers is known"));
  Written negative = linear(R"({"as_int":-4})");
  EXPECT_TRUE(has(refusal(negative), "a size is -4"));
  Written open_weight;
  open_weight.input("x", ints({2})).parameter("w", expression(kBatchSymbol)).output("x");
  EXPECT_TRUE(has(refusal(open_weight), "the sizes of the stored tensor 'w' are no numbers"));
  for (const std::string huge : {"4611686018427387904", "9223372036854775807", "9223372036854775808"}) {
    Written file = linear(R"({"as_int":)" + huge + "}");
    EXPECT_FALSE(refusal(file).empty());
  }
}

TEST(ExportedProgram, RefusesHigherOrderOperatorsByName) {
  Written file = branches();
  const std::size_t at = file.nodes.find("higher_order.cond");
  file.nodes.replace(at, 17, "higher_order.flex");
  EXPECT_TRUE(has(refusal(file), "node 'y' (higher_order.flex): unknown higher-order operator 'higher_order.flex'"));
  Written function;
  function.input("x", ints({2, 3})).output("x");
  function.symbols = R"("s":{})";
  function.node("aten.sym_stride.int", "s", tensor_argument("self", "x") + "," + argument("dim", R"("as_int":0)"),
                "as_sym_int", "as_name");
  EXPECT_TRUE(has(refusal(function), "unknown function of sizes 'aten.sym_stride.int'"));
}

TEST(ExportedProgram, KeepsItsLimits) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "[";
  EXPECT_TRUE(has(message_of<ModelFileError>([&] { (void)read_exported_program_document(deep, {}, "m"); }),
                  "more than 64 arrays and objects inside one another"));
  EXPECT_TRUE(has(message_of<ModelFileError>(
                      [&] { (void)read_exported_program_document(linear().text(), {}, "m", {.max_nodes = 0}); }),
                  "max_nodes"));
  const std::string text = linear().text();
  for (std::size_t size = 0; size < text.size(); size += 7) {
    EXPECT_TRUE(
        has(message_of<ModelFileError>([&] { (void)read_exported_program_document(text.substr(0, size), {}, "m"); }),
            "'m': not valid JSON"))
        << size;
  }
}

std::string archive(std::vector<ZipItem> more, const std::string& document = linear().text()) {
  std::vector<ZipItem> items{{.name = "net/models/model.json", .content = document},
                             {.name = "net/archive_format", .content = "pt2"}};
  for (ZipItem& item : more) items.push_back(std::move(item));
  return zip_archive(items);
}
Program read_archive(const std::string& content) { return readers::read_exported_program({"m.pt2", content}, {}); }

std::string weights_config(const std::string& first, const std::string& second) {
  const auto entry = [](const std::string& name, const std::string& path) {
    return "\"" + name + R"(":{"path_name":")" + path +
           R"(","is_param":true,"use_pickle":false,"tensor_meta":{"dtype":7,"sizes":[],"strides":[],)" +
           R"("storage_offset":{"as_int":0}}})";
  };
  return R"({"config":{)" + entry("w", first) + "," + entry("v", second) + "}}";
}

TEST(ExportedProgram, ReadsAnArchive) {
  const Program program = read_archive(archive({}));
  EXPECT_EQ(program.source.format, "torch.export archive, schema 8.99");
  const std::string flat = zip_archive({{.name = "serialized_exported_program.json", .content = linear().text()},
                                        {.name = "version", .content = "8.1"}});
  EXPECT_EQ(read_archive(flat).source.format, "torch.export archive (before torch 2.8), schema 8.99");
}

// Weights that were never there all name one empty entry: that ties nothing.
TEST(ExportedProgram, TiesWeightsOfOneEntryThatIsNotEmpty) {
  Written file = linear();
  file.parameter("v", ints({8, 16})).tensor("z", ints({2, 8})).output("z");
  file.node("aten.linear.default", "z", linear_inputs("x", "p_v"));
  const auto parameters = [&](const std::string& first, const std::string& second) {
    const std::string content =
        archive({{.name = "net/data/weights/model_weights_config.json", .content = weights_config(first, second)},
                 {.name = "net/data/weights/weight_0", .content = "bytes"},
                 {.name = "net/data/weights/weight_1", .content = "bytes"},
                 {.name = "net/data/weights/empty", .content = ""}},
                file.text());
    return resolve(std::make_shared<const Program>(read_archive(content)), {.batch = 2}).num_parameters();
  };
  EXPECT_EQ(parameters("weight_0", "weight_0"), 16 * 8);
  EXPECT_EQ(parameters("weight_0", "weight_1"), 2 * 16 * 8);
  EXPECT_EQ(parameters("empty", "empty"), 2 * 16 * 8);
}

TEST(ExportedProgram, RefusesOtherArchives) {
  const auto refusal_of = [](const std::string& content) {
    return message_of<ModelFileError>([&] { (void)read_archive(content); });
  };
  EXPECT_EQ(refusal_of(zip_archive({{.name = "net/data/aotinductor/model/a.so", .content = ""}})),
            "'m.pt2': holds code that AOTInductor compiled for one device, no network; save the ExportedProgram it was "
            "compiled from with torch.export.save");
  EXPECT_EQ(refusal_of(zip_archive({{.name = "net/archive_format", .content = "pt2"}})),
            "'m.pt2': is an archive of torch without models/<name>.json, so that it holds no network; save one with "
            "torch.export.save");
  EXPECT_EQ(refusal_of(archive({{.name = "net/models/second.json", .content = "{}"}})),
            "'m.pt2': holds 2 networks (model, second), expected one; save each on its own with torch.export.save");
  EXPECT_TRUE(has(refusal_of(archive({{.name = "net/data/weights/model_weights_config.json", .content = "{]"}})),
                  "'m.pt2': net/data/weights/model_weights_config.json: not valid JSON at byte 1"));
  EXPECT_TRUE(has(refusal_of(archive({{.name = "net/data/weights/model_weights_config.json", .content = "{}"}})),
                  "key 'config' is missing"));
}

TEST(ExportedProgram, SaysWhereADocumentInsideAnArchiveIsBroken) {
  const std::string content = archive({}, "{\"graph_module\": oops}");
  try {
    (void)read_archive(content);
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_EQ(error.data().offset, static_cast<std::int64_t>(content.find("oops")));
    EXPECT_EQ(error.data().path, "m.pt2");
  }
}

}  // namespace
}  // namespace latpred
