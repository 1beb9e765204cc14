#include "latpred/partition.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

std::string message_of(const Device& device, std::string_view name) {
  try {
    (void)partition(device, name);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Partition, EmptyNameIsTheWholeDevice) {
  for (const Device& row : devices()) {
    const Partition whole = partition(row, "");
    EXPECT_EQ(whole.sms, row.sms);
    EXPECT_EQ(whole.sm_share, 1);
    EXPECT_EQ(whole.memory_bytes, row.memory_bytes);
    EXPECT_EQ(whole.max_instances, 1);
    EXPECT_EQ(whole.bandwidth_bytes_per_s(row) <= row.bandwidth_bytes_per_s, true);
    if (row.is_gpu) {
      EXPECT_DOUBLE_EQ(whole.bandwidth_bytes_per_s(row), row.bandwidth_bytes_per_s);
    }
  }
}

TEST(Mig, A100HasTheDriversProfilesSmallestFirst) {
  std::vector<std::string> names;
  for (const Partition& profile : mig_profiles(device("A100"))) names.push_back(profile.name);
  EXPECT_EQ(join(names), "1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb");
  const Partition full = partition(device("A100"), "7g.40gb");
  EXPECT_EQ(full.sms, 98);
  EXPECT_DOUBLE_EQ(full.memory_bytes, 39.25 * kGibi);
  EXPECT_DOUBLE_EQ(full.bandwidth_share, 1);
}

TEST(Mig, BandwidthFollowsMemorySlicesNotMultiprocessors) {
  const Partition third = partition(device("A100"), "3g.20gb");
  EXPECT_EQ(third.sms, 42);
  EXPECT_DOUBLE_EQ(third.bandwidth_share, 0.5);
  EXPECT_DOUBLE_EQ(third.l2_share, 0.5);
  EXPECT_DOUBLE_EQ(third.bandwidth_bytes_per_s(device("A100")), 0.5 * 1555e9);
  EXPECT_EQ(third.max_instances, 2);
  EXPECT_EQ(partition(device("H100"), "3g.40gb").sms, 60);
  EXPECT_EQ(partition(device("H200"), "4g.71gb").sms, 64);
  EXPECT_DOUBLE_EQ(partition(device("A30"), "2g.12gb").bandwidth_share, 0.5);
}

TEST(Mig, ProfilesFitTheirDeviceAndGrow) {
  int num_devices_with_profiles = 0;
  for (const Device& row : devices()) {
    const auto& profiles = mig_profiles(row);
    if (!row.has_mig) {
      EXPECT_TRUE(profiles.empty()) << row.name;
    }
    num_devices_with_profiles += profiles.empty() ? 0 : 1;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const Partition& profile = profiles[i];
      EXPECT_LE(profile.sms * profile.max_instances, row.sms) << row.name << " " << profile.name;
      EXPECT_LE(profile.memory_bytes * profile.max_instances, row.memory_bytes) << row.name << " " << profile.name;
      EXPECT_LE(profile.bandwidth_share * profile.max_instances, 1) << row.name << " " << profile.name;
      EXPECT_EQ(partition(row, profile.name).sms, profile.sms);
      if (i == 0) continue;
      EXPECT_TRUE(profiles[i - 1].sms < profile.sms ||
                  (profiles[i - 1].sms == profile.sms && profiles[i - 1].memory_bytes < profile.memory_bytes))
          << row.name << " " << profile.name;
      EXPECT_LE(profiles[i - 1].bandwidth_bytes_per_s(row), profile.bandwidth_bytes_per_s(row)) << profile.name;
    }
  }
  EXPECT_EQ(num_devices_with_profiles, 10);
}

TEST(Mig, ErrorsListWhatTheDeviceHas) {
  const std::string unknown = message_of(device("A100"), "2g.20gb");
  EXPECT_NE(unknown.find("1g.5gb, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("'50%'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("'54sm'"), std::string::npos) << unknown;
  EXPECT_NE(message_of(device("T4"), "1g.5gb").find("has no MIG"), std::string::npos);
  EXPECT_NE(message_of(device("B200"), "1g.23gb").find("not known"), std::string::npos);
  EXPECT_NE(message_of(device("Xeon Gold 6240"), "1g.5gb").find("a processor has no MIG"), std::string::npos);
  EXPECT_NE(message_of(device("Xeon Gold 6240"), "4sm").find("'9cores'"), std::string::npos);
}

TEST(Mps, ShareGrantsMultiprocessorsAndLeavesMemoryWhole) {
  const Partition half = partition(device("T4"), "50%");
  EXPECT_EQ(half.sms, 20);
  EXPECT_DOUBLE_EQ(half.sm_share, 0.5);
  EXPECT_EQ(half.memory_bytes, device("T4").memory_bytes);
  EXPECT_EQ(half.bandwidth_share, 1);
  EXPECT_EQ(half.l2_share, 1);
  EXPECT_EQ(half.max_instances, 2);
  EXPECT_EQ(partition(device("A100"), "10%").sms, 10);  // 10.8, rounded down
  EXPECT_EQ(partition(device("A100"), "12.5%").sms, 13);
  EXPECT_EQ(partition(device("A100"), "100%").sms, 108);
}

TEST(Mps, CountOfMultiprocessors) {
  EXPECT_EQ(partition(device("H200"), "32sm").sms, 32);
  EXPECT_EQ(partition(device("H200"), "32sm").max_instances, 4);
  EXPECT_EQ(partition(device("Xeon Gold 6240"), "4cores").sms, 4);
}

TEST(Mps, RefusesWhatCannotBeGranted) {
  const Device& a100 = device("A100");
  for (const char* name : {"0%", "-5%", "101%", "0.1%", "nan%", "0sm", "109sm", "1.5sm", "%", "sm", "half", "2g"}) {
    EXPECT_THROW((void)partition(a100, name), InvalidArgumentError) << name;
  }
}

TEST(Partition, FewMultiprocessorsPullLessThanTheMemoryGives) {
  const Device& a100 = device("A100");
  double before = 0;
  for (int sms = 1; sms <= 108; ++sms) {
    const double bandwidth = partition(a100, concat(sms, "sm")).bandwidth_bytes_per_s(a100);
    EXPECT_GE(bandwidth, before);
    before = bandwidth;
  }
  EXPECT_LT(partition(a100, "8sm").bandwidth_bytes_per_s(a100), 0.2 * a100.bandwidth_bytes_per_s);
  EXPECT_DOUBLE_EQ(before, a100.bandwidth_bytes_per_s);
}

}  // namespace
}  // namespace latpred
