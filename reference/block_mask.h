/// The tiles of S that block-sparse attention computes: the 0/1 mask M over the Tr x Tc tile grid
/// of FlashAttention (arXiv 2205.14135, section 3.3 and Algorithm 5). Memory use is proportional to
/// the number of ones.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/tiling.h"

namespace attnscope {

class BlockMask {
 public:
  /// Row by row, the column tiles j with M_ij = 1, ascending: row i is columns[row_offsets[i]] up
  /// to columns[row_offsets[i + 1]]. `tiling` is the size of the tiles; `text` is the pattern's
  /// spelling.
  BlockMask(const Tiling& tiling, Index Tc, std::vector<Index> row_offsets,
            std::vector<std::int32_t> columns, std::string text);

  const Tiling& tiling() const { return tiling_; }
  Index Tr() const { return static_cast<Index>(row_offsets_.size()) - 1; }
  Index Tc() const { return Tc_; }
  Index nonzeros() const { return static_cast<Index>(columns_.size()); }
  /// s of the paper: the share of ones.
  double density() const;
  const std::string& text() const { return text_; }
  /// Hash of the kept tiles and the tiling; the same on every machine.
  std::uint64_t hash() const;

  /// Column tiles that row tile i computes, row tiles that compute column tile j; ascending.
  std::span<const std::int32_t> columns_of(Index i) const {
    return part(columns_, row_offsets_, i);
  }
  std::span<const std::int32_t> rows_of(Index j) const {
    const ByColumn& lists = by_column();
    return part(lists.rows, lists.offsets, j);
  }
  bool contains(Index i, Index j) const;
  /// Whether M keeps the tile of query row q and key k.
  bool attends(Index query, Index key) const {
    return contains(query / tiling_.Br, key / tiling_.Bc);
  }

  // All rows together
  std::span<const Index> row_offsets() const { return row_offsets_; }
  std::span<const std::int32_t> columns() const { return columns_; }

 private:
  static std::span<const std::int32_t> part(const std::vector<std::int32_t>& list,
                                            const std::vector<Index>& offsets, Index at) {
    const auto n = static_cast<std::size_t>(at);
    return std::span(list).subspan(static_cast<std::size_t>(offsets[n]),
                                   static_cast<std::size_t>(offsets[n + 1] - offsets[n]));
  }

  /// The ones column by column: the row tiles of column j are rows[offsets[j]] up to
  /// rows[offsets[j + 1]].
  struct ByColumn {
    std::vector<Index> offsets;
    std::vector<std::int32_t> rows;
  };
  /// Transposes the mask on first use: recordings have many masks, and few of them are run.
  const ByColumn& by_column() const {
    std::call_once(transposed_, [this] { by_column_ = transpose(); });
    return by_column_;
  }
  ByColumn transpose() const;

  Tiling tiling_;
  Index Tc_;
  std::vector<Index> row_offsets_;
  std::vector<std::int32_t> columns_;
  std::string text_;
  mutable std::once_flag transposed_;
  mutable ByColumn by_column_;
};

/// A block mask that several problems may share. Two masks are equal if they keep the same tiles.
class SharedBlockMask : public std::shared_ptr<const BlockMask> {
 public:
  using std::shared_ptr<const BlockMask>::shared_ptr;
  SharedBlockMask(std::shared_ptr<const BlockMask> mask)  // NOLINT: implicit on purpose
      : std::shared_ptr<const BlockMask>(std::move(mask)) {}
  bool keeps_same_tiles_as(const SharedBlockMask& other) const;
  template <std::same_as<SharedBlockMask> Mask>  // nullptr is compared with the pointer
  friend bool operator==(const Mask& a, const Mask& b) {
    return a.keeps_same_tiles_as(b);
  }
};

}  // namespace attnscope
