#include "readers/paddle/paddle_pir.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "latpred/error.h"
#include "latpred/shapes.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred::readers {
namespace {

using latpred::testing::message_of;

std::string tensor(const std::string& sizes, const std::string& dtype = "f32") {
  return concat(R"({"#":"0.t_dtensor","D":[{"#":"0.t_)", dtype, R"("},[)", sizes, R"(],"NCHW",[],0]})");
}

std::string parameter(int id, const std::string& name, const std::string& sizes, int trained = 1) {
  return concat(R"({"#":"p","A":[0,1,1,")", name, R"("],"O":{"%":)", id, R"(,"TT":)", tensor(sizes), R"(},"OA":[1,0,)",
                trained, "]}");
}

std::string op(const std::string& name, const std::string& inputs, int id, const std::string& sizes,
               const std::string& attributes = "", const std::string& more = "") {
  return concat(R"({"#":")", name, R"(","A":[)", attributes, R"(],"I":[)", inputs, R"(],"O":[{"%":)", id, R"(,"TT":)",
                tensor(sizes), "}]", more, "}");
}

std::string attribute(const std::string& name, const std::string& kind, const std::string& data) {
  return concat(R"({"N":")", name, R"(","AT":{"#":")", kind, R"(","D":)", data, "}}");
}

std::string data(int id, const std::string& name, const std::string& sizes) {
  return op("1.data", "", id, sizes, attribute("name", "0.a_str", "\"" + name + "\""));
}

std::string fetch(int id) { return concat(R"({"#":"1.fetch","A":[],"I":[{"%":)", id, R"(}],"O":[]})"); }

std::string file(const std::string& ops, const std::string& version = "4") {
  return concat(R"({"base_code":{"magic":"pir","trainable":true,"version":)", version,
                R"(},"program":{"regions":[{"#":"region_0","blocks":[{"#":"block_0","args":[],"ops":[)", ops,
                "]}]}]}}");
}

// A dense layer after a ReLU.
std::string dense() {
  return parameter(1, "w", "4,3") + "," + data(2, "x", "-1,4") + "," + op("1.relu_", R"({"%":2})", 3, "-1,4") + "," +
         op("1.matmul", R"({"%":3},{"%":1})", 4, "-1,3") + "," + fetch(4);
}

Program read(const std::string& content) { return read_paddle_pir({"m.json", content}, {}); }

Graph graph_of(const std::string& content, std::int64_t batch) {
  return resolve(std::make_shared<const Program>(read(content)), {.batch = batch});
}

std::string refusal(const std::string& content) {
  return message_of<ModelFileError>([&] { (void)read(content); });
}

TEST(PaddlePir, ReadsADenseLayer) {
  const Program program = read(file(dense()));
  EXPECT_EQ(program.source.format, "Paddle PIR version 4");
  EXPECT_EQ(program.source.operator_counts.at("relu"), 1);
  EXPECT_EQ(program.source.num_nodes, 2);
  EXPECT_TRUE(program.warnings.empty());
  const Graph graph = graph_of(file(dense()), 5);
  EXPECT_EQ(graph.macs(), 5 * 4 * 3);
  EXPECT_EQ(graph.num_parameters(), 12);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{5, 3}));
}

TEST(PaddlePir, TellsStatisticsFromTrainedParameters) {
  const Graph graph = graph_of(file(parameter(1, "kept", "4", 0) + "," + data(2, "x", "-1,4") + "," +
                                    op("1.add", R"({"%":2},{"%":1})", 3, "-1,4") + "," + fetch(3)),
                               1);
  EXPECT_EQ(graph.num_parameters(), 0);
  EXPECT_EQ(graph.num_statistics(), 4);
}

TEST(PaddlePir, WarnsOfANewerVersionAndRefusesOtherFiles) {
  const Program newer = read(file(dense(), "9"));
  ASSERT_EQ(newer.warnings.size(), 1U);
  EXPECT_NE(newer.warnings[0].find("PIR version 9, latpred knows versions up to 4"), std::string::npos);
  EXPECT_NE(refusal(file(dense(), "-1")).find("its PIR version is -1"), std::string::npos);
  EXPECT_NE(refusal(R"({"base_code":{"magic":"ripe","version":1}})").find("magic word 'ripe'"), std::string::npos);
}

TEST(PaddlePir, TakesListsOfTensorsApart) {
  const std::string list =
      R"({"#":"0.combine","A":[],"I":[{"%":1},{"%":1}],"O":[{"%":2,"TT":{"#":"0.t_vec","D":[]}}]})";
  const std::string axis = op("1.full", "", 3, "1",
                              attribute("shape", "1.a_intarray", "[1]") + "," + attribute("value", "0.a_f64", "1.0") +
                                  "," + attribute("dtype", "1.a_dtype", "\"int32\""));
  const Graph graph = graph_of(file(data(1, "x", "-1,4") + "," + list + "," + axis + "," +
                                    op("1.concat", R"({"%":2},{"%":3})", 4, "-1,8") + "," + fetch(4)),
                               2);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 8}));
}

