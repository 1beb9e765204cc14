#include "latpred/features.h"

namespace latpred {

Features featurize(const Kernels& kernels, const Device& device, const Partition& partition, bool with_values) {
  const std::vector<FeatureColumn>& columns = feature_columns();
  Features features;
  features.num_kernels = static_cast<std::int64_t>(kernels.rows.size());
  features.num_columns = static_cast<std::int64_t>(columns.size());
  features.physics.reserve(kernels.rows.size());
  if (with_values) features.values.reserve(kernels.rows.size() * columns.size());
  for (const Kernel& kernel : kernels.rows) {
    features.physics.push_back(kernel_physics({kernel, device, partition}));
    if (!with_values) continue;
    const KernelOnDevice input{kernel, device, partition, &features.physics.back()};
    for (const FeatureColumn& column : columns) features.values.push_back(column.compute(input));
  }
  return features;
}

}  // namespace latpred
