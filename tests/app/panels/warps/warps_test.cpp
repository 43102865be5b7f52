/// The warps' panel and the panel "Why online": their numbers add up to the counts.

#include <gtest/gtest.h>

#include "app/panels/warps/warp_parts.h"
#include "sim/schedule/algorithm.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

constexpr WarpPartition kPartitions[] = {WarpPartition::split_q, WarpPartition::sliced_k};

SampleRequest request_of(const char* algorithm, PassKind pass) {
  SampleRequest request;
  request.algorithm = algorithm;
  request.pass = pass;
  request.problem.N = 40;  // ragged: the last tiles have 8 rows
  request.problem.N_kv = 35;
  request.problem.score.dropout.probability = 0.25;
  return request;
}

TEST(WarpParts, ShowWhatTheWarpsHoldInEveryOperationThatMovesATileToHbm) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.pass = PassKind::both;
    const auto run = test::sample_run(request);
    int stores = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const Snapshot snapshot = run->at(step);
      if (snapshot.op.kind != OpKind::store && snapshot.op.kind != OpKind::atomic_add) continue;
      ++stores;
      const TileGrid& grid = run->info()->grids[static_cast<std::size_t>(snapshot.launch)];
      const WarpParts parts = warp_parts(snapshot.op, grid, {WarpPartition::split_q, 4});
      ASSERT_EQ(parts.tiles.size(), 1U) << algorithm << " " << step;
    }
    EXPECT_GT(stores, 0);
  }
}

TEST(WarpParts, LinesAddUpToTheCountedBytesOfEveryOperation) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    const auto run = test::sample_run(request_of(algorithm, PassKind::both));
    const RunInfo& info = *run->info();
    for (Index step = 0; step < info.step_count; ++step) {
      const Snapshot snapshot = run->at(step);
      const TileGrid& grid = info.grids[static_cast<std::size_t>(snapshot.launch)];
      for (const WarpPartition partition : kPartitions) {
        const WarpParts parts = warp_parts(snapshot.op, grid, {partition, kPaperWarps});
        Index bytes = 0;
        for (const WarpLine& line : parts.lines) {
          bytes += line.bytes;
          EXPECT_EQ(line.bytes > 0, !line.formula.empty()) << line.words;
        }
        const WarpTraffic& counted = snapshot.op_warps[static_cast<std::size_t>(partition)];
        EXPECT_EQ(bytes, counted.shared_read_bytes + counted.shared_write_bytes)
            << algorithm << " step " << step << " " << to_string(partition);
        EXPECT_FALSE(warp_sentence(snapshot.op).empty());
        for (const WarpTile& tile : parts.tiles) EXPECT_LE(tile.shares.size(), 4U);
      }
    }
  }
}

/// The snapshot of the first operation of this kind.
Snapshot first_of(SteppedRun& run, OpKind kind) {
  for (Index step = 0; step < run.info()->step_count; ++step) {
    Snapshot snapshot = run.at(step);
    if (snapshot.op.kind == kind) return snapshot;
  }
  ADD_FAILURE() << "no " << to_string(kind);
  return {};
}

WarpParts parts_of(const Snapshot& snapshot, WarpPartition partition) {
  return warp_parts(snapshot.op, snapshot.run->grids[static_cast<std::size_t>(snapshot.launch)],
                    {partition, kPaperWarps});
}

