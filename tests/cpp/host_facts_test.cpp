#include "latpred/host_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "latpred/error.h"
#include "latpred/host_clock.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

// A machine's proc and sys folders as far as they are asked for.
class RecordedMachine {
 public:
  RecordedMachine() : root_(std::filesystem::path(::testing::TempDir()) / concat("latpred_host_", getpid())) {
    std::filesystem::create_directories(root_);
  }
  ~RecordedMachine() { std::filesystem::remove_all(root_); }
  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_cache(int index, int level, const std::string& type, const std::string& size,
                   const std::string& shared) const {
    const std::string folder = concat("sys/devices/system/cpu/cpu0/cache/index", index, "/");
    write(folder + "level", concat(level, "\n"));
    write(folder + "type", type + "\n");
    write(folder + "size", size + "\n");
    write(folder + "shared_cpu_list", shared + "\n");
  }
  void write_core(int core, int package, int id) const {
    const std::string folder = concat("sys/devices/system/cpu/cpu", core, "/topology/");
    write(folder + "physical_package_id", concat(package, "\n"));
    write(folder + "core_id", concat(id, "\n"));
  }
  [[nodiscard]] HostFacts facts() const { return read_host_facts(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST(HostFacts, of_a_recorded_xeon) {
  const RecordedMachine machine;
  machine.write("proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                "model name\t: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz\nstepping\t: 8\n"
                "flags\t\t: fpu cx8 cmov mmx fxsr sse sse2 syscall pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave "
                "avx f16c lahf_lm abm bmi1 avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl hypervisor "
                "avx512_bf16 avx512_vnni amx_bf16 amx_tile amx_int8\n\n"
                "processor\t: 1\nmodel name\t: another\n");
  machine.write("proc/meminfo", "MemTotal:       16374028 kB\nMemFree: 1 kB\n");
  machine.write("sys/devices/system/cpu/online", "0-3\n");
  for (const int core : {0, 1, 2, 3}) machine.write_core(core, 0, core / 2);
  machine.write_cache(0, 1, "Data", "48K", "0-1");
  machine.write_cache(1, 1, "Instruction", "32K", "0-1");
  machine.write_cache(2, 2, "Unified", "2048K", "0-1");
  machine.write_cache(3, 3, "Unified", "107520K", "0-3");

  const HostFacts facts = machine.facts();
  EXPECT_EQ(facts.vendor, "GenuineIntel");
  EXPECT_EQ(facts.model_name, "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
  EXPECT_EQ(facts.family, 6);
  EXPECT_EQ(facts.model, 143);
  EXPECT_EQ(facts.stepping, 8);
  EXPECT_EQ(facts.logical_cores, 4);
  EXPECT_EQ(facts.physical_cores, 2);
  EXPECT_EQ(facts.isa_level, "x86-64-v4");
  EXPECT_EQ(facts.memory_bytes, std::int64_t{16374028} * 1024);
  EXPECT_TRUE(facts.is_virtual);
  ASSERT_EQ(facts.caches.size(), 4U);
  EXPECT_EQ(facts.caches[3].size_bytes, std::int64_t{105} << 20);
  EXPECT_EQ(facts.caches[3].shared_by, 4);
  EXPECT_EQ(facts.fingerprint,
            "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz (family 6 model 143 stepping 8), 4 cores on 2, x86-64-v4 "
            "avx512_vnni avx512_bf16 amx_tile amx_bf16 amx_int8, L1d 48 KiB, L2 2 MiB, L3 105 MiB, 16 GiB, virtual");
}

TEST(HostFacts, of_a_recorded_arm_core) {
  const RecordedMachine machine;
  machine.write("proc/cpuinfo",
                "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd asimdhp asimddp sve i8mm bf16\n"
                "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n");
  machine.write("sys/devices/system/cpu/online", "0,2-3\n");
  const HostFacts facts = machine.facts();
  EXPECT_EQ(facts.isa_level, "aarch64");
  EXPECT_EQ(facts.logical_cores, 3);
  EXPECT_EQ(facts.physical_cores, std::nullopt);
  EXPECT_EQ(facts.fingerprint, "implementer 0x41 part 0xd40, 3 cores, aarch64 asimd asimdhp asimddp bf16 i8mm sve");
}

TEST(HostFacts, what_the_system_does_not_say_is_unknown) {
  const HostFacts facts = RecordedMachine().facts();
  EXPECT_EQ(facts.model_name, "");
  EXPECT_EQ(facts.family, std::nullopt);
  EXPECT_EQ(facts.physical_cores, std::nullopt);
  EXPECT_EQ(facts.memory_bytes, std::nullopt);
  EXPECT_TRUE(facts.caches.empty());
  EXPECT_EQ(facts.isa_level, "");
  EXPECT_EQ(facts.fingerprint, "unknown processor, 0 cores");
}

TEST(HostFacts, of_this_machine) {
  const HostFacts& facts = host_facts();
  EXPECT_EQ(facts.logical_cores, sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GE(facts.allowed_cores, 1);
  EXPECT_EQ(facts.memory_bytes, std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  EXPECT_EQ(facts.fingerprint, read_host_facts("").fingerprint);
}

TEST(HostSpeed, keeps_its_budget_and_stays_within_what_processors_can_do) {
  HostClock clock;
  clock.start();
  const HostSpeed speed = measure_host(0.3);
  const Sample sample = clock.stop();
  EXPECT_GT(speed.measured_s, 0);
  EXPECT_LE(speed.measured_s, sample.wall_s);
  // Of its own time: a busy machine makes the rest longer.
  EXPECT_LT(sample.cpu_s, 1);
  EXPECT_GT(speed.fp32_flops_per_s, 1e8);
  EXPECT_LT(speed.fp32_flops_per_s, 64 * 6.5e9);  // two 512-bit units at 6.5 GHz
  ASSERT_GE(speed.read_bandwidth.size(), 2U);
  for (std::size_t i = 1; i < speed.read_bandwidth.size(); ++i) {
    EXPECT_EQ(speed.read_bandwidth[i].working_set_bytes, 2 * speed.read_bandwidth[i - 1].working_set_bytes);
  }
#ifndef LATPRED_SANITIZED  // its checks of every read take as long as memory does
  // The first-level cache is faster than memory everywhere.
  EXPECT_GT(speed.read_bandwidth.front().bytes_per_s, speed.read_bandwidth.back().bytes_per_s);
#endif
  EXPECT_LT(speed.read_bandwidth.front().bytes_per_s, 128 * 6.5e9);  // two 512-bit loads at 6.5 GHz
}

TEST(HostSpeed, needs_a_budget) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { (void)measure_host(0); }), "budget_s must be above 0, got 0");
}

}  // namespace
}  // namespace latpred
