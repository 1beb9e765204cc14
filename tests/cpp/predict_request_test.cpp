#include "latpred/predict_request.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

TEST(PredictRequest, EagerRunsUnlessAnotherIsNamed) {
  EXPECT_EQ(asked_runtime({}, device("A100")).name, "eager");
  EXPECT_EQ(asked_runtime({.runtime = "tensorrt"}, device("A100")).name, "tensorrt");
}

TEST(PredictRequest, ARuntimeOfOtherDevicesIsRefused) {
  const Device& cpu = device("Xeon Gold 6240");
  const std::string message =
      message_of<InvalidArgumentError>([&] { (void)asked_runtime({.runtime = "tensorrt"}, cpu); });
  EXPECT_NE(message.find("runtime 'tensorrt' does not run on CPUs"), std::string::npos) << message;
  EXPECT_NE(message.find("onnxruntime"), std::string::npos) << message;
}

TEST(PredictRequest, APrecisionByNameNeedsItsUnits) {
  const Device& pascal = device("P100");
  const Runtime& eager = runtime("eager");
  EXPECT_NO_THROW(check_units({.precision = "default"}, pascal, eager));  // TF32 where there is some
  const std::string message =
      message_of<InvalidArgumentError>([&] { check_units({.precision = "tf32"}, pascal, eager); });
  EXPECT_NE(message.find("has no tf32 arithmetic, which precision 'tf32' needs; it takes default"), std::string::npos)
      << message;
}

TEST(PredictRequest, ThisMachineIsAskedForByName) {
  const auto host = std::make_shared<const Device>(host_device("AMD EPYC", 2, 8e9, std::nullopt));
  EXPECT_EQ(asked_device({.device = std::string(kHostDevice), .host = host}).name, "AMD EPYC");
  EXPECT_EQ(asked_device({.device = "T4", .host = host}).name, "T4");
}

}  // namespace
}  // namespace latpred
