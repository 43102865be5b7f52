/// The operation that a click on a thing jumps to, compared with a linear search through the run's
/// operations.
#include "app/seek/find_operation.h"

#include <gtest/gtest.h>

#include "sim/observers/progress_observer.h"
#include "sim/resolve.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope::app {
namespace {

std::unique_ptr<SteppedRun> stepped(std::string_view algorithm, PassKind pass, Mask mask = {},
                                    Index N = 64) {
  RunSpec spec;
  spec.problem = {.N = N, .N_kv = N, .d = 16, .dtype = DType::fp16, .mask = mask};
  spec.algorithm = algorithm;
  spec.pass = pass;
  spec.set_tiling({16, 16});
  const GpuDescription gpu = load_gpu("h200").value();
  return SteppedRun::create({.run = resolve(spec, gpu).value(), .gpu = gpu}).value();
}

/// The operation of every step of the run, from its snapshots.
std::vector<Operation> all_operations(SteppedRun& run) {
  std::vector<Operation> all;
  for (Index step = 0; step < run.info()->step_count; ++step) {
    const Snapshot snapshot = run.at(step);
    all.push_back({step, static_cast<std::size_t>(snapshot.launch), snapshot.op});
  }
  return all;
}

template <typename Test>
bool has_operand(const TileOp& op, const Test& test) {
  return std::ranges::any_of(op.dests(), test) || std::ranges::any_of(op.sources(), test);
}

/// Searches from every step in both directions; `belongs` says which operations belong to the
/// thing.
template <typename Belongs>
void expect_found(const RunInfo& run, const std::vector<Operation>& all, const Thing& thing,
                  const Belongs& belongs) {
  const std::atomic<bool> cancel = false;
  int found = 0;
  for (Index from = -1; from < run.step_count; ++from) {
    std::optional<Index> earlier, later;
    for (const Operation& each : all) {
      if (!belongs(each)) continue;
      if (each.step < from) earlier = each.step;
      if (each.step > from && !later) later = each.step;
    }
    found += later ? 1 : 0;
    ASSERT_EQ(find_operation(run, thing, from, SeekDirection::later, cancel), later) << from;
    ASSERT_EQ(find_operation(run, thing, from, SeekDirection::earlier, cancel), earlier) << from;
  }
  EXPECT_GT(found, 0);
}

struct Case {
  const char* algorithm;
  PassKind pass;
};
class FindOperation : public testing::TestWithParam<Case> {
 protected:
  const std::unique_ptr<SteppedRun> run_ = stepped(GetParam().algorithm, GetParam().pass);
  const RunInfo& info_ = *run_->info();
  const std::vector<Operation> all_ = all_operations(*run_);
};

TEST_P(FindOperation, OfATileOfTheScores) {
  // The rows and columns of tile (1, 2); a launch over whole rows crosses it, too
  expect_found(info_, all_, ScoreTile{{{16, 32}, {32, 48}}}, [&](const Operation& each) {
    const TileGrid& grid = info_.grids[each.launch];
    return has_operand(each.op, [&](const Tile& tile) {
      if (!is_score(tile.tensor)) return false;
      const Index row = grid.row_begin(tile.i);
      return (tile.j == 2 || tile.j == kAllColumns) && row < 32 && row + grid.rows_of(tile.i) > 16;
    });
  });
}

TEST_P(FindOperation, OfATileOfKInGlobalMemory) {
  expect_found(info_, all_, MemoryTile{Tensor::K, {{32, 48}, {0, 16}}}, [](const Operation& each) {
    return has_operand(each.op, [](const Tile& tile) {
      return tile.tensor == Tensor::K && tile.slot == Tile::kHbm && tile.j == 2;
    });
  });
}

TEST_P(FindOperation, OfATileOfKOnChip) {
  expect_found(info_, all_, ChipTile{Tensor::K, {{32, 48}, {0, 16}}}, [](const Operation& each) {
    return has_operand(each.op, [](const Tile& tile) {
      return tile.tensor == Tensor::K && tile.on_chip() && tile.j == 2;
    });
  });
}

TEST_P(FindOperation, OfALineOfPseudoCode) {
  for (const std::size_t launch : {std::size_t{0}, info_.launches.size() - 1}) {
    const std::size_t line = all_[static_cast<std::size_t>(info_.launches[launch].end) - 1].op.line;
    expect_found(info_, all_, CodeLine{launch, line}, [&](const Operation& each) {
      return each.launch == launch && each.op.line == line;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, FindOperation,
                         testing::Values(Case{"flash2", PassKind::forward},
                                         Case{"flash2", PassKind::backward},
                                         Case{"flash1", PassKind::forward},
                                         Case{"standard", PassKind::both}));

TEST(FindOperation, AnOperationIsItself) {
  const auto run = stepped("flash2", PassKind::forward);
  const std::atomic<bool> cancel = false;
  for (const auto direction : {SeekDirection::later, SeekDirection::earlier}) {
    EXPECT_EQ(find_operation(*run->info(), Operation{40}, 90, direction, cancel), 40);
  }
}

TEST(FindOperation, ASkippedTileHasNone) {
  const auto run = stepped("flash2", PassKind::forward, Mask::causal());
  const std::atomic<bool> cancel = false;
  const Thing hidden = ScoreTile{{{0, 16}, {48, 64}}};
  EXPECT_FALSE(find_operation(*run->info(), hidden, -1, SeekDirection::later, cancel));
}

TEST(FindOperation, IsCancelledInsideALongThreadBlock) {
  // flash1 has one thread block per head; the only store of LSE was long before
  const auto run = stepped("flash1", PassKind::forward, {}, 2048);
  const std::atomic<bool> cancel = true;
  EXPECT_THROW(find_operation(*run->info(), MemoryTile{Tensor::LSE, {{0, 16}, {0, 1}}}, -1,
                              SeekDirection::later, cancel),
               Cancelled);
}

TEST(Highlight, ATileOfScoresMarksItsRowsAndColumnsInEveryTensor) {
  const auto run = stepped("flash2", PassKind::forward);
  const Snapshot snapshot = run->at(0);
  const Highlight highlight = highlight_of(ScoreTile{{{16, 32}, {48, 64}}}, snapshot);
  const Shape shape{64, 16};
  EXPECT_EQ(highlight.part_of(Tensor::Q, shape), (Area{{16, 32}, {0, 16}}));
  EXPECT_EQ(highlight.part_of(Tensor::V, shape), (Area{{48, 64}, {0, 16}}));
  EXPECT_EQ(highlight.part_of(Tensor::S, {64, 64}), (Area{{16, 32}, {48, 64}}));
}

TEST(Highlight, ATileOfKMarksItsColumnOfTheScoresAndNothingInV) {
  const auto run = stepped("flash2", PassKind::forward);
  const Highlight highlight = highlight_of(MemoryTile{Tensor::K, {{16, 32}, {0, 16}}}, run->at(0));
  EXPECT_FALSE(highlight.queries);
  EXPECT_EQ(highlight.keys, (Span{16, 32}));
  EXPECT_EQ(highlight.part_of(Tensor::K, {64, 16}), (Area{{16, 32}, {0, 16}}));
  EXPECT_FALSE(highlight.part_of(Tensor::V, {64, 16}));
}

TEST(Highlight, AnOperationMarksItsOperands) {
  const auto run = stepped("flash2", PassKind::forward);
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (snapshot.op.kind != OpKind::accumulate || snapshot.j != 2 || snapshot.i != 1) continue;
    const Highlight highlight = highlight_of(Operation{step, 0, snapshot.op}, snapshot);
    EXPECT_EQ(highlight.part_of(Tensor::O, {64, 16}), (Area{{16, 32}, {0, 16}}));
    EXPECT_EQ(highlight.part_of(Tensor::V, {64, 16}), (Area{{32, 48}, {0, 16}}));
    EXPECT_FALSE(highlight.part_of(Tensor::K, {64, 16}));
    return;
  }
  ADD_FAILURE() << "no product of tile (1, 2)";
}

TEST(LinesOf, ATileOfKInGlobalMemoryIsTheLineThatLoadsIt) {
  const auto run = stepped("flash2", PassKind::forward);
  const auto& code = run->info()->pass.launches[0].pseudo_code;
  const Thing K = MemoryTile{Tensor::K, {{16, 32}, {0, 16}}};
  for (std::size_t line = 0; line < code.size(); ++line) {
    const bool loads_K = code[line].text.starts_with("load K");
    EXPECT_EQ(is_line_of(K, {0, line}, *run->info()), loads_K) << code[line].text;
  }
}

TEST(LinesOf, ATileOfOThatIsStoredAfterThousandsOfOperations) {
  RunSpec spec;
  spec.problem = {.N = 16, .N_kv = 8192, .d = 16, .dtype = DType::fp16};
  spec.algorithm = "flash2";
  spec.set_tiling({16, 16});
  const GpuDescription gpu = load_gpu("h200").value();
  const auto run = SteppedRun::create({.run = resolve(spec, gpu).value(), .gpu = gpu}).value();
  ASSERT_GT(run->info()->step_count, 4096);
  const auto& code = run->info()->pass.launches[0].pseudo_code;
  const Thing O = MemoryTile{Tensor::O, {{0, 16}, {0, 16}}};
  int lines = 0;
  for (std::size_t line = 0; line < code.size(); ++line) {
    const bool stores_O = code[line].text.find("store O") != code[line].text.npos;
    EXPECT_EQ(is_line_of(O, {0, line}, *run->info()), stores_O) << code[line].text;
    lines += stores_O ? 1 : 0;
  }
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace attnscope::app
