#include "mig_profiles.h"

#include <array>

namespace latpred {
namespace {

// SMs and memory as `nvidia-smi mig -lgip` lists them (dumps of each board), instances and memory slices from NVIDIA's
// MIG guide. SMs are not slices / 7 of the chip, and the bandwidth follows the memory slices.
constexpr MigProfileRow kA30[] = {
    {"1g.6gb", 14, 5.81, 1, 4},
    {"2g.12gb", 28, 11.69, 2, 2},
    {"4g.24gb", 56, 23.44, 4, 1},
};
constexpr MigProfileRow kA100With40GB[] = {
    {"1g.5gb", 14, 4.75, 1, 7},  {"1g.10gb", 14, 9.62, 2, 4}, {"2g.10gb", 28, 9.62, 2, 3},
    {"3g.20gb", 42, 19.5, 4, 2}, {"4g.20gb", 56, 19.5, 4, 1}, {"7g.40gb", 98, 39.25, 8, 1},
};
constexpr MigProfileRow kA100With80GB[] = {
    {"1g.10gb", 14, 9.5, 1, 7},   {"1g.20gb", 14, 19.5, 2, 4},  {"2g.20gb", 28, 19.5, 2, 3},
    {"3g.40gb", 42, 39.25, 4, 2}, {"4g.40gb", 56, 39.25, 4, 1}, {"7g.80gb", 98, 79.0, 8, 1},
};
// 1g.10gb is taken to have the SMs of 1g.20gb: NVIDIA's guide gives both one compute slice.
constexpr MigProfileRow kH100Pcie[] = {
    {"1g.10gb", 14, 9.75, 1, 7}, {"1g.20gb", 14, 19.62, 2, 4}, {"2g.20gb", 30, 19.62, 2, 3},
    {"3g.40gb", 46, 39.5, 4, 2}, {"4g.40gb", 62, 39.5, 4, 1},  {"7g.80gb", 114, 79.25, 8, 1},
};
// SMs as on the H100 NVL, the same chip with as many SMs; memory as on the PCIe board.
constexpr MigProfileRow kH100Sxm[] = {
    {"1g.10gb", 16, 9.75, 1, 7}, {"1g.20gb", 26, 19.62, 2, 4}, {"2g.20gb", 32, 19.62, 2, 3},
    {"3g.40gb", 60, 39.5, 4, 2}, {"4g.40gb", 64, 39.5, 4, 1},  {"7g.80gb", 132, 79.25, 8, 1},
};
constexpr MigProfileRow kH100Nvl[] = {
    {"1g.12gb", 16, 10.62, 1, 7}, {"1g.24gb", 26, 21.5, 2, 4},  {"2g.24gb", 32, 21.5, 2, 3},
    {"3g.47gb", 60, 46.12, 4, 2}, {"4g.47gb", 64, 46.12, 4, 1}, {"7g.94gb", 132, 92.62, 8, 1},
};
// 1g.35gb: SMs as on the H100 NVL, memory as 2g.35gb.
constexpr MigProfileRow kH200[] = {
    {"1g.18gb", 16, 16.0, 1, 7}, {"1g.35gb", 26, 32.5, 2, 4}, {"2g.35gb", 32, 32.5, 2, 3},
    {"3g.71gb", 60, 69.5, 4, 2}, {"4g.71gb", 64, 69.5, 4, 1}, {"7g.141gb", 132, 140.0, 8, 1},
};
// Memory from NVIDIA's guide; SMs as on the H100 NVL; 7g.96gb is taken as twice 3g.48gb (a lower bound).
constexpr MigProfileRow kGH200[] = {
    {"1g.12gb", 16, 11.0, 1, 7}, {"1g.24gb", 26, 23.0, 2, 4}, {"2g.24gb", 32, 23.0, 2, 3},
    {"3g.48gb", 60, 46.5, 4, 2}, {"4g.48gb", 64, 46.5, 4, 1}, {"7g.96gb", 132, 93.0, 8, 1},
};

struct DeviceTable {
  std::string_view device_name;
  MigTable table;
};
// B200 and RTX PRO 6000 have MIG, but nobody has published the SMs of their profiles: they stay out.
constexpr std::array<DeviceTable, 10> kTables{{
    {"A30", {4, kA30}},
    {"A100-PCIe-40GB", {8, kA100With40GB}},
    {"A100-SXM4-40GB", {8, kA100With40GB}},
    {"A100-PCIe-80GB", {8, kA100With80GB}},
    {"A100-SXM4-80GB", {8, kA100With80GB}},
    {"H100-PCIe-80GB", {8, kH100Pcie}},
    {"H100-SXM5-80GB", {8, kH100Sxm}},
    {"H100-NVL-94GB", {8, kH100Nvl}},
    {"H200-SXM-141GB", {8, kH200}},
    {"GH200-96GB", {8, kGH200}},
}};

}  // namespace

MigTable mig_table(std::string_view device_name) {
  for (const DeviceTable& row : kTables) {
    if (row.device_name == device_name) return row.table;
  }
  return {1, {}};
}

}  // namespace latpred
