/// A block mask that is written out in a test.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "reference/block_mask.h"

namespace attnscope::test {

/// A mask of Tc column tiles, of which row tile i computes rows[i], in ascending order.
inline std::shared_ptr<const BlockMask> listed_block_mask(
    const Tiling& tiling, Index Tc, const std::vector<std::vector<std::int32_t>>& rows) {
  std::vector<Index> offsets{0};
  std::vector<std::int32_t> columns;
  for (const auto& row : rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<Index>(columns.size()));
  }
  return std::make_shared<const BlockMask>(tiling, Tc, std::move(offsets), std::move(columns),
                                           "listed");
}

}  // namespace attnscope::test
