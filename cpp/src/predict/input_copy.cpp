#include "latpred/input_copy.h"

#include <array>
#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/text.h"

namespace latpred {
namespace {

// Host to device over PCIe x16. Pinned: what bandwidth tests reach of generation 3, 4 and 5 (12, 25 and 52 of 16, 32
// and 64 GB/s). Pageable: the driver copies through a staging buffer first, which halves it at best; of generation 3
// PaddleClas's tables show 5.5 GB/s (python/latpred/datasets/paddleclas.py).
struct LinkRow {
  int from_compute_capability;
  double pinned_bytes_per_s;
  double pageable_bytes_per_s;
};
constexpr std::array kLinks{LinkRow{90, 52e9, 12e9}, LinkRow{80, 25e9, 8e9}, LinkRow{0, 12e9, 5.5e9}};

constexpr double kCopyStart_s = 10e-6;  // one cudaMemcpyAsync and its synchronisation

struct PlaceRow {
  std::string_view name;
  double (*bandwidth)(const LinkRow&);  // nullptr: nothing travels
};
constexpr std::array kPlaces{
    PlaceRow{"device", nullptr},
    PlaceRow{"pinned", [](const LinkRow& link) { return link.pinned_bytes_per_s; }},
    PlaceRow{"pageable", [](const LinkRow& link) { return link.pageable_bytes_per_s; }},
};

const PlaceRow& place(std::string_view name) {
  std::vector<std::string> valid;
  for (const PlaceRow& row : kPlaces) {
    if (row.name == name) return row;
    valid.emplace_back(row.name);
  }
  throw InvalidArgumentError(unknown_name_message("input_on", name, valid), {.valid = valid});
}

}  // namespace

double input_copy_s(const Graph& graph, const Device& device, std::string_view input_on) {
  const PlaceRow& row = place(input_on);
  if (row.bandwidth == nullptr || !device.is_gpu) return 0;
  double seconds = 0;
  for (const TensorId id : graph.inputs) {
    for (const LinkRow& link : kLinks) {
      if (device.compute_capability.value_or(0) < link.from_compute_capability) continue;
      seconds += kCopyStart_s + static_cast<double>(graph.tensors[id].size_bytes()) / row.bandwidth(link);
      break;
    }
  }
  return seconds;
}

}  // namespace latpred
