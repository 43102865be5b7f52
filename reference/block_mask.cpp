#include "reference/block_mask.h"

#include <algorithm>
#include <numeric>

#include "reference/check.h"
#include "reference/fnv1a.h"

namespace attnscope {

BlockMask::BlockMask(const Tiling& tiling, Index Tc, std::vector<Index> row_offsets,
                     std::vector<std::int32_t> columns, std::string text)
    : tiling_(tiling),
      Tc_(Tc),
      row_offsets_(std::move(row_offsets)),
      columns_(std::move(columns)),
      text_(std::move(text)) {
  ATTNSCOPE_CHECK(row_offsets_.size(), >=, 2U);
  ATTNSCOPE_CHECK(row_offsets_.back(), ==, nonzeros());
  ATTNSCOPE_CHECK(columns_.empty() ? -1 : std::ranges::max(columns_), <, Tc);
}

/// Counts the ones of each column, then inserts the rows in ascending order.
BlockMask::ByColumn BlockMask::transpose() const {
  ByColumn result{std::vector<Index>(static_cast<std::size_t>(Tc_) + 1, 0),
                  std::vector<std::int32_t>(columns_.size())};
  for (const std::int32_t j : columns_) ++result.offsets[static_cast<std::size_t>(j) + 1];
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  for (Index i = 0; i < Tr(); ++i) {
    for (const std::int32_t j : columns_of(i)) {
      const Index next = result.offsets[static_cast<std::size_t>(j)]++;
      result.rows[static_cast<std::size_t>(next)] = static_cast<std::int32_t>(i);
    }
  }
  // Each offset is now at the end of its column, where the next begins
  std::shift_right(result.offsets.begin(), result.offsets.end(), 1);
  result.offsets.front() = 0;
  return result;
}

double BlockMask::density() const {
  return static_cast<double>(nonzeros()) / (static_cast<double>(Tr()) * static_cast<double>(Tc()));
}

bool BlockMask::contains(Index i, Index j) const {
  return std::ranges::binary_search(columns_of(i), static_cast<std::int32_t>(j));
}

std::uint64_t BlockMask::hash() const {
  Fnv1a hash;
  const auto add = [&](Index number) { hash.add(static_cast<std::uint64_t>(number)); };
  for (const Index size : {tiling_.Br, tiling_.Bc, Tr(), Tc()}) add(size);
  for (const Index offset : row_offsets_) add(offset);
  for (const std::int32_t column : columns_) hash.add(static_cast<std::uint32_t>(column));
  return hash.value();
}

bool SharedBlockMask::keeps_same_tiles_as(const SharedBlockMask& other) const {
  const BlockMask* a = get();
  const BlockMask* b = other.get();
  if (a == b || a == nullptr || b == nullptr) return a == b;
  return a->tiling() == b->tiling() && a->Tc() == b->Tc() &&
         std::ranges::equal(a->row_offsets(), b->row_offsets()) &&
         std::ranges::equal(a->columns(), b->columns());
}

}  // namespace attnscope