TEST(WarpParts, SplitQCutsTheQueriesAndSlicedKTheKeys) {
  const auto run = test::sample_run({});
  const Snapshot scores = first_of(*run, OpKind::scores);
  const WarpParts split = parts_of(scores, WarpPartition::split_q);
  ASSERT_EQ(split.tiles.size(), 3U);
  EXPECT_TRUE(split.product);
  EXPECT_EQ(split.tiles[0].use.spread, WarpSpread::by_rows);
  EXPECT_EQ(split.tiles[1].use.spread, WarpSpread::whole);
  EXPECT_TRUE(split.tiles[1].transposed);
  EXPECT_EQ(split.tiles[2].use.spread, WarpSpread::by_rows);
  EXPECT_EQ(split.tiles[2].shares.size(), 4U);
  const WarpParts sliced = parts_of(scores, WarpPartition::sliced_k);
  EXPECT_EQ(sliced.tiles[0].use.spread, WarpSpread::whole);
  EXPECT_EQ(sliced.tiles[1].use.spread, WarpSpread::by_rows);
  EXPECT_EQ(sliced.tiles[2].use.spread, WarpSpread::by_columns);
}

TEST(WarpParts, OnlySlicedKHasPartsOfO) {
  const auto run = test::sample_run({});
  const Snapshot product = first_of(*run, OpKind::accumulate);
  EXPECT_FALSE(parts_of(product, WarpPartition::split_q).tiles.back().partial);
  EXPECT_TRUE(parts_of(product, WarpPartition::sliced_k).tiles.back().partial);
}

TEST(WarpParts, ThePartsOfATransposedProductFitItsPicture) {
  SampleRequest request;
  request.pass = PassKind::backward;
  request.problem.N_kv = 24;
  request.set_tiling({16, 24});
  const auto run = test::sample_run(request);
  for (const WarpPartition partition : kPartitions) {
    const WarpParts parts = parts_of(first_of(*run, OpKind::accumulate_transposed), partition);
    ASSERT_EQ(parts.tiles.size(), 3U);
    EXPECT_EQ(parts.tiles[0].shape, (Shape{24, 16}));
    EXPECT_EQ(parts.tiles[0].shape.rows, parts.tiles[2].shape.rows);
    EXPECT_EQ(parts.tiles[0].shape.cols, parts.tiles[1].shape.rows);
    // Warps share the queries of the operand, but each has all queries for its keys in the result
    EXPECT_EQ(parts.tiles[0].use.spread, WarpSpread::by_columns);
    EXPECT_EQ(parts.tiles[2].use.spread, WarpSpread::by_rows);
  }
}

TEST(WarpColors, AreDistinguishableAndReadable) {
  for (const ThemeName name : {ThemeName::dark, ThemeName::light, ThemeName::contrast}) {
    const Theme& look = theme(name);
    for (Index warp = 0; warp < kPaperWarps; ++warp) {
      const ImU32 color = warp_color(look, warp, kPaperWarps);
      EXPECT_GE(contrast_ratio(color, text_on_warp(look, warp, kPaperWarps)), 4.0) << warp;
      if (warp == 0) continue;
      EXPECT_NE(color, warp_color(look, warp - 1, kPaperWarps));
    }
  }
}

TEST(SoftmaxMethods, AreThoseOfTheChosenRow) {
  SampleRequest request;
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = run->at(10, 37);
  const SoftmaxMethods& methods = *snapshot.softmax_methods;
  EXPECT_EQ(methods.query, 37);
  EXPECT_EQ(methods.keys, 38);
  ASSERT_EQ(methods.cases.size(), 6U);
  for (const SoftmaxMethods::Case& each : methods.cases) {
    EXPECT_EQ(each.softmax.nan_elems, 0);
    EXPECT_LE(each.softmax.max_abs_error, each.dtype == DType::fp16 ? 2e-3 : 1e-6);
  }
  // One step for each column tile; the last one includes every key
  ASSERT_EQ(methods.steps.size(), 3U);
  EXPECT_EQ(methods.steps.back().keys_seen, 38);
  EXPECT_EQ(methods.steps.back().state.l, methods.cases[5].softmax.l);
  EXPECT_EQ(snapshot.softmax_methods, run->at(11, 37).softmax_methods) << "not worked out again";
  EXPECT_EQ(run->at(11, 3).softmax_methods->keys, 4);
}

}  // namespace
}  // namespace attnscope::app
