/// The bytes that the warps of a thread block move through shared memory, compared with closed
/// forms (arXiv 2307.08691, section 3.3): FlashAttention-2's split of the queries exchanges
/// nothing, FlashAttention-1's split of the keys exchanges row statistics and partial sums of O.

#include "sim/observers/warp_counter.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/observers/occupancy.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {
namespace {

AttentionProblem problem_of(Index N, Index N_kv, Index d, const Mask& mask = Mask::none()) {
  return {.N = N, .N_kv = N_kv, .d = d, .dtype = DType::bf16, .mask = mask};
}

WarpTraffic counted(std::string_view algorithm, const AttentionProblem& problem,
                    const Tiling& tiling, const WarpLayout& layout,
                    PassKind kind = PassKind::forward) {
  WarpCounter counter(layout);
  Observer* const observers[] = {&counter};
  const ScheduleOptions options{.score_steps = score_steps_of(problem)};
  const Pass pass = make_pass(*find_algorithm(algorithm), kind, options);
  run_head(pass, {problem, tiling, options, {}}, 0, 0, observers);
  return counter.total();
}

struct Shape3 {
  Index N, N_kv, d;
  Tiling tiling;
};

const Shape3 kShapes[] = {
    {256, 256, 64, {64, 64}},
    {256, 384, 128, {64, 128}},
    {1024, 512, 32, {128, 64}},
    {300, 200, 64, {64, 64}},  // ragged: the last tiles are short
};

/// The sum of weight(size) over the tiles, of `cut` elements each, into which `count` elements are
/// cut.
template <typename Weight>
Index sum_over_tiles(Index count, Index cut, Weight weight) {
  Index sum = 0;
  for (Index begin = 0; begin < count; begin += cut) sum += weight(std::min(cut, count - begin));
  return sum;
}

Index computing(Index count, Index warps) {
  return ceil_div(count, ceil_div(count, warps));
}

TEST(WarpCounter, SplitQReadsTheKeysOnceForEachWarpAndExchangesNothing) {
  for (const Shape3& s : kShapes) {
    for (const Index warp_count : {1, 4, 8}) {
      const WarpTraffic traffic = counted("flash2", problem_of(s.N, s.N_kv, s.d), s.tiling,
                                          {WarpPartition::split_q, warp_count});
      const Index e = 2;
      const Index Tr = ceil_div(s.N, s.tiling.Br);
      const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
      const Index kv_reads = sum_over_tiles(s.N, s.tiling.Br, [&](Index rows) {
        return computing(rows, warp_count) * 2 * s.N_kv * s.d * e;
      });
      EXPECT_EQ(traffic.shared_read_bytes, Tc * s.N * s.d * e + kv_reads);
      EXPECT_EQ(traffic.shared_write_bytes, s.N * s.d * e + Tr * 2 * s.N_kv * s.d * e);
      EXPECT_EQ(traffic.exchange_read_bytes, 0);
      EXPECT_EQ(traffic.exchange_write_bytes, 0);
      // One barrier before the first product; then one before K_j is overwritten and one before it
      // is read
      EXPECT_EQ(traffic.barriers, warp_count == 1 ? 0 : Tr * (2 * Tc - 1));
    }
  }
}

TEST(WarpCounter, SlicedKReadsTheKeysOnceAndExchangesStatisticsAndPartsOfO) {
  for (const Shape3& s : kShapes) {
    for (const Index warp_count : {1, 4, 8}) {
      const WarpTraffic traffic = counted("flash1", problem_of(s.N, s.N_kv, s.d), s.tiling,
                                          {WarpPartition::sliced_k, warp_count});
      const Index e = 2;
      const Index Tr = ceil_div(s.N, s.tiling.Br);
      const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
      const auto over_columns = [&](auto weight) {
        return sum_over_tiles(s.N_kv, s.tiling.Bc,
                              [&](Index cols) { return weight(computing(cols, warp_count)); });
      };
      // Row maxima, row sums and O, in fp32: written by each warp
      const Index written = over_columns([&](Index w) { return w * s.N * (2 + s.d) * 4; });
      const Index read = over_columns([&](Index w) { return (2 * w * w + w * s.d) * s.N * 4; });
      const Index q_reads = over_columns([&](Index w) { return w * s.N * s.d * e; });
      EXPECT_EQ(traffic.exchange_write_bytes, written);
      EXPECT_EQ(traffic.exchange_read_bytes, read);
      EXPECT_EQ(traffic.shared_write_bytes, 2 * s.N_kv * s.d * e + Tc * s.N * s.d * e + written);
      EXPECT_EQ(traffic.shared_read_bytes, q_reads + Tr * 2 * s.N_kv * s.d * e + read);
      // In every tile, one barrier each for Q_i, the row maxima, the row sums and O
      EXPECT_EQ(traffic.barriers, warp_count == 1 ? 0 : 4 * Tr * Tc);
    }
  }
}

TEST(WarpCounter, BackwardBySplitQPassesPAndDSThroughSharedMemory) {
  for (const Shape3& s : kShapes) {
    for (const Index warp_count : {1, 4, 8}) {
      const WarpTraffic traffic = counted("flash2", problem_of(s.N, s.N_kv, s.d), s.tiling,
                                          {WarpPartition::split_q, warp_count}, PassKind::backward);
      const Index e = 2;
      const Index Tr = ceil_div(s.N, s.tiling.Br);
      const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
      const auto warps = [&](Index rows) { return computing(rows, warp_count); };
      const Index of_rows = sum_over_tiles(s.N, s.tiling.Br, warps);
      const Index of_keys = sum_over_tiles(s.N_kv, s.tiling.Bc, warps);
      // P and dS are exchanged once each
      const Index exchanged = 2 * s.N * s.N_kv * e;
      const Index for_D = s.N * s.d * e;  // dO in the launch that makes D
      EXPECT_EQ(traffic.exchange_write_bytes, exchanged);
      EXPECT_EQ(traffic.exchange_read_bytes, exchanged);
      EXPECT_EQ(traffic.shared_write_bytes,
                2 * s.N_kv * s.d * e + Tc * 2 * s.N * s.d * e + exchanged + for_D);
      // Reads of Q and dO by rows for S and dP; of K, V, K by every warp for S, dP, dQ; of dO and Q
      // by every warp for dV and dK
      EXPECT_EQ(traffic.shared_read_bytes, 2 * Tc * s.N * s.d * e + 3 * of_rows * s.N_kv * s.d * e +
                                               2 * of_keys * s.N * s.d * e + exchanged + for_D);
      // One barrier before Q_i is overwritten; one each when Q_i, P and dS have arrived; for D, one
      // for dO
      EXPECT_EQ(traffic.barriers, warp_count == 1 ? 0 : Tc * (4 * Tr - 1) + Tr);
    }
  }
}

TEST(WarpCounter, BackwardBySlicedKExchangesDAndPartsOfDQ) {
  for (const Shape3& s : kShapes) {
    for (const Index warp_count : {1, 4, 8}) {
      const WarpTraffic traffic =
          counted("flash1", problem_of(s.N, s.N_kv, s.d), s.tiling,
                  {WarpPartition::sliced_k, warp_count}, PassKind::backward);
      const Index e = 2;
      const Index Tr = ceil_div(s.N, s.tiling.Br);
      const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
      const Index of_keys = sum_over_tiles(s.N_kv, s.tiling.Bc,
                                           [&](Index cols) { return computing(cols, warp_count); });
      const Index parts_of_dQ = of_keys * s.N * s.d * 4;
      const Index written = parts_of_dQ + Tc * s.N * 4;
      const Index read = parts_of_dQ + Tc * warp_count * s.N * 4;
      EXPECT_EQ(traffic.exchange_write_bytes, written);
      EXPECT_EQ(traffic.exchange_read_bytes, read);
      EXPECT_EQ(traffic.shared_write_bytes,
                2 * s.N_kv * s.d * e + Tc * 2 * s.N * s.d * e + written);
      // Reads of Q and dO by every warp for S, dP, dV, dK; of K, V, K once for S, dP, dQ; of dO by
      // rows for D
      EXPECT_EQ(traffic.shared_read_bytes, 4 * of_keys * s.N * s.d * e + 3 * Tr * s.N_kv * s.d * e +
                                               Tc * s.N * s.d * e + read);
      // One barrier before Q_i is overwritten; one each when Q_i, D and the parts of dQ have
      // arrived
      EXPECT_EQ(traffic.barriers, warp_count == 1 ? 0 : 4 * Tr * Tc - 1);
    }
  }
}

TEST(WarpCounter, BothPassesAreSummed) {
  const AttentionProblem problem = problem_of(256, 256, 64);
  for (const char* algorithm : {"flash1", "flash2"}) {
    WarpTraffic sum = counted(algorithm, problem, {64, 64}, {});
    sum += counted(algorithm, problem, {64, 64}, {}, PassKind::backward);
    EXPECT_EQ(counted(algorithm, problem, {64, 64}, {}, PassKind::both), sum);
  }
}

TEST(WarpCounter, ThePartitionAloneMakesTheDifferenceInOneAlgorithm) {
  const AttentionProblem problem = problem_of(1024, 1024, 64);
  const WarpTraffic split = counted("flash2", problem, {64, 64}, {WarpPartition::split_q, 4});
  const WarpTraffic sliced = counted("flash2", problem, {64, 64}, {WarpPartition::sliced_k, 4});
  EXPECT_GT(sliced.shared_write_bytes, 4 * split.shared_write_bytes);
  EXPECT_GT(sliced.shared_read_bytes, split.shared_read_bytes);
  EXPECT_GT(sliced.barriers, 2 * split.barriers);
}

TEST(WarpCounter, TilesThatTheMaskEmptiesCostNothing) {
  const WarpTraffic all = counted("flash2", problem_of(512, 512, 64), {64, 64}, {});
  const WarpTraffic causal =
      counted("flash2", problem_of(512, 512, 64, Mask::causal()), {64, 64}, {});
  EXPECT_EQ(all.barriers, 8 * 15);
  EXPECT_EQ(causal.barriers, 2 * 36 - 8);  // 36 tiles in 8 rows
}

/// Adds up the shares of every operation.
class ShareSummer : public Observer {
 public:
  explicit ShareSummer(const WarpLayout& layout) : layout_(layout) {}
  void begin_launch(std::string_view /*name*/, const TileGrid& grid) override { grid_ = &grid; }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      for (const WarpShare& share : warp_shares(op, *grid_, layout_)) add(share);
    }
  }
  WarpTraffic traffic;

 private:
  void add(const WarpShare& share) {
    const Index bytes =
        share.moved_elems() * moved_element_bytes(share.use, grid_->problem().dtype);
    switch (share.use.access) {
      case WarpAccess::holds:
        EXPECT_EQ(bytes, 0);
        break;
      case WarpAccess::shares:
      case WarpAccess::writes_part:
        traffic.exchange_write_bytes += bytes;
        [[fallthrough]];
      case WarpAccess::loads:
        traffic.shared_write_bytes += bytes;
        break;
      case WarpAccess::takes:
      case WarpAccess::reads_parts:
        traffic.exchange_read_bytes += bytes;
        [[fallthrough]];
      case WarpAccess::reads:
        traffic.shared_read_bytes += bytes;
        break;
    }
  }
  WarpLayout layout_;
  const TileGrid* grid_ = nullptr;
};

