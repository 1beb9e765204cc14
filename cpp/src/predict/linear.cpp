#include <algorithm>
#include <utility>

#include "host.h"
#include "latpred/checkpoint.h"
#include "latpred/error.h"
#include "latpred/interval.h"
#include "latpred/text.h"
#include "predictors.h"

namespace latpred {
namespace {

// Seconds = compute x FLOPs / peak + (activations x activation bytes + weights x weight bytes) / bandwidth + launch.
// Linear in the network, relative to the device: one fit answers for every device. The coefficients are kept at 0.9 and
// above in the fit, so that no answer falls below nine tenths of the physical bound.
class Linear : public Predictor {
 public:
  explicit Linear(const std::string& path) {
    const Checkpoint checkpoint = read_checkpoint(path, "linear");
    evidence_ = evidence_of(checkpoint);
    const std::vector<double>& fitted = checkpoint.array_from_zero("coefficients", {4});
    compute_ = fitted[0];
    activations_ = fitted[1];
    weights_ = fitted[2];
    launch_s_ = fitted[3];
  }

  [[nodiscard]] LatencyOutput latency(const LatencyInput& input) const override {
    std::vector<double> kernel_s;
    kernel_s.reserve(input.kernels.rows.size());
    for (std::size_t k = 0; k < input.kernels.rows.size(); ++k) {
      const Kernel& kernel = input.kernels.rows[k];
      const KernelPhysics& physics = input.features.physics[k];
      const double moved = activations_ * (kernel.bytes_in + kernel.bytes_out) + weights_ * kernel.weight_bytes;
      const double once = compute_ * physics.compute_s + moved / physics.bandwidth_bytes_per_s + launch_s_;
      kernel_s.push_back(once * static_cast<double>(kernel.repeat));
    }
    return add_host(input, std::move(kernel_s));
  }

  [[nodiscard]] const Evidence& evidence() const override { return evidence_; }

 private:
  Evidence evidence_;
  double compute_ = 0;
  double activations_ = 0;
  double weights_ = 0;
  double launch_s_ = 0;
};

}  // namespace

std::unique_ptr<Predictor> make_linear(const std::string& checkpoint_path) {
  return std::make_unique<Linear>(checkpoint_path);
}

}  // namespace latpred
