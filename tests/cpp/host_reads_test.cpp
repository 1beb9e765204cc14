#include "latpred/host_reads.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "latpred/error.h"

namespace latpred {
namespace {

const std::vector<HostRead> kReads{{1024, 100e9, 190e9}, {4096, 60e9, 110e9}, {16384, 20e9, 24e9}};

Device two_cores() { return host_device("AMD EPYC", 2, 8e9, std::nullopt); }

TEST(HostReads, AreTakenAtTheShareOfEachCore) {
  const Device at_size = with_reads(two_cores(), kReads, 8192, 2);
  EXPECT_DOUBLE_EQ(at_size.bandwidth_bytes_per_s, 110e9);
  EXPECT_DOUBLE_EQ(at_size.bandwidth_bytes_per_s_per_sm.value, 60e9);
  EXPECT_FALSE(at_size.bandwidth_bytes_per_s_per_sm.estimated);
  EXPECT_DOUBLE_EQ(with_reads(two_cores(), kReads, 16384, 1).bandwidth_bytes_per_s_per_sm.value, 20e9);
}

TEST(HostReads, LieBetweenTheSizesThatWereMeasured) {
  EXPECT_NEAR(with_reads(two_cores(), kReads, 2 * 2048, 2).bandwidth_bytes_per_s, 150e9, 1);  // half of a factor of 4
  EXPECT_DOUBLE_EQ(with_reads(two_cores(), kReads, 16, 2).bandwidth_bytes_per_s, 190e9);
  EXPECT_DOUBLE_EQ(with_reads(two_cores(), kReads, 0, 2).bandwidth_bytes_per_s, 190e9);
  EXPECT_DOUBLE_EQ(with_reads(two_cores(), kReads, 1e9, 2).bandwidth_bytes_per_s, 24e9);
}

TEST(HostReads, MakeADeviceThatPhysicsCanAnswerFor) {
  const Device device = with_speed(two_cores(), 200e9, kReads, "measured today");
  EXPECT_EQ(device.peak_flops_per_s(Arithmetic::fp32), 200e9);
  EXPECT_DOUBLE_EQ(device.sustained_share.value, 1);
  EXPECT_DOUBLE_EQ(device.bandwidth_bytes_per_s, 24e9);
  EXPECT_EQ(device.note, "measured today");
  EXPECT_FALSE(device.bf16_flops_per_s);
}

TEST(HostReads, AreRefusedWhereTheySayNothing) {
  EXPECT_THROW((void)with_speed(two_cores(), 0, kReads, ""), InvalidArgumentError);
  EXPECT_THROW((void)with_speed(two_cores(), 1e9, {}, ""), InvalidArgumentError);
  EXPECT_THROW((void)with_speed(two_cores(), 1e9, {kReads[1], kReads[0]}, ""), InvalidArgumentError);
}

}  // namespace
}  // namespace latpred
