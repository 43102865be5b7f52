/// The lists of block_sparse2's kernels contain the tiles that its schedule visits.
#include "kernels/tile_lists.h"

#include <gtest/gtest.h>

#include "reference/block_pattern.h"
#include "sim/ops/tile_grid.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

constexpr Tiling kListedTiling{32, 16};

/// Tile t's list, read as a kernel reads it.
std::vector<int> list_of(const TileLists& lists, Index t) {
  std::vector<int> tiles;
  for (auto n = static_cast<std::size_t>(lists[static_cast<std::size_t>(t)]); lists[n] >= 0; ++n) {
    tiles.push_back(lists[n]);
  }
  return tiles;
}

/// Those tiles of the range that the schedule does not skip as empty.
template <typename IsEmpty>
std::vector<int> tiles_of(const TileRange& range, IsEmpty is_empty) {
  std::vector<int> tiles;
  for (const std::int32_t tile : range) {
    if (!is_empty(tile)) tiles.push_back(tile);
  }
  return tiles;
}

void expect_the_schedules_tiles(const AttentionProblem& problem) {
  const TileGrid grid(problem, kListedTiling, {});
  const TileLists columns = column_tile_lists(problem, kListedTiling);
  const TileLists rows = row_tile_lists(problem, kListedTiling);
  for (std::int32_t i = 0; i < grid.Tr(); ++i) {
    const auto is_empty = [&](std::int32_t j) { return grid.empty(i, j); };
    EXPECT_EQ(list_of(columns, i), tiles_of(grid.column_tiles_for(i), is_empty))
        << "row tile " << i;
  }
  for (std::int32_t j = 0; j < grid.Tc(); ++j) {
    const auto is_empty = [&](std::int32_t i) { return grid.empty(i, j); };
    EXPECT_EQ(list_of(rows, j), tiles_of(grid.row_tiles_for(j), is_empty)) << "column tile " << j;
  }
}

TEST(TileLists, AreTheTilesThatTheScheduleVisits) {
  for (const auto& [N, N_kv] : {std::pair<Index, Index>{100, 100}, {257, 96}, {33, 500}, {1, 1}}) {
    for (const Mask& mask :
         {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
          Mask::window(20, 3), Mask::window(0, 0), Mask{5, -1, Mask::Alignment::top_left}}) {
      AttentionProblem problem{.N = N, .N_kv = N_kv, .d = 64, .mask = mask};
      expect_the_schedules_tiles(problem);
      for (const char* text : {"butterfly", "local-global:1,1", "random:0.3,5", "uniform:0.2"}) {
        SCOPED_TRACE(std::to_string(N) + " x " + std::to_string(N_kv) + ", " + to_string(mask) +
                     ", " + text);
        problem.block_mask =
            make_block_mask(parse_block_pattern(text).value(), N, N_kv, kListedTiling).value();
        expect_the_schedules_tiles(problem);
      }
    }
  }
}

TEST(TileLists, OfPackedSequencesAreTheTilesThatTheScheduleVisits) {
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(20, 3),
                           Mask::causal(Mask::Alignment::top_left)}) {
    AttentionProblem packed{.N = 300, .N_kv = 260, .d = 64, .mask = mask};
    packed.cu_seqlens_q = {0, 0, 33, 150, 150, 300};
    packed.cu_seqlens_k = {0, 20, 60, 101, 160, 260};
    expect_the_schedules_tiles(packed);
    for (const char* text : {"butterfly", "random:0.3,5", "uniform:0.2"}) {
      SCOPED_TRACE(to_string(mask) + ", " + text);
      packed.block_mask =
          make_block_mask(parse_block_pattern(text).value(), packed.N, packed.N_kv, kListedTiling)
              .value();
      expect_the_schedules_tiles(packed);
    }
  }
}

TEST(TileLists, AreThoseOfTheLongestBatchEntry) {
  AttentionProblem padded{.batch = 2, .N = 100, .N_kv = 96, .d = 64, .mask = Mask::window(9, 9)};
  const TileLists columns = column_tile_lists(padded, kListedTiling);
  const TileLists rows = row_tile_lists(padded, kListedTiling);
  padded.key_lengths = {30, 96};
  EXPECT_EQ(column_tile_lists(padded, kListedTiling), columns);
  EXPECT_EQ(row_tile_lists(padded, kListedTiling), rows);
}

TEST(TileLists, OfEmptyTilesHoldTheEndAlone) {
  AttentionProblem problem{.N = 96, .N_kv = 48, .d = 64, .mask = {}};
  problem.block_mask = test::listed_block_mask(kListedTiling, 3, {{0, 2}, {}, {2}});
  EXPECT_EQ(column_tile_lists(problem, kListedTiling), (TileLists{3, 6, 7, 0, 2, -1, -1, 2, -1}));
  EXPECT_EQ(row_tile_lists(problem, kListedTiling), (TileLists{3, 5, 6, 0, -1, -1, 0, 2, -1}));
}

}  // namespace
}  // namespace attnscope::kernels
