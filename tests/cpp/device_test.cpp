#include "latpred/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "golden_lines.h"
#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Bandwidths that NVIDIA prints rounded, away from the memory clock.
const std::set<std::string> kRoundedBandwidth{"H200-SXM-141GB", "B200-SXM-180GB", "GH200-96GB"};

std::string line_of(const Device& row) {
  return concat(row.name, " | ", row.architecture, " | sms ", row.sms, " | GB/s ", row.bandwidth_bytes_per_s / 1e9,
                " | GiB ", row.memory_bytes / (1024.0 * 1024 * 1024), " | fp32 ",
                row.fp32_flops_per_s.value_or(0) / 1e12, " | fp16 ",
                row.peak_flops_per_s(Arithmetic::fp16).value_or(0) / 1e12, " | sustained ", row.sustained_share.value);
}

TEST(DeviceTable, MatchesGoldenFile) {
  const std::vector<std::string> expected = testing::golden_lines("devices.txt");
  std::vector<std::string> found;
  for (const Device& row : devices()) found.push_back(line_of(row));
  EXPECT_EQ(found, expected) << join(found, "\n");
}

TEST(DeviceTable, BandwidthIsTwiceMemoryClockTimesBus) {
  for (const Device& row : devices()) {
    ASSERT_TRUE(row.memory_clock_hz && row.memory_bus_bits) << row.name;
    const double expected = 2 * *row.memory_clock_hz * *row.memory_bus_bits / 8;
    const double tolerance = kRoundedBandwidth.contains(row.name) ? 0.025 : 0.0025;
    EXPECT_NEAR(expected / row.bandwidth_bytes_per_s, 1, tolerance) << row.name;
  }
}

TEST(DeviceTable, Fp32IsTwoFlopsForEachCoreAndClock) {
  for (const Device& row : devices()) {
    ASSERT_TRUE(row.fp32_flops_per_s && row.clock_hz) << row.name;
    if (row.is_gpu) {
      ASSERT_TRUE(row.cuda_cores) << row.name;
      EXPECT_NEAR(2 * *row.cuda_cores * *row.clock_hz / *row.fp32_flops_per_s, 1, 0.01) << row.name;
      continue;
    }
    // A core with AVX-512 does 32 flops in a cycle for each of its fused multiply-add units.
    const double per_cycle = *row.fp32_flops_per_s / row.sms / *row.clock_hz;
    EXPECT_NEAR(per_cycle / 32, std::round(per_cycle / 32), 0.01) << row.name;
    EXPECT_GE(per_cycle, 31) << row.name;
  }
}

TEST(DeviceTable, CoresDivideOverMultiprocessors) {
  for (const Device& row : devices()) {
    if (!row.is_gpu) continue;
    const double per_sm = *row.cuda_cores / row.sms;
    EXPECT_TRUE(per_sm == 64 || per_sm == 128) << row.name << " " << per_sm;
    EXPECT_EQ(std::fmod(*row.tensor_cores, row.sms), 0) << row.name;
  }
}

TEST(DeviceTable, EveryRowIsUsable) {
  for (const Device& row : devices()) {
    EXPECT_GT(row.sms, 0) << row.name;
    EXPECT_GT(row.memory_bytes, 0) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_FALSE(row.vendor_name.empty()) << row.name;
    EXPECT_GT(row.sustained_share.value, 0) << row.name;
    EXPECT_LE(row.sustained_share.value, 1.1) << row.name;
    EXPECT_GT(row.bandwidth_bytes_per_s_per_sm.value * row.sms, row.bandwidth_bytes_per_s) << row.name;
    EXPECT_TRUE(row.idle_power_w.estimated) << row.name;
    EXPECT_GT(row.idle_power_w.value, 0) << row.name;
    if (row.power_limit_w) {
      EXPECT_LT(row.idle_power_w.value, *row.power_limit_w) << row.name;
    }
    EXPECT_EQ(row.context_bytes.value > 0, row.is_gpu) << row.name;
    for (std::size_t id = 0; id < kNumArithmetics; ++id) {
      const auto peak = row.peak_flops_per_s(static_cast<Arithmetic>(id));
      ASSERT_TRUE(peak) << row.name << " " << arithmetic_name(static_cast<Arithmetic>(id));
      EXPECT_GE(*peak, *row.fp32_flops_per_s) << row.name;
    }
  }
}

