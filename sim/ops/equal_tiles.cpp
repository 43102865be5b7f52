// The equal tiles of a grid: those with the same size and the same valid keys, both or neither cut
// by the mask, both or neither empty. Neither end of the visible band decreases from one query to
// the next, so in a row or column of tiles, those that the mask leaves whole are adjacent.
#include <algorithm>

#include "sim/ops/tile_grid.h"

namespace attnscope {

namespace {

/// The longest run found by comparing neighbours; the work can be cancelled between runs.
constexpr Index kMostCompared = Index{1} << 16;

/// The end of the run that contains `index`; runs are cut at [begin, end) and at `limit`.
std::int32_t cut_run(std::int32_t index, const TileRange& range, std::int32_t limit) {
  if (index < range.first) return std::min(limit, range.first);
  if (index < range.past_last) return std::min(limit, range.past_last);
  return limit;
}

}  // namespace

std::int32_t TileGrid::end_of_equal_rows(std::int32_t i) const {
  return i + 1 < Tr_ && last_rows_ < tiling_.Br ? Tr_ - 1 : Tr_;
}

std::int32_t TileGrid::end_of_equal_columns(std::int32_t j) const {
  const std::int32_t end = j + 1 < Tc_ && last_cols_ < tiling_.Bc ? Tc_ - 1 : Tc_;
  // At most one tile contains the end of the keys
  const auto whole = static_cast<std::int32_t>(key_end_ / tiling_.Bc);
  const auto valid = static_cast<std::int32_t>(ceil_div(key_end_, tiling_.Bc));
  return cut_run(j, {whole, valid}, end);
}

Index TileGrid::equal_columns(std::int32_t i, const TileRange& columns,
                              std::int32_t position) const {
  const std::int32_t j = columns.at(position);
  std::int32_t end = end_of_equal_columns(j);

  // Cut at the tiles that the mask leaves whole, for each share of the rows
  for (Index share = 0; share < shares(); ++share) {
    const KeyRange rows = rows_of_share(i, share);
    if (rows.size() == 0) break;
    const Index begin_key = problem_.keys_of(rows.end - 1, batch_).begin;
    const Index end_key = problem_.keys_of(rows.begin, batch_).end;
    const TileRange whole{
        static_cast<std::int32_t>(ceil_div(begin_key, tiling_.Bc)),
        end_key == problem_.N_kv ? Tc_ : static_cast<std::int32_t>(end_key / tiling_.Bc)};
    end = cut_run(j, whole, end);
  }
  if (problem_.is_packed()) end = std::min(end, next_gap_edge(i, j));
  return columns.position_of(end) - position;
}

Index TileGrid::equal_rows(std::int32_t j, const TileRange& rows, std::int32_t position) const {
  const std::int32_t i = rows.at(position);
  if (problem_.is_packed() && !in_one_sequence(j)) return 1;
  std::int32_t end = end_of_equal_rows(i);

  // Cut at the tiles that the mask leaves whole, for each share of the keys
  for (Index share = 0; share < shares() && hides_keys(); ++share) {
    const KeyRange keys = keys_of_share(j, share);
    if (keys.size() == 0) break;
    const auto ends_before = [&](std::int32_t row) {
      return problem_.keys_of(row_begin(row), batch_).end < keys.end;
    };
    const auto has_begun = [&](std::int32_t row) {
      return problem_.keys_of(row_begin(row) + rows_of(row) - 1, batch_).begin <= keys.begin;
    };
    end = cut_run(i, {first_without(i, end, ends_before), first_without(i, end, has_begun)}, end);
  }

  // Cut at the rows that are first visited here; a row that sees no key is never visited
  if (!options_.variant.skip_first_reads) return rows.position_of(end) - position;
  if (problem_.is_packed() || problem_.block_mask != nullptr) return 1;
  const auto first_column = [&](std::int32_t row) { return column_tiles_in_band(row).first; };
  const std::int32_t last = first_column(i) < j ? j - 1 : j;
  end = first_without(i, std::min(end, rows.past_last),
                      [&](std::int32_t row) { return first_column(row) <= last; });
  return rows.position_of(end) - position;
}

Index TileGrid::equal_whole_rows(std::int32_t i, bool asks_mask) const {
  const std::int32_t end = end_of_equal_rows(i);
  if (!asks_mask || rows_see_equal_columns()) return end - i;
  Index count = 1;
  const Index most = std::min<Index>(end - i, kMostCompared);
  while (count < most && same_row(i, static_cast<std::int32_t>(i + count))) ++count;
  return count;
}

Index TileGrid::equal_whole_columns(std::int32_t j, bool asks_mask) const {
  const std::int32_t end = end_of_equal_columns(j);
  if (!asks_mask) return end - j;
  if (rows_see_equal_columns()) return j == 0 && options_.variant.skip_first_reads ? 1 : end - j;
  Index count = 1;
  const Index most = std::min<Index>(end - j, kMostCompared);
  while (count < most && same_column(j, static_cast<std::int32_t>(j + count))) ++count;
  return count;
}

bool TileGrid::same_row(std::int32_t a, std::int32_t b) const {
  const TileRange in_a = column_tiles_for(a), in_b = column_tiles_for(b);
  if (in_a.size() != in_b.size()) return false;
  const auto valid_cols = [&](std::int32_t j) {
    return std::clamp<Index>(key_end_ - col_begin(j), 0, cols_of(j));
  };
  const auto same_edges = [&](std::int32_t ja, std::int32_t jb) {
    const KeyRange keys_a = keys_of(K(ja)), keys_b = keys_of(K(jb));
    for (Index share = 0; share < shares(); ++share) {
      const KeyRange rows_a = rows_of_share(a, share), rows_b = rows_of_share(b, share);
      if (is_edge(rows_a, keys_a) != is_edge(rows_b, keys_b)) return false;
    }
    return true;
  };
  for (std::int32_t done = 0; done < in_a.size();) {
    const std::int32_t at_a = in_a.first + done, at_b = in_b.first + done;
    const std::int32_t ja = in_a.at(at_a), jb = in_b.at(at_b);
    const Index equal = equal_columns(a, in_a, at_a);
    const bool same = equal == equal_columns(b, in_b, at_b) && cols_of(ja) == cols_of(jb) &&
                      valid_cols(ja) == valid_cols(jb) && same_edges(ja, jb) &&
                      empty(a, ja) == empty(b, jb);
    if (!same) return false;
    done += static_cast<std::int32_t>(equal);
  }
  return true;
}

bool TileGrid::same_column(std::int32_t a, std::int32_t b) const {
  const TileRange in_a = row_tiles_for(a), in_b = row_tiles_for(b);
  if (in_a.size() != in_b.size()) return false;
  if (row_tiles_in_band(a).empty() != row_tiles_in_band(b).empty()) return false;
  const auto is_first = [&](std::int32_t i, std::int32_t j) {
    return options_.variant.skip_first_reads && *column_tiles_for(i).begin() == j;
  };
  const auto same_edges = [&](std::int32_t ia, std::int32_t ib) {
    const KeyRange rows_a = rows_of(Q(ia)), rows_b = rows_of(Q(ib));
    for (Index share = 0; share < shares(); ++share) {
      const KeyRange keys_a = keys_of_share(a, share), keys_b = keys_of_share(b, share);
      if (is_edge(rows_a, keys_a) != is_edge(rows_b, keys_b)) return false;
    }
    return true;
  };
  for (std::int32_t done = 0; done < in_a.size();) {
    const std::int32_t at_a = in_a.first + done, at_b = in_b.first + done;
    const std::int32_t ia = in_a.at(at_a), ib = in_b.at(at_b);
    const Index equal = equal_rows(a, in_a, at_a);
    const bool same = equal == equal_rows(b, in_b, at_b) && rows_of(ia) == rows_of(ib) &&
                      same_edges(ia, ib) && empty(ia, a) == empty(ib, b) &&
                      is_first(ia, a) == is_first(ib, b);
    if (!same) return false;
    done += static_cast<std::int32_t>(equal);
  }
  return true;
}

}  // namespace attnscope