TEST(WarpShares, AddUpToTheCountedTraffic) {
  for (const char* algorithm : {"flash1", "flash2", "block_sparse", "block_sparse2"}) {
    for (const WarpPartition partition : {WarpPartition::split_q, WarpPartition::sliced_k}) {
      for (const Index N : {1, 100, 300}) {
        for (const bool backward : {false, true}) {
          const WarpLayout layout{partition, 4};
          AttentionProblem problem = problem_of(N, 200, 64, Mask::causal());
          problem.score.dropout = {.probability = 0.1, .seed = 1};
          const ScheduleOptions options{.score_steps = score_steps_of(problem)};
          const PassKind kind = backward ? PassKind::backward : PassKind::forward;
          ShareSummer summer(layout);
          WarpCounter counter(layout);
          Observer* const observers[] = {&summer, &counter};
          run_head(make_pass(*find_algorithm(algorithm), kind, options),
                   {problem, {64, 48}, options, {}}, 0, 0, observers);
          WarpTraffic expected = counter.total();
          expected.barriers = 0;
          EXPECT_EQ(summer.traffic, expected) << algorithm << " N " << N << " " << backward;
        }
      }
    }
  }
}

TEST(WarpShares, CutTheScoresIntoDisjointPartsThatCoverThem) {
  const AttentionProblem problem = problem_of(100, 90, 64);
  const TileGrid grid(problem, {48, 32}, {});
  const TileOp op{.kind = OpKind::scores,
                  .dest_count = 1,
                  .source_count = 2,
                  .dest_tiles = {grid.S(2, 2)},
                  .source_tiles = {grid.Q(2), grid.K(2)}};
  for (const WarpPartition partition : {WarpPartition::split_q, WarpPartition::sliced_k}) {
    std::map<std::pair<Index, Index>, int> held;
    for (const WarpShare& share : warp_shares(op, grid, {partition, 4})) {
      if (share.use.tile.tensor != Tensor::S) continue;
      for (Index row = share.rows.begin; row < share.rows.end; ++row) {
        for (Index col = share.cols.begin; col < share.cols.end; ++col) ++held[{row, col}];
      }
    }
    EXPECT_EQ(held.size(), 4U * 26U);  // the ragged corner
    for (const auto& [element, times] : held) EXPECT_EQ(times, 1);
  }
}