TEST(DeviceTable, NamesAreUniqueAndLeadBack) {
  std::set<std::string> names;
  for (const Device& row : devices()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&device(row.name), &row);
    EXPECT_EQ(device(row.vendor_name).name, row.name);
  }
  for (const auto& [alias, target] : device_aliases()) {
    EXPECT_EQ(device(alias).name, target);
    EXPECT_TRUE(names.contains(target)) << alias;
  }
}

TEST(Device, AliasesStandForTheDocumentedBoards) {
  EXPECT_EQ(device("A100").name, "A100-SXM4-40GB");
  EXPECT_EQ(device("V100").name, "V100-SXM2-16GB");
  EXPECT_EQ(device("H100").name, "H100-SXM5-80GB");
  EXPECT_EQ(device("P100").name, "P100-PCIe-16GB");
  EXPECT_EQ(device("H200").name, "H200-SXM-141GB");
  EXPECT_EQ(device("B200").name, "B200-SXM-180GB");
}

TEST(Device, CaseSpacesDashesAndVendorDoNotMatter) {
  EXPECT_EQ(device("a100 sxm4 40gb").name, "A100-SXM4-40GB");
  EXPECT_EQ(device("NVIDIA GeForce RTX 3090").name, "RTX 3090");
  EXPECT_EQ(device("NVIDIA RTX A6000").name, "RTX A6000");
  EXPECT_EQ(device("rtx2080ti").name, "RTX 2080 Ti");
}

TEST(Device, UnknownNameSuggestsTheNearestAndListsAll) {
  try {
    (void)device("A1000");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'A100'?"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Xeon Gold 6240"), std::string::npos) << error.what();
    EXPECT_GT(error.data().valid.size(), devices().size());
  }
  EXPECT_THROW((void)device(""), InvalidArgumentError);
}

TEST(Device, MissingUnitsFallBackToTheGeneralOnes) {
  const Device& v100 = device("V100");
  EXPECT_EQ(v100.peak_flops_per_s(Arithmetic::tf32), v100.fp32_flops_per_s);
  EXPECT_EQ(v100.peak_flops_per_s(Arithmetic::bf16), v100.fp32_flops_per_s);
  EXPECT_DOUBLE_EQ(v100.peak_flops_per_s(Arithmetic::fp16).value(), 125e12);
  EXPECT_EQ(device("P4").peak_flops_per_s(Arithmetic::fp16), device("P4").fp32_flops_per_s);
  EXPECT_DOUBLE_EQ(device("A100").peak_flops_per_s(Arithmetic::tf32).value(), 156e12);
  EXPECT_DOUBLE_EQ(device("A100").peak_flops_per_s(Arithmetic::int8).value(), 624e12);
  Device unknown;
  EXPECT_FALSE(unknown.peak_flops_per_s(Arithmetic::int8));
}

TEST(Device, UnknownFactsStayEmpty) {
  EXPECT_FALSE(device("V100").bf16_flops_per_s);
  EXPECT_FALSE(device("GH200").power_limit_w);
  EXPECT_FALSE(device("GH200").l2_bytes);
  EXPECT_FALSE(device("Xeon Silver 4114").int8_ops_per_s);
}

TEST(Device, ThisMachineHasNoPeaks) {
  const Device host = host_device("AMD EPYC", 2, 8e9, 32e6);
  EXPECT_FALSE(host.is_gpu);
  EXPECT_EQ(host.name, "AMD EPYC");
  EXPECT_FALSE(host.fp32_flops_per_s);
  EXPECT_FALSE(host.power_limit_w);
  EXPECT_DOUBLE_EQ(host.l2_bytes.value(), 32e6);
  EXPECT_DOUBLE_EQ(host.context_bytes.value, 0);
  EXPECT_THROW((void)host_device("", 2, 8e9, std::nullopt), InvalidArgumentError);
  EXPECT_THROW((void)host_device("AMD EPYC", 0, 8e9, std::nullopt), InvalidArgumentError);
  EXPECT_THROW((void)host_device("AMD EPYC", 2, 0, std::nullopt), InvalidArgumentError);
}

}  // namespace
}  // namespace latpred
