#include "latpred/kernel_terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "golden_lines.h"
#include "latpred/text.h"
#include "matmul_kernel.h"

namespace latpred {
namespace {

constexpr double kMega = 1e6;

Kernel product(double m, double n, double k, Arithmetic arithmetic) {
  return testing::matmul_kernel(m, n, k, arithmetic, 2);
}

Kernel stream(double bytes) {
  Kernel kernel;
  kernel.kind = CostKind::unary;
  kernel.flops = bytes / 8;
  kernel.bytes_in = bytes / 2;
  kernel.bytes_out = bytes / 2;
  return kernel;
}

KernelTerms terms(const Kernel& kernel, std::string_view device_name, std::string_view partition_name = "") {
  const Device& on = device(device_name);
  return kernel_terms(kernel, on, partition(on, partition_name));
}

std::vector<double> inputs(const Kernel& kernel, std::string_view device_name,
                           std::string_view runtime_name = "eager") {
  std::vector<double> values(term_columns().size());
  fill_term_columns({kernel, device(device_name), runtime(runtime_name)}, values.data());
  return values;
}

double input(const Kernel& kernel, std::string_view device_name, std::string_view name,
             std::string_view runtime_name = "eager") {
  const std::vector<double> values = inputs(kernel, device_name, runtime_name);
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (term_columns()[c].name == name) return values[c];
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

TEST(KernelTerms, OneMoreTileThanSmsTakesTwoWaves) {
  // 128 x 256 tiles at full rate: one for each of the A100's 108 SMs, then one more.
  const KernelTerms full = terms(product(108 * 128, 256, 1024, Arithmetic::bf16), "A100");
  EXPECT_DOUBLE_EQ(full.wave_factor, 1);
  const KernelTerms over = terms(product(108 * 128 + 1, 256, 1024, Arithmetic::bf16), "A100");
  EXPECT_GT(over.wave_factor, 1.2);
  EXPECT_DOUBLE_EQ(terms(stream(kMega), "A100").wave_factor, 1);
}

TEST(KernelTerms, SaysWhichUnitsAndWhichLibrary) {
  Kernel kernel = product(64, 64, 64, Arithmetic::fp16);
  EXPECT_EQ(terms(kernel, "A100").units, ComputeUnits::matrix);
  EXPECT_EQ(terms(kernel, "A100").library, KernelLibrary::product);
  EXPECT_EQ(terms(kernel, "P4").units, ComputeUnits::general_product);  // has no fp16 units worth the name
  kernel.kind = CostKind::conv_1x1;
  EXPECT_EQ(terms(kernel, "A100").library, KernelLibrary::convolution);
  kernel.arithmetic = Arithmetic::fp32;
  EXPECT_EQ(terms(kernel, "A100").units, ComputeUnits::general_product);
  EXPECT_EQ(terms(stream(1), "A100").units, ComputeUnits::general);
  EXPECT_EQ(terms(stream(1), "A100").library, KernelLibrary::none);
}

TEST(KernelTerms, AGapIsCountedInCyclesAndMemoriesAreOfAKind) {
  EXPECT_NEAR(terms(stream(1), "A100").gap_scale, 1.7e9 / *device("A100").clock_hz, 1e-12);
  EXPECT_LT(terms(stream(1), "RTX 4090").gap_scale, 1);
  EXPECT_NEAR(terms(stream(1), "A100").cycles_per_byte, 108 * 1.41e9 / 1.555e12 / 0.12, 1e-2);
  EXPECT_GT(terms(stream(1), "RTX 4090").cycles_per_byte, 2);
  EXPECT_EQ(memory_kind(device("P4")), MemoryKind::old_graphics);
  EXPECT_EQ(memory_kind(device("GTX 1080 Ti")), MemoryKind::fast_graphics);
  EXPECT_EQ(memory_kind(device("H100")), MemoryKind::stacked);
  EXPECT_EQ(memory_kind(device("T4")), MemoryKind::graphics);
  EXPECT_EQ(memory_kind(device("RTX 4090")), MemoryKind::fast_graphics);
  Device other = device("A100");
  other.memory_type = "";
  other.clock_hz.reset();
  const KernelTerms unknown = kernel_terms(stream(1), other, partition(other, ""));
  EXPECT_EQ(unknown.memory, MemoryKind::unknown);
  EXPECT_EQ(unknown.gap_scale, 1);
  EXPECT_EQ(unknown.cycles_per_byte, 1);
}

TEST(KernelTerms, UnitsThatDoMoreInACycleAreHarderToFeed) {
  const Kernel kernel = product(512, 512, 512, Arithmetic::fp16);
  EXPECT_NEAR(terms(kernel, "A40").feeding_factor, 1, 2e-3);
  EXPECT_NEAR(terms(kernel, "RTX 3090").feeding_factor, std::pow(0.5, 0.2), 2e-3);  // the same chip at half the rate
  EXPECT_NEAR(terms(kernel, "A100").feeding_factor, std::pow(2, 0.2), 2e-3);
  EXPECT_NEAR(terms(product(512, 512, 512, Arithmetic::tf32), "A100").feeding_factor, std::pow(2, 0.2), 2e-3);
  EXPECT_EQ(terms(kernel, "A100", "1g.5gb").feeding_factor, terms(kernel, "A100").feeding_factor);
  EXPECT_EQ(terms(product(512, 512, 512, Arithmetic::fp32), "A100").feeding_factor, 1);  // not on matrix units
  EXPECT_EQ(terms(stream(kMega), "A100").feeding_factor, 1);
  Kernel convolution = product(512, 512, 512, Arithmetic::fp32);
  convolution.kind = CostKind::conv;
  EXPECT_NEAR(terms(convolution, "H200").feeding_factor, 2, 1e-2);  // half of its lanes
  EXPECT_NEAR(terms(convolution, "V100").feeding_factor, 1, 1e-2);
  EXPECT_EQ(terms(convolution, "GTX 1080 Ti").feeding_factor, 1);
  EXPECT_EQ(terms(product(512, 512, 512, Arithmetic::fp32), "H200").feeding_factor, 1);
  Device other = device("A100");
  other.clock_hz.reset();
  EXPECT_EQ(kernel_terms(kernel, other, partition(other, "")).feeding_factor, 1);
}

TEST(KernelTerms, NoKernelIsQuickerThanPeakBandwidthAndWhatL2Holds) {
  const Device& on = device("A100");
  const double l2 = *on.l2_bytes;
  const double most = 0.94 * on.bandwidth_bytes_per_s;
  // Twice the L2: half of it may come from there, three times as quickly.
  EXPECT_NEAR(terms(stream(2 * l2), "A100").least_memory_s, (l2 + l2 / 3) / most, 1e-15);
  EXPECT_NEAR(terms(stream(l2), "A100").least_memory_s, l2 / 3 / most, 1e-15);
  Kernel weights = stream(0);
  weights.weight_bytes = kMega;  // read once: no L2 helps
  EXPECT_NEAR(terms(weights, "A100").least_memory_s, kMega / most, 1e-15);
  Kernel convolution = product(512, 64, 9 * 64, Arithmetic::fp32);
  const KernelTerms plain = terms(convolution, "A100");
  EXPECT_DOUBLE_EQ(plain.least_compute_s, 0.9 * plain.compute_s);
  convolution.kind = CostKind::conv;
  convolution.window = 9;
  convolution.positions = 56 * 56;
  EXPECT_DOUBLE_EQ(terms(convolution, "A100").least_compute_s, 0.9 * plain.compute_s);  // 1 x 9, or with gaps
  convolution.is_3x3 = true;
  EXPECT_DOUBLE_EQ(terms(convolution, "A100").least_compute_s, 0.9 * plain.compute_s / 4);
}

TEST(KernelTerms, NominalTimeIsThatOfAnA100WithoutWeights) {
  Kernel kernel = product(512, 512, 512, Arithmetic::fp16);
  kernel.weight_bytes = kMega;
  EXPECT_NEAR(nominal_s(kernel), kernel.flops / 312e12, 1e-15);
  EXPECT_NEAR(nominal_s(stream(kMega)), kMega / 1555e9, 1e-15);
  EXPECT_EQ(terms(kernel, "T4").nominal_s, nominal_s(kernel));
}

TEST(KernelTerms, PyTorchsOwnDepthwiseConvolutionKeepsTheSmsBusy) {
  Kernel kernel = stream(kMega);
  kernel.kind = CostKind::conv_depthwise;
  kernel.window = 9;
  kernel.macs = 1e8;
  kernel.flops = 2e8;
  const double by_cudnn_s = terms(kernel, "H200").compute_s;
  kernel.is_native_depthwise = true;
  const Device& on = device("H200");
  const double cycle_s = 1 / (*on.clock_hz * on.sustained_share.value);
  const KernelTerms native = terms(kernel, "H200");
  EXPECT_NEAR(native.compute_s, 1e8 / 9 * (1.6 + 9 * 0.11) * cycle_s / on.sms, 1e-12);
  EXPECT_GT(native.compute_s, 10 * by_cudnn_s);
  EXPECT_DOUBLE_EQ(native.least_compute_s, 0.9 * native.compute_s);
  EXPECT_NEAR(terms(kernel, "H200", "66sm").compute_s, 2 * native.compute_s, 1e-12);
  EXPECT_EQ(input(kernel, "H200", "native_depthwise"), 1);
  const auto cycles_on = [&](std::string_view name) {
    const Device& other = device(name);
    return terms(kernel, name).compute_s * other.sms * *other.clock_hz * other.sustained_share.value;
  };
  EXPECT_NEAR(cycles_on("V100"), cycles_on("H200"), 1);
  EXPECT_NEAR(cycles_on("GTX 1080 Ti"), 2.2 * cycles_on("H200"), 1);
  const double on_cores_s = terms(kernel, "Core i9-10940X").compute_s;
  kernel.is_native_depthwise = false;
  EXPECT_EQ(terms(kernel, "Core i9-10940X").compute_s, on_cores_s);  // which are no SMs
}

TEST(KernelTerms, PyTorchsOwnPoolingKeepsTheSmsBusy) {
  Kernel kernel = stream(kMega);
  kernel.kind = CostKind::pool;
  kernel.window = 9;
  kernel.flops = 9e8;
  const double by_others_s = terms(kernel, "H200").compute_s;
  kernel.pooled = 1e8;
  const Device& on = device("H200");
  const double cycle_s = 1 / (*on.clock_hz * on.sustained_share.value);
  const KernelTerms own = terms(kernel, "H200");
  EXPECT_NEAR(own.compute_s, 1e8 * (2.4 + 9 * 0.21) / 1.4 * cycle_s / on.sms, 1e-12);
  EXPECT_GT(own.compute_s, 10 * by_others_s);
  EXPECT_DOUBLE_EQ(own.least_compute_s, 0.9 * own.compute_s);
  EXPECT_NEAR(terms(kernel, "H200", "66sm").compute_s, 2 * own.compute_s, 1e-12);
  const double on_cores_s = terms(kernel, "Core i9-10940X").compute_s;
  kernel.pooled = 0;
  EXPECT_EQ(terms(kernel, "Core i9-10940X").compute_s, on_cores_s);  // which are no SMs
}

TEST(KernelTerms, UnalignedProductsLeaveTensorCoresIdle) {
  Kernel head = product(32768, 50257, 768, Arithmetic::fp16);
  const KernelTerms aligned = terms(head, "H200");
  head.is_unaligned = true;
  const KernelTerms unaligned = terms(head, "H200");
  const Device& on = device("H200");
  EXPECT_NEAR(unaligned.compute_s, head.flops / (512 * on.sms * *on.clock_hz * on.sustained_share.value), 1e-9);
  EXPECT_GT(unaligned.compute_s, 4 * aligned.compute_s);
  EXPECT_EQ(unaligned.least_compute_s, aligned.least_compute_s);
  // A chip that does no more in a cycle, and one whose units do not have this arithmetic.
  const KernelTerms on_consumer_chip = terms(head, "RTX 3090");
  EXPECT_NEAR(on_consumer_chip.compute_s, on_consumer_chip.least_compute_s / 0.9, 1e-12);
  const KernelTerms without_units = terms(head, "GTX 1080 Ti");
  EXPECT_NEAR(without_units.compute_s, without_units.least_compute_s / 0.9, 1e-12);
}

TEST(KernelTerms, NormsOfPyTorchKeepTheSmsBusy) {
  constexpr double kElements = 1e7;
  const auto norm = [](CostKind kind, double row) {
    Kernel kernel = stream(kMega);
    kernel.kind = kind;
    kernel.row = row;
    kernel.normalised = kElements;
    return kernel;
  };
  const Device& on = device("H200");
  const double cycle_s = 1 / (*on.clock_hz * on.sustained_share.value);
  const auto batch_norm_of = [&](double pixels, std::string_view part = "") {
    Kernel kernel = norm(CostKind::batch_norm, 0);
    kernel.positions = pixels;
    return terms(kernel, "H200", part);
  };
  const KernelTerms batch_norm = batch_norm_of(56 * 56);
  EXPECT_NEAR(batch_norm.compute_s, kElements * 0.57 * cycle_s / on.sms, 1e-12);
  EXPECT_NEAR(batch_norm_of(7 * 7).compute_s, kElements / 49 * 170 * cycle_s / on.sms, 1e-12);
  EXPECT_DOUBLE_EQ(batch_norm.least_compute_s, 0.9 * batch_norm.compute_s);
  EXPECT_NEAR(batch_norm_of(56 * 56, "66sm").compute_s, 2 * batch_norm.compute_s, 1e-12);
  // Short rows take longer.
  EXPECT_GT(terms(norm(CostKind::layer_norm, 96), "H200").compute_s,
            4 * terms(norm(CostKind::layer_norm, 1024), "H200").compute_s);
  // One block walks a group: ten of them take as long as one.
  EXPECT_NEAR(terms(norm(CostKind::group_norm, kElements / 10), "H200").compute_s,
              kElements / 10 * 1.9 / kStartOfCompute * cycle_s, 1e-12);
  Device other = on;
  other.clock_hz.reset();
  EXPECT_EQ(kernel_terms(norm(CostKind::layer_norm, 96), other, partition(other, "")).compute_s, 0);
}

TEST(KernelTerms, NormsAreBoundByTheirBytes) {
  Kernel softmax = stream(kMega);
  softmax.kind = CostKind::softmax;
  EXPECT_EQ(terms(softmax, "A100").compute_s, 0);
  EXPECT_EQ(terms(softmax, "A100").least_compute_s, 0);
  EXPECT_EQ(terms(softmax, "A100").least_memory_s, terms(stream(kMega), "A100").least_memory_s);
}

TEST(KernelTerms, StepsOfARecurrentLayerWaitForOneAnother) {
  const double steps = 256;
  Kernel layer = product(32, 4096, 2048, Arithmetic::fp16);
  layer.kind = CostKind::recurrent;
  layer.weight_bytes = 4096 * 2048 * 2;
  const KernelTerms one = terms(layer, "T4");
  layer.gemm_batch = steps;
  layer.flops *= steps;
  const KernelTerms all = terms(layer, "T4");
  EXPECT_DOUBLE_EQ(all.gap_scale, steps * one.gap_scale);
  EXPECT_DOUBLE_EQ(all.wave_factor, one.wave_factor);  // the products of the steps do not fill the device together
  EXPECT_DOUBLE_EQ(all.compute_s, steps * one.compute_s);
  // The T4's L2 holds a quarter of the weights and moves them three times as quickly.
  const double again = layer.weight_bytes - one.l2_bytes * 2 / 3;
  EXPECT_DOUBLE_EQ(all.weight_bytes, layer.weight_bytes + (steps - 1) * again);
  EXPECT_NEAR(all.least_memory_s - one.least_memory_s, (steps - 1) * again / (0.94 * 320e9), 1e-12);
}

TEST(KernelTerms, ASliceHasItsSharesOfEverything) {
  const Kernel kernel = stream(kMega);
  const KernelTerms whole = terms(kernel, "A100");
  const KernelTerms slice = terms(kernel, "A100", "1g.5gb");
  EXPECT_NEAR(slice.compute_s / whole.compute_s, 108.0 / 14, 1e-9);
  EXPECT_DOUBLE_EQ(slice.l2_bytes, whole.l2_bytes / 8);
  EXPECT_LT(slice.bandwidth_bytes_per_s, whole.bandwidth_bytes_per_s);
}

TEST(TermColumns, DependOnNeitherTheBatchNorTheSpeedOfTheDevice) {
  Kernel kernel = product(16, 96, 384, Arithmetic::fp16);
  const std::vector<double> small = inputs(kernel, "A100");
  EXPECT_EQ(small, inputs(kernel, "H100"));
  kernel = product(16 * 37, 96, 384, Arithmetic::fp16);
  const std::vector<double> large = inputs(kernel, "A100");
  for (std::size_t c = 0; c < small.size(); ++c) EXPECT_NEAR(small[c], large[c], 1e-12) << term_columns()[c].name;
}

TEST(TermColumns, SayWhatTheDeviceExecutes) {
  const Kernel kernel = product(16, 96, 384, Arithmetic::bf16);
  EXPECT_EQ(input(kernel, "A100", "tensor_cores"), 1);
  EXPECT_EQ(input(kernel, "A100", "arithmetic_bf16"), 1);
  EXPECT_EQ(input(kernel, "V100", "tensor_cores"), 0);  // has no bf16 units: falls back
  EXPECT_EQ(input(kernel, "V100", "arithmetic_bf16"), 0);
  EXPECT_EQ(input(kernel, "V100", "arithmetic_fp32"), 1);
  EXPECT_EQ(input(kernel, "A100", "kind_matmul"), 1);
  EXPECT_EQ(input(kernel, "A100", "kind_unary"), 0);
  Kernel convolution = kernel;
  convolution.kind = CostKind::conv_depthwise;
  convolution.channels_last = true;
  EXPECT_EQ(input(convolution, "A100", "channels_last"), 1);
  EXPECT_EQ(input(convolution, "A100", "channels_last_depthwise"), 1);
}

TEST(TermColumns, TellGroupsThatCudnnHasNoKernelFor) {
  Kernel convolution = product(512, 24, 9 * 24, Arithmetic::fp16);
  convolution.kind = CostKind::conv_grouped;
  EXPECT_EQ(input(convolution, "A100", "uneven_groups"), 0);
  convolution.channels_last = true;
  EXPECT_EQ(input(convolution, "A100", "uneven_groups"), 1);
  convolution.n = 32;
  EXPECT_EQ(input(convolution, "A100", "uneven_groups"), 0);
}

TEST(TermColumns, TellDepthwiseConvolutionsThatCudnnHasNoKernelFor) {
  Kernel kernel;
  kernel.kind = CostKind::conv_depthwise;
  kernel.arithmetic = Arithmetic::fp16;
  kernel.groups = 64;
  const auto is_uncommon = [&](double window, double filters, bool channels_last = true) {
    Kernel changed = kernel;
    changed.window = window;
    changed.n = filters;
    changed.channels_last = channels_last;
    return input(changed, "A100", "uncommon_depthwise") == 1;
  };
  for (const double window : {1, 9, 25, 49}) EXPECT_FALSE(is_uncommon(window, 1));
  EXPECT_TRUE(is_uncommon(81, 1));
  EXPECT_TRUE(is_uncommon(5, 1));  // 1 x 5
  EXPECT_TRUE(is_uncommon(49, 2));
  EXPECT_FALSE(is_uncommon(81, 1, false));
}

TEST(TermColumns, TellBfloat16ConvolutionsOfUnevenChannels) {
  const auto is_uneven = [](double channels, double filters, Arithmetic arithmetic, const char* device) {
    Kernel convolution = product(512, filters, 9 * channels, arithmetic);
    convolution.kind = CostKind::conv;
    convolution.window = 9;
    return input(convolution, device, "uneven_bf16") == 1;
  };
  EXPECT_TRUE(is_uneven(18, 64, Arithmetic::bf16, "A100"));
  EXPECT_TRUE(is_uneven(64, 18, Arithmetic::bf16, "A100"));
  EXPECT_FALSE(is_uneven(64, 16, Arithmetic::bf16, "A100"));
  EXPECT_FALSE(is_uneven(18, 64, Arithmetic::fp16, "A100"));
  EXPECT_FALSE(is_uneven(18, 64, Arithmetic::bf16, "V100"));  // has no bf16 units: falls back
}

// F(4x4, 3x3) saves 4 of whole tiles, F(2x2, 3x3) 2.25: 7 x 7 outputs fill 49 / 64 of two tiles of 4 each way, 5 x 5
// as little as 25 / 64, and 25 / 36 of three tiles of 2.
TEST(TermColumns, WinogradSavesOnWholeTilesAtFloat32) {
  Kernel convolution = product(12544, 64, 576, Arithmetic::fp32);
  convolution.kind = CostKind::conv;
  convolution.is_3x3 = true;
  const auto saving = [&](double width, const char* device = "V100") {
    convolution.positions = width * width;
    return std::exp2(input(convolution, device, "winograd_saving"));
  };
  EXPECT_NEAR(saving(56), 4, 1e-9);
  EXPECT_NEAR(saving(7), 4 * 49.0 / 64, 1e-9);
  EXPECT_NEAR(saving(5), std::max(4 * 25.0 / 64, 2.25 * 25 / 36), 1e-9);
  EXPECT_NEAR(saving(1), 1, 1e-9);
  convolution.is_3x3 = false;
  EXPECT_EQ(saving(56), 1);
  convolution.is_3x3 = true;
  convolution.stride = 4;
  EXPECT_EQ(saving(56), 1);
  convolution.stride = 1;
  convolution.arithmetic = Arithmetic::fp16;
  EXPECT_EQ(saving(56), 1);
  EXPECT_NEAR(saving(56, "GTX 1080 Ti"), 4, 1e-9);  // has no units for halves: float32
}

TEST(TermColumns, SizesFillVectorsWhereTheRuntimePadsThem) {
  const Kernel uneven = product(512, 18, 324, Arithmetic::fp16);
  for (const char* column : {"n_by_8", "k_by_8"}) {
    EXPECT_EQ(input(uneven, "T4", column), 0) << column;
    EXPECT_EQ(input(uneven, "T4", column, "tensorrt"), 1) << column;
  }
}

// ATen has a kernel for each, Inductor one template.
TEST(TermColumns, GeneratedPointwiseKernelsAreOfOneKind) {
  Kernel pool = stream(kMega);
  pool.kind = CostKind::pool;
  pool.window = 9;
  const auto shown = [&](std::string_view name) {
    return std::pair(input(pool, "A100", name), input(pool, "A100", name, "compiled"));
  };
  EXPECT_EQ(shown("generated"), std::pair(0.0, 1.0));
  EXPECT_EQ(shown("kind_pool"), std::pair(1.0, 0.0));
  EXPECT_EQ(shown("window"), std::pair(std::log2(9.0), 0.0));
  for (const CostKind kind : {CostKind::resize, CostKind::layer_norm, CostKind::conv}) {
    pool.kind = kind;
    EXPECT_EQ(shown("generated"), std::pair(0.0, 0.0));
    EXPECT_EQ(shown("window"), std::pair(std::log2(9.0), std::log2(9.0)));
  }
}

TEST(KernelTerms, InterpolationOfFewPixelsLeavesBandwidthUnused) {
  Kernel resize = stream(kMega);
  resize.kind = CostKind::resize;
  resize.positions = 14 * 14;
  const double whole = terms(resize, "A100").bandwidth_bytes_per_s;  // the nearest pixel: a thread for every element
  resize.interpolates = true;
  EXPECT_DOUBLE_EQ(terms(resize, "A100").bandwidth_bytes_per_s, 14 * 14 * 17e6);
  resize.positions = 1e6;
  EXPECT_DOUBLE_EQ(terms(resize, "A100").bandwidth_bytes_per_s, whole);
  resize.positions = 14 * 14;
  resize.channels_last = true;
  EXPECT_DOUBLE_EQ(terms(resize, "A100").bandwidth_bytes_per_s, whole);
}

TEST(TermColumns, MatchTheGoldenFile) {
  const std::vector<std::string> expected = testing::golden_lines("kernel_term_columns.txt");
  std::vector<std::string> found;
  for (const TermColumn& row : term_columns()) {
    found.push_back(concat(found.size(), " ", row.name, " [", row.unit, "]"));
  }
  // Learnt weights know columns by position: lines may be added at the end, never changed.
  EXPECT_EQ(found, expected) << join(found, "\n");
}

}  // namespace
}  // namespace latpred
