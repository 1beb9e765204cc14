#include "device_table.h"

namespace latpred {
namespace {

// Processors: cores stand as SMs, the last-level cache as L2. Peaks are dense, of tensor cores with FP32 accumulation
// where the row does not say otherwise.
constexpr DeviceRow kCpus[] = {
    {
        .name = "Xeon Silver 4114",
        .vendor_name = "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz",
        .architecture = "Skylake-SP",
        .is_gpu = false,
        .sms = 10,
        .clock_mhz = 3000,
        .memory_gib = 768,
        .memory_type = "DDR4",
        .memory_bus_bits = 384,
        .memory_clock_mhz = 1200,
        .bandwidth_gb_per_s = 115.2,
        .l2_mib = 13.75,
        .fp32_tflops = 0.96,
        .power_limit_w = 85,
        .sustained_share = 2.2 / 3.0,
        .source = "Intel ARK, Xeon Silver 4114 (10 cores, 2.2/3.0 GHz, 13.75 MB, 6 x DDR4-2400, 768 GB, one AVX-512 "
                  "FMA unit, 85 W)",
        .note =
            "last-level cache stands as L2; memory is the largest that the processor takes, not what a machine holds; "
            "clock is the single-core turbo; 32 flop per cycle and core; sustained share: base clock over turbo",
    },
    {
        .name = "Xeon Silver 4210R",
        .vendor_name = "Intel(R) Xeon(R) Silver 4210R CPU @ 2.40GHz",
        .architecture = "Cascade Lake-SP",
        .is_gpu = false,
        .sms = 10,
        .clock_mhz = 3200,
        .memory_gib = 1024,
        .memory_type = "DDR4",
        .memory_bus_bits = 384,
        .memory_clock_mhz = 1200,
        .bandwidth_gb_per_s = 115.2,
        .l2_mib = 13.75,
        .fp32_tflops = 1.024,
        .int8_tops = 4.096,
        .power_limit_w = 100,
        .sustained_share = 2.4 / 3.2,
        .source = "Intel ARK, Xeon Silver 4210R (10 cores, 2.4/3.2 GHz, 13.75 MB, 6 x DDR4-2400, 1 TB, one AVX-512 FMA "
                  "unit, VNNI, 100 W)",
        .note = "last-level cache stands as L2; memory is the largest that the processor takes, not what a machine "
                "holds; clock is the single-core turbo; 32 flop and 128 int8 operations per cycle and core; sustained "
                "share: base clock over turbo",
    },
    {
        .name = "Xeon Gold 6240",
        .vendor_name = "Intel(R) Xeon(R) Gold 6240 CPU @ 2.60GHz",
        .architecture = "Cascade Lake-SP",
        .is_gpu = false,
        .sms = 18,
        .clock_mhz = 3900,
        .memory_gib = 1024,
        .memory_type = "DDR4",
        .memory_bus_bits = 384,
        .memory_clock_mhz = 1466,
        .bandwidth_gb_per_s = 140.8,
        .l2_mib = 24.75,
        .fp32_tflops = 4.493,
        .int8_tops = 17.97,
        .power_limit_w = 150,
        .sustained_share = 2.6 / 3.9,
        .source = "Intel ARK, Xeon Gold 6240 (18 cores, 2.6/3.9 GHz, 24.75 MB, 6 x DDR4-2933, 1 TB, two AVX-512 FMA "
                  "units, VNNI, 150 W)",
        .note = "last-level cache stands as L2; memory is the largest that the processor takes, not what a machine "
                "holds; clock is the single-core turbo; 64 flop and 256 int8 operations per cycle and core; sustained "
                "share: base clock over turbo",
    },
    {
        .name = "Core i9-10940X",
        .vendor_name = "Intel(R) Core(TM) i9-10940X CPU @ 3.30GHz",
        .architecture = "Cascade Lake-X",
        .is_gpu = false,
        .sms = 14,
        .clock_mhz = 4600,
        .memory_gib = 256,
        .memory_type = "DDR4",
        .memory_bus_bits = 256,
        .memory_clock_mhz = 1466,
        .bandwidth_gb_per_s = 93.9,
        .l2_mib = 19.25,
        .fp32_tflops = 4.122,
        .int8_tops = 16.49,
        .power_limit_w = 165,
        .sustained_share = 3.3 / 4.6,
        .source = "Intel ARK, Core i9-10940X (14 cores, 3.3/4.6 GHz, 19.25 MB, 4 x DDR4-2933, 256 GB, two AVX-512 FMA "
                  "units, VNNI, 165 W)",
        .note = "last-level cache stands as L2; memory is the largest that the processor takes, not what a machine "
                "holds; clock is the single-core turbo; 64 flop and 256 int8 operations per cycle and core; sustained "
                "share: base clock over turbo",
    },
};

}  // namespace

std::span<const DeviceRow> cpu_rows() { return kCpus; }

}  // namespace latpred
