#include "extra_kernels.h"

#include "latpred/text.h"

namespace latpred {

Kernel cast_kernel(const Tensor& tensor, double bytes_read, double bytes_written, std::int64_t repeat) {
  Kernel cast{.name = concat("cast(", tensor.name, ")"), .kind = CostKind::cast};
  cast.arithmetic = Arithmetic::fp32;
  cast.repeat = repeat;
  cast.flops = static_cast<double>(tensor.num_elements());
  (tensor.is_weight() ? cast.weight_bytes : cast.bytes_in) = bytes_read;
  cast.bytes_out = bytes_written;
  return cast;
}

Kernel copy_kernel(const Tensor& tensor, double bytes_read, double bytes_written, Arithmetic arithmetic,
                   std::int64_t repeat) {
  Kernel copy{.name = concat("copy(", tensor.name, ")"), .kind = CostKind::copy};
  copy.arithmetic = arithmetic;
  copy.repeat = repeat;
  copy.bytes_in = bytes_read;
  copy.bytes_out = bytes_written;
  return copy;
}

Kernel bias_kernel(const Node& node, const Tensor& result, double bytes, Arithmetic of_product) {
  Kernel bias{.name = concat(node.name, ".bias"), .kind = CostKind::binary};
  bias.arithmetic = of_product == Arithmetic::tf32 ? Arithmetic::fp32 : of_product;  // the general units
  bias.repeat = node.repeat;
  bias.flops = static_cast<double>(result.num_elements());
  bias.bytes_in = bytes;
  bias.bytes_out = bytes;
  return bias;
}

Kernel statistics_kernel(const Node& node, const Tensor& input, const Kernel& norm) {
  Kernel statistics{.name = concat(node.name, ".statistics"), .kind = CostKind::reduce};
  statistics.arithmetic = norm.arithmetic;
  statistics.repeat = norm.repeat;
  statistics.row = norm.row;
  statistics.flops = static_cast<double>(input.num_elements());
  statistics.bytes_in = norm.bytes_in;
  return statistics;
}

}  // namespace latpred