TEST(PaddlePir, TakesTheBranchOfAKnownCondition) {
  const std::string condition =
      op("1.full", "", 2, "1",
         attribute("shape", "1.a_intarray", "[1]") + "," + attribute("value", "0.a_f64", "0.0") + "," +
             attribute("dtype", "1.a_dtype", "\"bool\""));
  const auto branch = [](int id, const std::string& name) {
    return concat(R"({"#":"r","blocks":[{"#":"b","args":[],"ops":[)", op(name, R"({"%":1})", id, "-1,4"),
                  R"(,{"#":"2.yield","A":[],"I":[{"%":)", id, R"(}],"O":[]}]}]})");
  };
  const std::string regions = R"(,"regions":[)" + branch(3, "1.relu") + "," + branch(4, "1.tanh") + "]";
  const std::string ops =
      data(1, "x", "-1,4") + "," + condition + "," + op("1.if", R"({"%":2})", 5, "-1,4", "", regions) + "," + fetch(5);
  const Graph graph = graph_of(file(ops), 2);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::tanh);
  EXPECT_NE(refusal(file(data(1, "x", "-1,4") + "," + op("1.pylayer", "", 5, "4", "", regions) + "," + fetch(5)))
                .find("control flow that is not read"),
            std::string::npos);
}

TEST(PaddlePir, KeepsWhatItDoesNotKnow) {
  const std::string ops = data(1, "x", "-1,4") + "," + op("3.my_own", R"({"%":1})", 2, "-1,7") + "," + fetch(2);
  const Graph graph = graph_of(file(ops), 3);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::unknown);
  EXPECT_EQ(graph.nodes[0].source_operator, "my_own");
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{3, 7}));
}

TEST(PaddlePir, RefusesDamagedFiles) {
  const std::string whole = file(dense());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_NE(refusal(whole.substr(0, size)).find("'m.json' is damaged"), std::string::npos) << size;
  }
  EXPECT_NE(refusal(file(op("1.relu", R"({"%":8})", 2, "4") + "," + fetch(2))).find("reads value 8"),
            std::string::npos);
  EXPECT_NE(refusal(file(data(1, "x", "4") + "," + data(1, "y", "4"))).find("value 1 is made twice"),
            std::string::npos);
  EXPECT_NE(refusal(file(data(1, "x", "4"))).find("it has no result"), std::string::npos);
  EXPECT_NE(refusal(file(parameter(1, "w", "-1"))).find("parameter 'w' is declared as [-1]"), std::string::npos);
  EXPECT_NE(refusal(file(data(1, "x", "-9223372036854775808"))).find("has a dimension of"), std::string::npos);
}

TEST(PaddlePir, RefusesSizesBeyondAllMemory) {
  const std::string huge = "4611686018427387904";
  const std::string ops = parameter(1, "w", huge + ",9") + "," + data(2, "x", "-1,9") + "," +
                          op("1.add", R"({"%":2},{"%":1})", 3, "-1,9") + "," + fetch(3);
  const auto program = std::make_shared<const Program>(read(file(ops)));
  EXPECT_THROW((void)resolve(program, {.batch = 1}), ShapeError);
}

}  // namespace
}  // namespace latpred::readers
