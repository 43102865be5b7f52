/// What a snapshot says about its step: the tile and the split that it works on, and the contents
/// of its slots.
#include <gtest/gtest.h>

#include <array>

#include "tests/sim/snapshot/stepped_run_helpers.h"

namespace attnscope {
namespace {

using test::make_run;
using test::request_for;

TEST(SteppedRun, ABlockKnowsItsTileFromItsFirstOperation) {
  const auto run = make_run(request_for("standard", 64, 16, {16, 16}));
  for (Index step = 0; step < run->info()->launches[0].end; ++step) {
    const Snapshot snapshot = run->at(step);
    EXPECT_EQ(snapshot.i, snapshot.block / 4) << step;
    EXPECT_EQ(snapshot.j, snapshot.block % 4) << step;
  }
}

TEST(SteppedRun, ThePositionIsTheTileThatTheOperationWorksOn) {
  for (const std::string_view algorithm : {"flash1", "flash2"}) {
    const auto run = make_run(request_for(algorithm, 64, 16, {16, 16}));
    Index products = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const Snapshot snapshot = run->at(step);
      if (snapshot.op.kind != OpKind::scores) continue;
      ++products;
      EXPECT_EQ(snapshot.i, snapshot.op.dest_tiles[0].i) << algorithm << ", step " << step;
      EXPECT_EQ(snapshot.j, snapshot.op.dest_tiles[0].j) << algorithm << ", step " << step;
    }
    EXPECT_EQ(products, 16);
  }
}

TEST(SteppedRun, ThePositionNamesNoColumnTileWhereTheLaunchHasNone) {
  test::WalkRequest request = request_for("flash2", 64, 16, {16, 16});
  request.pass = PassKind::backward;
  const auto backward = make_run(request);
  for (const StepSpan& launch : backward->info()->launches) {
    for (Index step = launch.begin; step < launch.end; ++step) {
      EXPECT_EQ(backward->at(step).j == kAllColumns, launch.label != "backward") << step;
    }
  }
}

TEST(SteppedRun, ThePositionNamesTheSplitInBothLaunchesOfSplitKv) {
  test::WalkRequest request = request_for("split_kv", 64, 16, {16, 16});
  request.splits = 4;
  const auto run = make_run(request);
  const RunInfo& info = *run->info();
  for (Index step = 0; step < info.step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (snapshot.launch == 0) {
      EXPECT_EQ(snapshot.split, snapshot.block % 4) << step;
      EXPECT_EQ(snapshot.j, snapshot.split) << step;
    } else {
      EXPECT_EQ(snapshot.j, kAllColumns) << step;
      const Tile& tile = snapshot.op.dest_tiles[0];
      if (tile.tensor == Tensor::LSE_split || tile.tensor == Tensor::O_split) {
        EXPECT_EQ(snapshot.split, tile.j) << step;
      }
    }
  }
}

TEST(SteppedRun, WhatStandardMakesInPlaceHasItsOwnNameInTheSlot) {
  const auto holds = [](const Snapshot& snapshot, Tensor slot_of) {
    for (const SlotState& slot : snapshot.slots) {
      if (slot.tensor == slot_of && slot.valid) return slot.tile.tensor;
    }
    return Tensor::Q;
  };
  test::WalkRequest request = request_for("standard", 64, 16, {16, 16});
  request.pass = PassKind::both;
  request.problem.score.dropout.probability = 0.25;
  const auto run = make_run(request);
  std::array<int, kOpKindCount> seen{};
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    const Tensor slot = snapshot.op.dest_tiles[0].tensor;
    if (snapshot.op.kind == OpKind::exp) {
      EXPECT_EQ(holds(snapshot, Tensor::S), Tensor::P);
      EXPECT_EQ(snapshot.what.substr(0, 1), "P");
    } else if (snapshot.op.kind == OpKind::dropout && slot == Tensor::S) {
      EXPECT_EQ(holds(snapshot, Tensor::S), Tensor::P_drop);
    } else if (snapshot.op.kind == OpKind::dropout) {
      EXPECT_EQ(holds(snapshot, Tensor::dP), Tensor::dP);
    } else if (snapshot.op.kind == OpKind::softmax_gradient) {
      EXPECT_EQ(holds(snapshot, Tensor::dP), Tensor::dS);
    } else if (snapshot.op.kind == OpKind::load && slot == Tensor::S) {
      EXPECT_EQ(holds(snapshot, Tensor::S), Tensor::S);
    }
    ++seen[static_cast<std::size_t>(snapshot.op.kind)];
  }
  for (const OpKind kind : {OpKind::exp, OpKind::dropout, OpKind::softmax_gradient}) {
    EXPECT_GT(seen[static_cast<std::size_t>(kind)], 3);
  }
}

TEST(SteppedRun, KnowsWhatSlotsHoldWithoutValues) {
  // The same 4 x 4 grid with small tiles, and with tiles that are too large to have values: slots
  // hold the same tiles at every step
  for (const char* algorithm : {"flash1", "flash2"}) {
    const auto with_values = make_run(request_for(algorithm, 64, 4, {16, 16}, Mask::causal()));
    test::WalkRequest large = request_for(algorithm, 4096, 4, {1024, 1024}, Mask::causal());
    large.allow_overflow = true;
    const auto without = make_run(large);
    ASSERT_FALSE(without->info()->has_values);
    ASSERT_EQ(without->info()->step_count, with_values->info()->step_count);
    for (Index step = -1; step < without->info()->step_count; ++step) {
      const Snapshot expected = with_values->at(step);
      const Snapshot found = without->at(step);
      ASSERT_EQ(found.slots.size(), expected.slots.size());
      for (std::size_t k = 0; k < found.slots.size(); ++k) {
        SCOPED_TRACE(std::string(to_string(found.slots[k].tensor)) + " at " + std::to_string(step));
        ASSERT_EQ(found.slots[k].valid, expected.slots[k].valid);
        if (!found.slots[k].valid) continue;
        EXPECT_EQ(found.slots[k].tile.i, expected.slots[k].tile.i);
        EXPECT_EQ(found.slots[k].tile.j, expected.slots[k].tile.j);
      }
    }
  }
}

TEST(SteppedRun, SaysWhichOperationOfItsLineItIs) {
  const auto run = make_run(request_for("flash1", 64, 16, {16, 16}));
  const auto first_of = [&](OpKind kind, Tensor to) {
    Index step = 0;
    for (; step < run->info()->step_count; ++step) {
      const TileOp op = run->at(step).op;
      if (op.kind == kind && op.dest_tiles[0].tensor == to) break;
    }
    return run->at(step).what;
  };
  // O_i = (alpha · l_i) · O_i and l_i = alpha · l_i + beta · l~ are two operations each
  EXPECT_TRUE(first_of(OpKind::rescale, Tensor::l).starts_with("1 of 2: l"));
  EXPECT_TRUE(first_of(OpKind::rescale, Tensor::O).starts_with("2 of 2: O"));
  EXPECT_TRUE(first_of(OpKind::add_row_sum, Tensor::l).starts_with("2 of 2: l"));
  EXPECT_TRUE(first_of(OpKind::scores, Tensor::S).starts_with("S"));
}

}  // namespace
}  // namespace attnscope
