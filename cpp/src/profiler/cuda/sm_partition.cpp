#include <algorithm>
#include <utility>

#include "latpred/text.h"
#include "profiler/cuda/gpu_parts.h"

namespace latpred {
namespace {

// Smallest part and step by compute capability, for drivers that do not say (CUDA 12.4): the table of the driver's
// manual under green contexts.
struct Granularity {
  int from_compute_capability;
  int smallest;
  int step;
};
constexpr Granularity kGranularities[] = {{90, 8, 8}, {80, 4, 2}, {70, 2, 2}, {0, 1, 1}};

cuda::DeviceResource all_sms(const Gpu::Parts& gpu) {
  cuda::DeviceResource all{};
  gpu.driver->cuDeviceGetDevResource(gpu.device, &all, cuda::kSmResource);
  return all;
}

std::vector<int> sizes(const Gpu::Parts& gpu, const cuda::SmResource& all) {
  Granularity rule{0, static_cast<int>(all.min_partition_size), static_cast<int>(all.coscheduled_alignment)};
  if (rule.smallest == 0 || rule.step == 0) {
    rule = *std::find_if(std::begin(kGranularities), std::end(kGranularities), [&](const Granularity& row) {
      return gpu.facts.compute_capability >= row.from_compute_capability;
    });
  }
  const int total = static_cast<int>(all.sm_count);
  std::vector<int> found;
  for (int size = rule.smallest; size < total; size += rule.step) found.push_back(size);
  found.push_back(total);
  return found;
}

[[noreturn]] void refuse(const std::string& message, const std::vector<int>& valid) {
  ErrorData data;
  for (const int size : valid) data.valid.push_back(concat(size));
  throw InvalidArgumentError(concat(message, "; sizes: ", join(data.valid)), data);
}

}  // namespace

struct SmPartition::Parts {
  explicit Parts(std::shared_ptr<const Gpu::Parts> owner) : gpu(std::move(owner)) {}
  ~Parts() {
    // In this order: a stream of a destroyed context is lost.
    if (stream != nullptr) (void)gpu->driver->cuStreamDestroy.result(stream);
    if (green != nullptr) (void)gpu->driver->cuGreenCtxDestroy.result(green);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::shared_ptr<const Gpu::Parts> gpu;
  cuda::GreenContext green = nullptr;
  cuda::Stream stream = nullptr;
  int sms = 0;
};

SmPartition::SmPartition(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SmPartition::~SmPartition() = default;
SmPartition::SmPartition(SmPartition&&) noexcept = default;

int SmPartition::sms() const { return parts_->sms; }
StreamHandle SmPartition::stream() const { return reinterpret_cast<StreamHandle>(parts_->stream); }

std::vector<int> Gpu::partition_sizes() const { return sizes(*parts_, all_sms(*parts_).sms); }

std::vector<SmPartition> Gpu::partitions(int sms, int count) const {
  const cuda::Driver& driver = *parts_->driver;
  const cuda::CurrentContext current(driver, parts_->context->get());
  const cuda::DeviceResource all = all_sms(*parts_);
  const std::vector<int> valid = sizes(*parts_, all.sms);
  const int total = static_cast<int>(all.sms.sm_count);
  if (std::find(valid.begin(), valid.end(), sms) == valid.end()) {
    refuse(concat("a partition of ", sms, " of ", total, " SMs cannot be made on ", parts_->facts.name), valid);
  }
  if (count < 1 || sms > total / count) {
    refuse(concat(count, " partitions of ", sms, " SMs do not fit into ", total, "; count must be between 1 and ",
                  total / sms),
           valid);
  }
  std::vector<cuda::DeviceResource> pieces(static_cast<std::size_t>(count), all);
  if (sms != total) {
    auto groups = static_cast<unsigned int>(count);
    cuda::DeviceResource rest{};
    driver.cuDevSmResourceSplitByCount(pieces.data(), &groups, &all, &rest, 0, static_cast<unsigned int>(sms));
    if (groups < static_cast<unsigned int>(count)) {
      refuse(concat("the driver made ", groups, " of ", count, " partitions of ", sms, " SMs"), valid);
    }
  }
  std::vector<SmPartition> made;
  for (cuda::DeviceResource& piece : pieces) {
    auto parts = std::make_unique<SmPartition::Parts>(parts_);
    cuda::ResourceDescription description = nullptr;
    driver.cuDevResourceGenerateDesc(&description, &piece, 1);
    driver.cuGreenCtxCreate(&parts->green, description, parts_->device, cuda::kGreenContextDefaultStream);
    driver.cuGreenCtxStreamCreate(&parts->stream, parts->green, cuda::kStreamNonBlocking, 0);
    cuda::DeviceResource granted{};
    driver.cuGreenCtxGetDevResource(parts->green, &granted, cuda::kSmResource);
    parts->sms = static_cast<int>(granted.sms.sm_count);
    if (parts->sms != sms) refuse(concat("asked for ", sms, " SMs, the driver granted ", parts->sms), valid);
    made.push_back(SmPartition(std::move(parts)));
  }
  return made;
}

}  // namespace latpred
