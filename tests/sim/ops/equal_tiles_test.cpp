/// Counting equal tiles and thread blocks once gives the same counts as the walk over every tile.

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "reference/attention_problem.h"
#include "sim/observers/flop_counter.h"
#include "sim/observers/hbm_footprint.h"
#include "sim/observers/occupancy.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

/// The observers of a pass that count.
struct Counters {
  TrafficCounter traffic;
  FlopCounter flops;
  OpCounter ops;
  WorkCounter work;
  HbmFootprint footprint;
  OccupancyObserver occupancy;
  WarpCounter split_q{{WarpPartition::split_q, 4}};
  WarpCounter sliced_k{{WarpPartition::sliced_k, 4}};

  /// Observers that count every repetition at once.
  std::array<CountingObserver*, 6> sums() {
    return {&traffic, &flops, &ops, &work, &footprint, &occupancy};
  }
  /// Observers that count repetitions only once their pending hazards repeat.
  std::array<CountingObserver*, 2> warps() { return {&split_q, &sliced_k}; }
};

void expect_equal(const Counters& counted, const Counters& walked, const Pass& pass,
                  const AttentionProblem& problem) {
  for (std::size_t n = 0; n < pass.launches.size(); ++n) {
    SCOPED_TRACE(pass.launches[n].name);
    EXPECT_EQ(counted.ops.launches()[n], walked.ops.launches()[n]);
    EXPECT_EQ(counted.flops.launches()[n], walked.flops.launches()[n]);
    EXPECT_EQ(counted.traffic.launches()[n], walked.traffic.launches()[n]);
    EXPECT_EQ(counted.work.launches()[n], walked.work.launches()[n]);
    EXPECT_EQ(counted.split_q.launches()[n], walked.split_q.launches()[n]);
    EXPECT_EQ(counted.sliced_k.launches()[n], walked.sliced_k.launches()[n]);
    for (const OnChipSpace space : {OnChipSpace::shared, OnChipSpace::registers}) {
      EXPECT_EQ(counted.occupancy.launches()[n].bytes(space),
                walked.occupancy.launches()[n].bytes(space));
    }
  }
  for (int tensor = 0; tensor < kTensorCount; ++tensor) {
    EXPECT_EQ(counted.footprint.touches(static_cast<Tensor>(tensor)),
              walked.footprint.touches(static_cast<Tensor>(tensor)));
    EXPECT_EQ(counted.footprint.needs(static_cast<Tensor>(tensor)),
              walked.footprint.needs(static_cast<Tensor>(tensor)));
  }
  EXPECT_EQ(counted.footprint.peak_bytes(problem), walked.footprint.peak_bytes(problem));
}

/// Compares counting with walking, for one head of each key length.
void expect_count_equals_walk(const ResolvedRun& run, const GpuDescription& gpu) {
  const AttentionProblem& problem = run.problem;
  SCOPED_TRACE(fmt::format("{} {}, N {} x {}, {} x {} tiles, mask {}", run.algorithm(),
                           to_string(run.pass()), problem.N, problem.N_kv, run.tiling.Br,
                           run.tiling.Bc, to_string(problem.mask)));
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const PassRun pass_run{problem, run.tiling, options, {}};
  const Index head = problem.heads_per_kv_head() - 1;
  for (const KeyLengthGroup& group : group_batch_by_key_length(problem)) {
    Counters counted, walked;
    count_head(pass, pass_run, group.first, head, counted.sums());
    count_head(pass, pass_run, group.first, head, counted.warps());
    std::vector<Observer*> observers;
    for (CountingObserver* observer : walked.sums()) observers.push_back(observer);
    for (CountingObserver* observer : walked.warps()) observers.push_back(observer);
    run_head(pass, pass_run, group.first, head, observers);
    expect_equal(counted, walked, pass, problem);
  }
}

/// Problems drawn from a seed: every mask, layout, score function and variant, with ragged tiles.
class RandomRuns {
 public:
  explicit RandomRuns(std::uint64_t seed) : random_(seed) {}

