// Tiles of packed sequences: each sequence has its own band, and tiles between two bands may have
// no visible key.
#include <algorithm>

#include "sim/ops/tile_grid.h"

namespace attnscope {

namespace {

KeyRange intersection(const KeyRange& a, const KeyRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Index of the sequence that contains an element, from the boundaries of its axis.
Index sequence_at(const std::vector<Index>& boundaries, Index element) {
  const auto past = std::upper_bound(boundaries.begin(), boundaries.end(), element);
  return past - boundaries.begin() - 1;
}

/// Keys that some query of [rows.begin, rows.end) sees in sequence s: one range, because both ends
/// of a row's range increase by at most one from row to row.
KeyRange keys_seen(const AttentionProblem& problem, Index s, const KeyRange& rows) {
  const Sequence own = problem.sequence(s);
  const KeyRange mine = intersection(rows, {own.query_begin, own.query_end});
  if (mine.size() == 0) return {};
  return {problem.keys_of(mine.begin).begin, problem.keys_of(mine.end - 1).end};
}

/// Queries of sequence s that see some key of `cols`: one range, for the same reason.
KeyRange queries_seeing(const AttentionProblem& problem, Index s, const KeyRange& cols) {
  const Sequence own = problem.sequence(s);
  const KeyRange keys = intersection(cols, own.keys);
  if (keys.size() == 0) return {};
  const Index begin = first_without(own.query_begin, own.query_end, [&](Index query) {
    return problem.keys_of(query).end <= keys.begin;
  });
  const Index end = first_without(
      begin, own.query_end, [&](Index query) { return problem.keys_of(query).begin < keys.end; });
  return {begin, end};
}

}  // namespace

TileRange TileGrid::packed_column_tiles_for(std::int32_t i) const {
  const KeyRange rows{row_begin(i), row_begin(i) + rows_of(i)};
  const Index last = sequence_at(problem_.cu_seqlens_q, rows.end - 1);
  KeyRange all{problem_.N_kv, 0};
  for (Index s = sequence_at(problem_.cu_seqlens_q, rows.begin); s <= last; ++s) {
    const KeyRange seen = keys_seen(problem_, s, rows);
    if (seen.size() == 0) continue;
    all = {std::min(all.begin, seen.begin), std::max(all.end, seen.end)};
  }
  return tiles_of(all, tiling_.Bc);
}

TileRange TileGrid::packed_row_tiles_for(std::int32_t j) const {
  const KeyRange cols{col_begin(j), col_begin(j) + cols_of(j)};
  Index first = sequence_at(problem_.cu_seqlens_k, cols.begin);
  Index last = sequence_at(problem_.cu_seqlens_k, cols.end - 1);
  KeyRange begins, ends;  // of the first and the last sequence with a query that sees a key
  while (first <= last && (begins = queries_seeing(problem_, first, cols)).size() == 0) ++first;
  while (first <= last && (ends = queries_seeing(problem_, last, cols)).size() == 0) --last;
  return tiles_of({begins.begin, ends.end}, tiling_.Br);
}

bool TileGrid::is_gap(std::int32_t i, std::int32_t j) const {
  const KeyRange rows{row_begin(i), row_begin(i) + rows_of(i)};
  const KeyRange cols{col_begin(j), col_begin(j) + cols_of(j)};
  // Only a sequence with queries in the row tile and keys in the column tile has a visible key
  const Index first = std::max(sequence_at(problem_.cu_seqlens_q, rows.begin),
                               sequence_at(problem_.cu_seqlens_k, cols.begin));
  const Index last = std::min(sequence_at(problem_.cu_seqlens_q, rows.end - 1),
                              sequence_at(problem_.cu_seqlens_k, cols.end - 1));
  for (Index s = first; s <= last; ++s) {
    if (intersection(keys_seen(problem_, s, rows), cols).size() > 0) return false;
  }
  return true;
}

std::int32_t TileGrid::next_gap_edge(std::int32_t i, std::int32_t j) const {
  const KeyRange rows{row_begin(i), row_begin(i) + rows_of(i)};
  // Earlier sequences have no key in column tile j or after it; later sequences have later keys
  const Index first = std::max(sequence_at(problem_.cu_seqlens_q, rows.begin),
                               sequence_at(problem_.cu_seqlens_k, col_begin(j)));
  const Index last = sequence_at(problem_.cu_seqlens_q, rows.end - 1);
  std::int32_t next = Tc_;
  for (Index s = first; s <= last && next > j + 1; ++s) {
    const TileRange seen = tiles_of(keys_seen(problem_, s, rows), tiling_.Bc);
    if (seen.empty()) continue;
    if (seen.first > j) return std::min(next, seen.first);
    if (seen.past_last > j) next = std::min(next, seen.past_last);
  }
  return next;
}

bool TileGrid::in_one_sequence(std::int32_t j) const {
  const Index last_key = col_begin(j) + cols_of(j) - 1;
  return sequence_at(problem_.cu_seqlens_k, col_begin(j)) ==
         sequence_at(problem_.cu_seqlens_k, last_key);
}

}  // namespace attnscope