/// Checks for every operation that the tiles cut among the warps are covered completely, each
/// element by one warp.
class CoverChecker : public Observer {
 public:
  explicit CoverChecker(const WarpLayout& layout) : layout_(layout) {}
  void begin_launch(std::string_view /*name*/, const TileGrid& grid) override { grid_ = &grid; }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) check(op);
  }

 private:
  void check(const TileOp& op) const {
    Index cut = 0;
    for (const WarpUse& use : WarpUses(op, layout_.partition)) {
      if (use.spread != WarpSpread::whole) cut += grid_->shape(use.tile).elems();
    }
    for (const WarpShare& share : warp_shares(op, *grid_, layout_)) {
      if (share.use.spread != WarpSpread::whole) cut -= share.rows.size() * share.cols.size();
    }
    EXPECT_EQ(cut, 0) << to_string(op.kind);
  }
  WarpLayout layout_;
  const TileGrid* grid_ = nullptr;
};

TEST(WarpShares, CutEveryTileOfBothPassesCompletely) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    for (const WarpPartition partition : {WarpPartition::split_q, WarpPartition::sliced_k}) {
      CoverChecker checker({partition, 4});
      Observer* const observers[] = {&checker};
      run_head(make_pass(*find_algorithm(algorithm), PassKind::both, {}),
               {problem_of(65, 34, 16), {16, 32}, {}, {}}, 0, 0, observers);
    }
  }
}

TEST(WarpPartition, NamesRoundTrip) {
  EXPECT_EQ(parse_name<WarpPartition>("split-q"), WarpPartition::split_q);
  EXPECT_EQ(parse_name<WarpPartition>("sliced-k"), WarpPartition::sliced_k);
  EXPECT_EQ(parse_name<WarpPartition>("split-k"), std::nullopt);
}

}  // namespace
}  // namespace attnscope
