#include "reference/warp_partition.h"

namespace attnscope {

std::string_view to_string(WarpPartition partition) {
  return partition == WarpPartition::split_q ? "split-q" : "sliced-k";
}

std::optional<WarpPartition> parse_warp_partition(std::string_view name) {
  for (const WarpPartition partition : {WarpPartition::split_q, WarpPartition::sliced_k}) {
    if (name == to_string(partition)) return partition;
  }
  return std::nullopt;
}

}  // namespace attnscope
