#include "latpred/memory_fit.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/program_builder.h"
#include "latpred/shapes.h"
#include "message_of.h"
#include "prepared_network.h"

namespace latpred {
namespace {

using testing::message_of;
using testing::small_graph;

TEST(MemoryFit, OfAPartIsAboutThePartsMemory) {
  PredictRequest request;
  const MemoryFit whole = memory_fit(small_graph(), request);
  request.partition = "1g.5gb";
  const MemoryFit part = memory_fit(small_graph(), request);
  EXPECT_TRUE(whole.fits);
  EXPECT_LT(part.usable_bytes, whole.usable_bytes / 7);
  EXPECT_DOUBLE_EQ(part.needed_bytes, whole.needed_bytes);
}

TEST(MemoryFit, WhatHasNoUnitsFitsNowhere) {
  PredictRequest request;
  request.device = "V100";
  request.precision = "bf16";
  const std::string message = message_of<InvalidArgumentError>([&] { (void)memory_fit(small_graph(), request); });
  EXPECT_NE(message.find("has no bf16 arithmetic"), std::string::npos) << message;
}

TEST(MemoryFit, TheLargestBatchHasABound) {
  ProgramBuilder net;
  net.output(net.apply(OperatorId::relu, {net.input("x", {1})}));
  PredictRequest request;
  request.device = "H200";
  EXPECT_EQ(largest_batch(resolve(std::make_shared<const Program>(net.build()), {.batch = 1}), request),
            std::int64_t{1} << 24);
}

}  // namespace
}  // namespace latpred
