#include <algorithm>
#include <cmath>
#include <utility>

#include "host.h"
#include "latpred/checkpoint.h"
#include "latpred/error.h"
#include "latpred/interval.h"
#include "latpred/kernel_terms.h"
#include "latpred/text.h"
#include "predictors.h"
#include "units.h"

namespace latpred {
namespace {

constexpr std::int64_t kArithmetics = kNumArithmetics;

// Output elements of the tile that one SM works on: what the "waves" column is counted in.
constexpr double kTileElements = 128 * 128;

// Nothing but Winograd's saved multiplications goes below kSmallestInverse.
constexpr double kSmallestWinogradInverse = 1 / 2.25;  // F(2x2, 3x3)

// What small matrix products cost beyond their FLOPs: m, n and k count as m + edge_m, ... (prologues, ragged tiles),
// and the last wave of tiles costs a share of a full one. Smooth and growing, so that latency grows with every size.
struct EdgeCosts {
  double m = 0;
  double n = 0;
  double k = 0;
  double waves = 0;
};

struct Efficiency {
  double inverse_compute = 1;
  double inverse_memory = 1;
  EdgeCosts edges;
};

// How a measured device differs from its data sheet.
struct DeviceFactors {
  double general_compute = 1;  // float32 units
  double matrix_compute = 1;   // narrow arithmetic
  double memory = 1;
};

class Analytic : public Predictor {
 public:
  explicit Analytic(const std::string& path) {
    const Checkpoint checkpoint = read_checkpoint(path, "analytic");
    evidence_ = evidence_of(checkpoint);
    read_efficiencies(checkpoint);
    read_devices(checkpoint);
  }

  [[nodiscard]] LatencyOutput latency(const LatencyInput& input) const override {
    const DeviceFactors factors = factors_of(input.device.name);
    std::vector<double> kernel_s;
    kernel_s.reserve(input.kernels.rows.size());
    for (std::size_t k = 0; k < input.kernels.rows.size(); ++k) {
      const Kernel& kernel = input.kernels.rows[k];
      const Arithmetic arithmetic = executed_arithmetic(kernel, input.device);
      const double once = seconds(kernel, arithmetic, input.features.physics[k], factors, input.partition.sms);
      kernel_s.push_back(once * static_cast<double>(kernel.repeat));
    }
    return add_host(input, std::move(kernel_s));
  }

  [[nodiscard]] const Evidence& evidence() const override { return evidence_; }

 private:
  void read_efficiencies(const Checkpoint& checkpoint) {
    const std::vector<double>& compute = checkpoint.array_from_zero("inverse_compute", {kNumCostKinds, kArithmetics});
    const std::vector<double>& memory = checkpoint.array_from_zero("inverse_memory", {kNumCostKinds, kArithmetics});
    const std::vector<double>& edges = checkpoint.array_from_zero("edge_costs", {kNumCostKinds, kArithmetics, 4});
    efficiencies_.resize(compute.size());
    for (std::size_t cell = 0; cell < compute.size(); ++cell) {
      efficiencies_[cell] = {compute[cell],
                             memory[cell],
                             {edges[4 * cell], edges[4 * cell + 1], edges[4 * cell + 2], edges[4 * cell + 3]}};
    }
    winograd_inverse_compute_ = checkpoint.array_from_zero("winograd_inverse_compute", {1})[0];
    gap_s_ = checkpoint.array_from_zero("gap_s", {1})[0];
    kernel_norm_ = checkpoint.array_above_zero("kernel_norm", {1})[0];
  }

  void read_devices(const Checkpoint& checkpoint) {
    read_from(checkpoint.path, [&] {
      for (const Json& name : checkpoint.manifest.at("device_factors").array()) devices_.push_back(name.text());
    });
    const std::vector<double>& values =
        checkpoint.array_above_zero("device_factors", {static_cast<std::int64_t>(devices_.size()), 3});
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      factors_.push_back({values[3 * i], values[3 * i + 1], values[3 * i + 2]});
    }
  }

  [[nodiscard]] DeviceFactors factors_of(const std::string& device) const {
    const auto found = std::find(devices_.begin(), devices_.end(), device);
    return found == devices_.end() ? DeviceFactors{} : factors_[static_cast<std::size_t>(found - devices_.begin())];
  }

  static bool runs_winograd(const Kernel& kernel, Arithmetic arithmetic) {
    return kernel.kind == CostKind::conv && arithmetic == Arithmetic::fp32 && kernel.is_3x3 && kernel.stride == 1;
  }

  // One execution of `kernel`.
  [[nodiscard]] double seconds(const Kernel& kernel, Arithmetic arithmetic, const KernelPhysics& physics,
                               const DeviceFactors& factors, double sms) const {
    const Efficiency& efficiency =
        efficiencies_[static_cast<std::size_t>(kernel.kind) * kNumArithmetics + static_cast<std::size_t>(arithmetic)];
    const bool winograd = runs_winograd(kernel, arithmetic);
    const double on_device = arithmetic == Arithmetic::fp32 ? factors.general_compute : factors.matrix_compute;
    const double inverse_compute = winograd ? std::max(kSmallestWinogradInverse, winograd_inverse_compute_ * on_device)
                                            : std::max(kSmallestInverse, efficiency.inverse_compute * on_device);
    const double inverse_memory = std::max(kSmallestInverse, efficiency.inverse_memory * factors.memory);

    double compute_s = physics.compute_s;
    const EdgeCosts& edges = efficiency.edges;
    const double product = kernel.gemm_batch * kernel.m * kernel.n * kernel.k;
    if (product > 0) {
      const double elements =
          kernel.gemm_batch * (kernel.m + edges.m) * (kernel.n + edges.n) + edges.waves * sms * kTileElements;
      compute_s *= elements * (kernel.k + edges.k) / product;
    }
    const double compute = inverse_compute * compute_s;
    const double memory = inverse_memory * physics.memory_s;
    const double longer = std::max(compute, memory);
    if (longer <= 0) return gap_s_;
    return gap_s_ +
           longer * std::pow(std::pow(compute / longer, kernel_norm_) + std::pow(memory / longer, kernel_norm_),
                             1 / kernel_norm_);
  }

  Evidence evidence_;
  std::vector<Efficiency> efficiencies_;  // [kinds, arithmetics]
  double winograd_inverse_compute_ = 1;   // of 3 x 3 convolutions with stride 1 at float32
  double gap_s_ = 0;                      // between two kernels
  double kernel_norm_ = 1;                // joins compute and memory time
  std::vector<std::string> devices_;
  std::vector<DeviceFactors> factors_;  // [devices]
};

}  // namespace

std::unique_ptr<Predictor> make_analytic(const std::string& checkpoint_path) {
  return std::make_unique<Analytic>(checkpoint_path);
}

}  // namespace latpred
