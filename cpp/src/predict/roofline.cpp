#include <utility>

#include "host.h"
#include "latpred/checkpoint.h"
#include "latpred/interval.h"
#include "predictors.h"

namespace latpred {
namespace {

// The bound itself: nothing is fitted but the interval.
class Roofline : public Predictor {
 public:
  explicit Roofline(const std::string& path) : evidence_(evidence_of(read_checkpoint(path, "roofline"))) {}

  [[nodiscard]] LatencyOutput latency(const LatencyInput& input) const override {
    std::vector<double> kernel_s;
    kernel_s.reserve(input.kernels.rows.size());
    for (std::size_t k = 0; k < input.kernels.rows.size(); ++k) {
      kernel_s.push_back(input.features.physics[k].roofline_s * static_cast<double>(input.kernels.rows[k].repeat));
    }
    return add_host(input, std::move(kernel_s));
  }

  [[nodiscard]] const Evidence& evidence() const override { return evidence_; }

 private:
  Evidence evidence_;
};

}  // namespace

std::unique_ptr<Predictor> make_roofline(const std::string& checkpoint_path) {
  return std::make_unique<Roofline>(checkpoint_path);
}

}  // namespace latpred