  test::ModelRequest next() {
    test::ModelRequest request;
    const Algorithm& algorithm = algorithms()[below(algorithms().size())];
    request.algorithm = algorithm.name;
    request.pass = algorithm.has_backward ? static_cast<PassKind>(below(3)) : PassKind::forward;
    request.gpu_description = load_gpu("h200").value();
    // Few registers: the row-wise launches of standard sweep over panels
    if (chance(2)) request.gpu_description.register_bytes_per_sm = between(256, 8192);
    request.allow_overflow = true;

    AttentionProblem& problem = request.problem;
    problem.N = between(1, 200);
    problem.N_kv = chance(2) ? problem.N : between(1, 200);
    problem.d = between(1, 9);
    problem.dtype = static_cast<DType>(below(3));
    problem.batch = between(1, 3);
    problem.kv_heads = between(1, 2);
    problem.heads = problem.kv_heads * between(1, 3);
    problem.mask = mask();
    request.set_tiling({between(1, 24), between(1, 24)});
    add_layout(problem);
    add_score_function(problem);
    if (algorithm.takes_block_mask && !chance(5)) add_block_mask(request);
    if (algorithm.splits_keys && chance(2)) request.splits = between(1, 5);
    add_variant(algorithm, request.variant);
    return request;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  Index between(Index first, Index last) {
    return first + static_cast<Index>(below(static_cast<std::size_t>(last - first + 1)));
  }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

  Mask mask() {
    const auto alignment = static_cast<Mask::Alignment>(below(2));
    switch (below(4)) {
      case 0:
        return Mask::none();
      case 1:
        return Mask::causal(alignment);
      case 2:
        return {between(-1, 8), between(-1, 8), alignment};
      default:
        return {between(-1, 120), between(-1, 120), alignment};
    }
  }

  std::vector<Index> boundaries(Index length, Index sequences) {
    std::vector<Index> cuts{0, length};
    for (Index n = 1; n < sequences; ++n) cuts.push_back(between(0, length));
    std::ranges::sort(cuts);
    return cuts;
  }

  void add_layout(AttentionProblem& problem) {
    const std::size_t layout = below(4);
    if (layout == 0) {
      for (Index b = 0; b < problem.batch; ++b) {
        problem.key_lengths.push_back(between(0, problem.N_kv));
      }
    }
    if (layout == 1) {
      const Index sequences = between(1, 6);
      problem.batch = 1;
      problem.cu_seqlens_q = boundaries(problem.N, sequences);
      problem.cu_seqlens_k =
          problem.N == problem.N_kv ? problem.cu_seqlens_q : boundaries(problem.N_kv, sequences);
    }
  }

  void add_score_function(AttentionProblem& problem) {
    if (chance(4)) problem.score.soft_cap = 30;
    if (chance(4)) problem.score.alibi_slopes = standard_alibi_slopes(problem.heads);
    if (chance(4)) problem.score.dropout = {.probability = 0.1, .seed = 1};
  }

  void add_block_mask(test::ModelRequest& request) {
    if (chance(3)) {
      request.block_mask = BlockPattern{.kind = static_cast<BlockPattern::Kind>(below(4)),
                                        .window = between(0, 2),
                                        .global = between(0, 2),
                                        .density = 0.3};
      return;
    }
    const Tiling tiling{*request.Br, *request.Bc};
    const Index Tr = ceil_div(request.problem.N, tiling.Br);
    const Index Tc = ceil_div(request.problem.N_kv, tiling.Bc);
    std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(Tr));
    const auto one_in = static_cast<std::size_t>(between(1, 6));
    for (auto& row : rows) {
      for (Index j = 0; j < Tc; ++j) {
        if (chance(one_in)) row.push_back(static_cast<std::int32_t>(j));
      }
    }
    request.problem.block_mask = test::listed_block_mask(tiling, Tc, rows);
  }

  void add_variant(const Algorithm& algorithm, ScheduleVariant& variant) {
    const bool first = algorithm.carries_output;
    if (first && chance(2)) variant.carry = Carry::fp32;
    if (first) variant.skip_first_reads = chance(2);
    if (first) variant.d_once = chance(2);
    if (algorithm.takes_block_mask) variant.skip_unused_kv = chance(2);
    if (!first && algorithm.name != "standard") variant.stages = between(1, kMaxStages);
    const bool by_agents = algorithm.name == "flash2" || algorithm.name == "block_sparse2";
    if (by_agents) variant.consumers = between(0, kMaxConsumers);
    if (algorithm.name == "flash2") variant.visit_hidden = chance(4);
    if (algorithm.name != "standard") return;
    variant.fusion = static_cast<Fusion>(below(4));
    variant.checkpoint = chance(2);
    ProductTiles& tiles = variant.product_tiles;
    for (ProductTile* tile : {&tiles.S, &tiles.O, &tiles.dV, &tiles.dP, &tiles.dQ, &tiles.dK}) {
      if (chance(2)) *tile = {between(1, 40), between(1, 12)};
    }
  }

  std::mt19937_64 random_;
};

TEST(Counting, OfOneHeadEqualsTheWalkOverEveryTile) {
  RandomRuns runs(20260801);
  constexpr int kOfEach = 90;
  const int wanted = kOfEach * static_cast<int>(algorithms().size());
  std::map<std::string, int> tested;
  int total = 0;
  for (int drawn = 0; drawn < 10000 && total < wanted; ++drawn) {
    const test::ModelRequest request = runs.next();
    if (tested[request.algorithm] == kOfEach) continue;
    const auto run = test::resolve(request);
    if (!run) continue;  // two of the fields contradict each other
    SCOPED_TRACE(fmt::format("draw {}", drawn));
    expect_count_equals_walk(run.value(), request.gpu_description);
    if (testing::Test::HasFailure()) return;
    ++tested[request.algorithm];
    ++total;
  }
  EXPECT_EQ(total, wanted);
}

TEST(Counting, OfAWholeProblemEqualsTheWalkOverEveryHead) {
  RandomRuns runs(7);
  int total = 0;
  for (int drawn = 0; drawn < 1000 && total < 150; ++drawn) {
    const test::ModelRequest request = runs.next();
    const auto run = test::resolve(request);
    if (!run) continue;
    const auto report = simulate(run.value(), request.gpu_description);
    ASSERT_TRUE(report.ok()) << report.error().message;
    const ScheduleOptions options = schedule_options(run.value(), request.gpu_description);
    const Pass pass = make_pass(*find_algorithm(request.algorithm), request.pass, options);
    TrafficCounter traffic;
    FlopCounter flops;
    OpCounter ops;
    Observer* const observers[] = {&traffic, &flops, &ops};
    run_all_heads(pass, {run.value().problem, run.value().tiling, options, {}}, observers);
    EXPECT_EQ(report.value().tile_ops, std::reduce(ops.launches().begin(), ops.launches().end()))
        << drawn;
    for (std::size_t n = 0; n < pass.launches.size(); ++n) {
      const LaunchReport& launch = report.value().launches[n];
      EXPECT_EQ(launch.by_tensor, traffic.launches()[n]) << drawn << launch.name;
      EXPECT_EQ(launch.flops, flops.launches()[n]) << drawn << launch.name;
    }
    ++total;
  }
  EXPECT_EQ(total, 150);
}

TEST(Counting, OfPackedSequencesLeavesOutTheTilesBetweenTheirBands) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Tiling& tiling : {Tiling{24, 10}, Tiling{3, 50}, Tiling{7, 2}}) {
      test::ModelRequest request;
      request.problem = {.N = 24, .N_kv = 300, .d = 4, .mask = Mask::window(4, 0)};
      request.problem.cu_seqlens_q = {0, 8, 8, 16, 24};
      request.problem.cu_seqlens_k = {0, 100, 120, 200, 300};
      request.algorithm = algorithm.name;
      request.pass = algorithm.has_backward ? PassKind::both : PassKind::forward;
      request.set_tiling(tiling);
      request.gpu_description = load_gpu("h200").value();
      expect_count_equals_walk(test::resolve(request).value(), request.gpu_description);
    }
  }
}

/// A run of one head of N queries and keys with 128 x 128 tiles.
test::ModelRequest long_run(std::string_view algorithm, Index N, const Mask& mask) {
  test::ModelRequest request;
  request.problem = {.N = N, .N_kv = N, .d = 64, .mask = mask};
  request.algorithm = algorithm;
  request.pass = find_algorithm(algorithm)->has_backward ? PassKind::both : PassKind::forward;
  request.set_tiling({128, 128});
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;
  return request;
}

TEST(Counting, OfALongHeadTakesFewOperations) {
  /// Counts the operations that an observer receives.
  class Sent : public CountingObserver {
   public:
    void observe(std::span<const TileOp> ops) override { count += std::ssize(ops); }
    void mark() override {}
    void repeat(Index /*times*/) override {}
    Index count = 0;
  };
  for (const Algorithm& algorithm : algorithms()) {
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(4095, 0)}) {
      const test::ModelRequest request = long_run(algorithm.name, 1 << 17, mask);  // Tr = 1,024
      const ResolvedRun run = test::resolve(request).value();
      const ScheduleOptions options = schedule_options(run, request.gpu_description);
      Sent sent;
      CountingObserver* const counters[] = {&sent};
      count_head(make_pass(algorithm, request.pass, options),
                 {run.problem, run.tiling, options, {}}, 0, 0, counters);
      EXPECT_LE(sent.count, mask.is_none() ? 500 : 1024 * 150)
          << algorithm.name << " " << to_string(mask);
    }
  }
}

TEST(Counting, TakesAWindowOfAHeadOf16MillionKeys) {
  // 2^34 pairs of tiles, of which the window visits 33 in each row
  const auto report = simulate(long_run("flash2", 1 << 24, Mask::window(4095, 0)));
  ASSERT_TRUE(report.ok()) << report.error().message;
  constexpr Index kRows = 1 << 17, kVisited = kRows * 33 - 33 * 32 / 2;
  EXPECT_EQ(of(report.value().launches[0].by_tensor, Tensor::K).read_bytes,
            kVisited * 128 * 64 * 2);
}

}  // namespace
}  // namespace attnscope
