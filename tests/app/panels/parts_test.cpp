#include <gtest/gtest.h>

#include <cmath>

#include "app/panels/charts/charts.h"
#include "app/panels/memory/memory_layout.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/parts/softmax_terms.h"
#include "app/panels/scores/scores_frame.h"
#include "app/panels/timeline/timeline.h"
#include "sim/schedule/algorithm.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

TEST(MemoryLayout, DrawsShapesToScaleIfTheyFit) {
  const std::vector<RowItem> items{{{16, 16}, 20.0f}, {{16, 64}, 20.0f}, {{16, 1}, 20.0f}};
  const RowLayout layout = lay_out_row(items, 500.0f, 90.0f, 10.0f, 5.0f);
  EXPECT_TRUE(layout.scale.uniform);
  EXPECT_FLOAT_EQ(layout.places[0].width, layout.places[0].height);
  EXPECT_FLOAT_EQ(layout.places[1].width, 4.0f * layout.places[0].width);
  EXPECT_EQ(layout.scale_note(), "to scale");
}

TEST(MemoryLayout, KeepsAreasToScaleIfShapesWouldBeTooFlat) {
  const std::vector<RowItem> items{{{4, 1024}, 20.0f}, {{4, 512}, 20.0f}};
  const RowLayout layout = lay_out_row(items, 500.0f, 90.0f, 10.0f, 5.0f);
  EXPECT_FALSE(layout.scale.uniform);
  const auto area = [&](std::size_t k) { return layout.places[k].width * layout.places[k].height; };
  EXPECT_NEAR(area(0) / area(1), 2.0f, 1e-3f);
  EXPECT_EQ(layout.scale_note(), "areas to scale");
}

TEST(MemoryLayout, SaysSoWhenItDrawsThinOnesWider) {
  const std::vector<RowItem> items{{{16384, 64}, 30.0f}, {{16384, 16384}, 30.0f}};
  const RowLayout layout = lay_out_row(items, 500.0f, 150.0f, 10.0f, 7.0f);
  EXPECT_TRUE(layout.any_widened);
  EXPECT_GE(layout.places[0].width, 7.0f);
  EXPECT_NE(layout.scale_note().find("drawn wider"), std::string::npos);
}

TEST(MemoryLayout, NeverLeavesItsRoom) {
  for (const Index cols : {1, 16, 512, 100000}) {
    const std::vector<RowItem> items(9, {{64, cols}, 25.0f});
    const RowLayout layout = lay_out_row(items, 400.0f, 80.0f, 8.0f, 5.0f);
    const RowPlace& last = layout.places.back();
    EXPECT_LE(last.cell_x + last.cell_width, 400.5f) << cols;
    EXPECT_LE(last.height, 80.5f) << cols;
  }
}

TEST(MemoryLayout, NeverLeavesItsRoomWhereLabelsAloneAreWider) {
  const std::vector<RowItem> items(9, {{16384, 16384}, 80.0f});
  const RowLayout layout = lay_out_row(items, 400.0f, 80.0f, 8.0f, 5.0f);
  EXPECT_FALSE(layout.scale.fits);
  EXPECT_LE(layout.places.back().cell_x + layout.places.back().cell_width, 400.5f);
  EXPECT_EQ(layout.scale_note(), "not to scale");
}

TEST(MemoryLayout, GivesTheSameSizeTheSameWidthInEveryRow) {
  const std::vector<std::vector<RowItem>> rows{{{{1024, 64}, 20.0f}, {{1024, 1024}, 20.0f}},
                                               {{{1024, 64}, 20.0f}, {{1024, 1}, 20.0f}}};
  const RowScale scale = choose_scale(rows, 400.0f, 120.0f, 8.0f, 5.0f);
  const RowLayout upper = lay_out_row(rows[0], scale, 400.0f, 5.0f);
  const RowLayout lower = lay_out_row(rows[1], scale, 400.0f, 5.0f);
  EXPECT_FLOAT_EQ(upper.places[0].width, lower.places[0].width);
  EXPECT_FLOAT_EQ(upper.places[1].width, 120.0f);
}

TEST(ScoreCells, NeverCrossATilesBorderAndCoverTheAxis) {
  for (const Index size : {1, 64, 100, 1024, 5000, 16384}) {
    for (const Index tile : {16, 64, 100}) {
      const auto spans = cut_axis({0, size}, size, tile, cell_size({0, size}, tile));
      EXPECT_LE(spans.size(), 64U);
      Index at = 0;
      for (const CellSpan& span : spans) {
        EXPECT_EQ(span.begin, at);
        EXPECT_EQ(span.tile, span.begin / tile);
        at = span.end;
      }
      EXPECT_EQ(at, size);
    }
  }
}

TEST(ScoreCells, StayWhereTheyAreWhenThePartMoves) {
  const Index cell = cell_size({5, 205}, 128);
  ASSERT_EQ(cell, 4);
  const auto all = cut_axis({0, 512}, 512, 128, cell);
  for (const Index begin : {5, 6, 130, 300}) {
    const auto spans = cut_axis({begin, begin + 200}, 512, 128, cell);
    EXPECT_LE(spans.front().begin, begin);
    EXPECT_GE(spans.back().end, begin + 200);
    for (const CellSpan& span : spans) {
      EXPECT_EQ(all[static_cast<std::size_t>(span.begin / cell)].end, span.end);
    }
  }
}

TEST(ScoresTabs, StandardShowsPAfterItsSoftmax) {
  SampleRequest request;
  request.algorithm = "standard";
  const auto run = test::sample_run(request);
  const auto& launches = run->info()->launches;
  EXPECT_EQ(shown_scores(run->at(launches[1].begin), ScoresTab::latest), Tensor::S);
  EXPECT_EQ(shown_scores(run->at(launches[1].end - 1), ScoresTab::latest), Tensor::P);
  EXPECT_EQ(shown_scores(run->at(launches[1].end - 1), ScoresTab::S), Tensor::S);
  EXPECT_EQ(shown_scores(run->at(0), ScoresTab::P), Tensor::P);
  // A forward pass has no gradients
  EXPECT_EQ(scores_tabs(*run->info()),
            (std::vector{ScoresTab::latest, ScoresTab::S, ScoresTab::P}));
  EXPECT_EQ(shown_scores(run->at(0), ScoresTab::dS), Tensor::S);
}

TEST(ScoresTabs, ABackwardPassHasTheTensorsThatItComputes) {
  SampleRequest request;
  request.pass = PassKind::backward;
  const auto flash2 = test::sample_run(request);
  EXPECT_EQ(scores_tabs(*flash2->info()).size(), 5U);
  EXPECT_EQ(shown_scores(flash2->at(100), ScoresTab::dS), Tensor::dS);
  request.algorithm = "standard";
  const auto standard = test::sample_run(request);
  EXPECT_EQ(scores_tabs(*standard->info()),
            (std::vector{ScoresTab::latest, ScoresTab::P, ScoresTab::dP, ScoresTab::dS}))
      << "S stays in the forward pass";
}

TEST(ScoreScale, OfEachTensorIsItsOwn) {
  SampleRequest request;
  request.pass = PassKind::backward;
  const auto run = test::sample_run(request);
  const RunInfo& info = *run->info();
  // 64 x 64 scores: every cell is one element
  const auto scale = [&](Tensor tensor) {
    return score_scale(info, ScoreCells(info, tensor, {{0, 64}, {0, 64}}));
  };
  const draw::ValueRange S = scale(Tensor::S);
  EXPECT_EQ(S.low, draw::range_of(info.scores(Tensor::S).values).low);
  const draw::ValueRange P = scale(Tensor::P);
  EXPECT_EQ(P.low, 0.0);
  EXPECT_LT(P.high, 0.3) << "64 keys share 1: a scale up to 1 would be flat";
  EXPECT_GT(P.high, 1.0 / 64.0);
  for (const Tensor tensor : {Tensor::dP, Tensor::dS}) {
    const draw::ValueRange range = scale(tensor);
    EXPECT_EQ(range.low, -range.high);
    EXPECT_LT(range.high, draw::range_of(info.scores(tensor).values).high);
  }
}

TEST(ScoreTiles, AreUntouchedThenInSramThenDiscarded) {
  const auto run = test::sample_run({});
  const TileLife life = run->info()->score_tiles[5];  // tile (1, 1)
  EXPECT_EQ(score_tile_state(run->at(life.first - 1), 1, 1), TileState::untouched);
  EXPECT_EQ(score_tile_state(run->at(life.first), 1, 1), TileState::in_sram);
  EXPECT_EQ(score_tile_state(run->at(life.last), 1, 1), TileState::discarded);
}

TEST(ScoreTiles, LeftOutByTheBlockMaskAreNotCalledHidden) {
  SampleRequest request;
  request.algorithm = "block_sparse";
  request.block_mask = BlockPattern{.kind = BlockPattern::Kind::local_global};
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  EXPECT_EQ(score_tile_state(snapshot, 3, 0), TileState::left_out);
  EXPECT_EQ(score_tile_state(snapshot, 2, 2), TileState::discarded);
  request.algorithm = "flash2";
  request.block_mask.reset();
  const auto dense = test::sample_run(request);
  EXPECT_EQ(score_tile_state(test::sample_snapshot(*dense, 1.0), 0, 3), TileState::skipped);
}

TEST(ScoreTiles, OfStandardAttentionStayInHbm) {
  SampleRequest request;
  request.algorithm = "standard";
  const auto run = test::sample_run(request);
  EXPECT_EQ(score_tile_state(run->at(run->info()->step_count - 1), 1, 1), TileState::stored);
}

TEST(ScoreTiles, ThatTheMaskEmptiesAreSkipped) {
  SampleRequest request;
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  EXPECT_EQ(score_tile_state(run->at(run->info()->step_count - 1), 0, 3), TileState::skipped);
}

TEST(SoftmaxTerms, ShowTheNumbersOfWhatHasRunOnly) {
  SoftmaxRow row;
  row.m_prev = 1.16;
  row.row_max = 2.327;
  row.m = 2.327;
  row.alpha = std::exp(1.16 - 2.327);
  const auto terms = softmax_terms(row, SoftmaxForm::divided_once);
  ASSERT_EQ(terms.size(), 4U);
  EXPECT_EQ(terms[0].numbers, "max(1.160, 2.327)");
  EXPECT_EQ(terms[1].numbers, "exp(-1.167)");
  EXPECT_TRUE(terms[1].result);
  EXPECT_EQ(terms[2].numbers, "");
  EXPECT_FALSE(terms[2].result);
}

TEST(SoftmaxTerms, OIsItselfBeforeItIsDividedAndAQuotientAfter) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    const auto run = test::sample_run(request);
    int divided = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const SoftmaxRow row = run->at(step, 37, 3).softmax_row;
      const auto terms = softmax_terms(row, run->info()->algorithm->softmax);
      const bool flash1 = algorithm == std::string_view("flash1");
      if (row.undivided) {
        EXPECT_NEAR(*row.O, *row.undivided / *row.l, 1e-3 * std::abs(*row.undivided)) << step;
        EXPECT_EQ(terms.back().formula, flash1 ? "l·O / l" : "O / l") << step;
        if (flash1) {
          const double sum = *row.alpha * *row.l_prev * *row.O_prev + *row.PV;
          EXPECT_NEAR(*terms[4].result, sum, 1e-9) << step;
        }
        ++divided;
      } else {
        EXPECT_NE(terms.back().formula, "O / l") << step;
        EXPECT_EQ(terms.back().result.has_value(), row.O.has_value() && !flash1) << step;
      }
    }
    EXPECT_GT(divided, 3) << algorithm;
  }
}

TEST(SoftmaxTerms, SplitsAreCombinedByTheirLse) {
  SampleRequest request;
  request.algorithm = "split_kv";
  const auto run = test::sample_run(request);
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    const SoftmaxRow& row = snapshot.softmax_row;
    EXPECT_EQ(folds_splits(snapshot), snapshot.row_step >= run->info()->launches[1].begin);
    if (!folds_splits(snapshot) || !row.l || !row.l_prev) continue;
    const auto terms = softmax_terms(row, SoftmaxForm::divided_once, SplitRole::folded);
    ASSERT_EQ(terms.size(), 5U);
    EXPECT_EQ(terms[0].formula, "max(m_prev, LSE^s)");
    EXPECT_NEAR(*row.l, *row.alpha * *row.l_prev + *row.beta, 1e-9 * *row.l) << step;
    ++checked;
  }
  EXPECT_GT(checked, 2);
}

TEST(SoftmaxTerms, HoldAsEquationsAtEveryStep) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    const auto run = test::sample_run(request);
    int checked = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const SoftmaxRow row = run->at(step, 37, 3).softmax_row;
      if (!row.alpha || !row.l || !row.l_prev || !row.row_sum) continue;
      const double sum = row.beta.value_or(1.0) * *row.row_sum;
      EXPECT_NEAR(*row.l, *row.alpha * *row.l_prev + sum, 1e-9 * *row.l) << algorithm << step;
      ++checked;
    }
    EXPECT_GT(checked, 4) << algorithm;
  }
}

TEST(TimelineLanes, StayScrolledUntilThePlayheadComesToAnotherLane) {
  const auto run = test::sample_run(test::huge_request());
  const std::vector<StepSpan>& outer = run->info()->outer;
  Snapshot snapshot = run->at(outer[50].begin);
  TimelineLanes lanes;
  const auto first_at = [&](std::size_t lane) {
    snapshot.step = outer[lane].begin;
    lanes.update(snapshot, 8);
    return lanes.first();
  };
  const std::size_t first = first_at(50);
  lanes.scroll(20);
  EXPECT_EQ(first_at(50), first + 20);
  EXPECT_EQ(first_at(first + 22), first + 20);
  EXPECT_EQ(first_at(50), first);
}

TEST(TimelineLanes, HoldTheOperationsOfTheRun) {
  for (const char* algorithm : {"flash1", "flash2", "standard"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    const auto run = test::sample_run(request);
    TimelineLanes lanes;
    for (Index step = 0; step < run->info()->step_count; step += 7) {
      const Snapshot snapshot = run->at(step);
      lanes.update(snapshot, 3);
      bool found = false;
      for (const Lane& lane : lanes.lanes()) {
        ASSERT_EQ(static_cast<Index>(lane.ops.size()), lane.end - lane.begin);
        if (step < lane.begin || step >= lane.end) continue;
        found = true;
        const TileOp& op = lane.ops[static_cast<std::size_t>(step - lane.begin)];
        EXPECT_EQ(op.kind, snapshot.op.kind) << algorithm << " " << step;
        EXPECT_EQ(op.line, snapshot.op.line) << algorithm << " " << step;
      }
      EXPECT_TRUE(found) << algorithm << " " << step;
    }
  }
}

TEST(SizeSweep, SweepsTheLengthAndNothingElse) {
  SweepKey key;
  key.run.problem = {.batch = 3, .heads = 4, .kv_heads = 2, .N = 100, .N_kv = 100, .d = 16};
  AttentionProblem expected = key.run.problem;
  expected.N = expected.N_kv = 4096;
  EXPECT_EQ(sweep_problem(key, 4096), expected);
  EXPECT_EQ(sweep_values(key).front(), 64);
  EXPECT_TRUE(std::ranges::binary_search(sweep_values(key), 100.0));

  // With fewer queries than keys, only the number of keys changes
  key.run.problem.N = 4;
  expected.N = 4;
  EXPECT_EQ(sweep_problem(key, 4096), expected);

  // The recorded settings keep the number of tokens, so the batch shrinks
  key.run.problem.N = 100;
  key.over = ChartAxis::tokens;
  EXPECT_EQ(sweep_problem(key, 4096).batch * 4096, 16384);
  key.run.problem.N_kv = key.run.problem.N = 131072;
  key.over = ChartAxis::seq_len;
  EXPECT_EQ(sweep_values(key).back(), 131072);
}

TEST(SizeSweep, ModelsEveryAlgorithmAtEveryLength) {
  WorkControl control;
  SweepKey key;
  key.run.block_mask = BlockPattern{};
  const SizeSweep sweep = run_size_sweep(key, load_gpu("h200").value(), control);
  EXPECT_EQ(sweep.points.size(), (algorithms().size() - 1) * sweep_values(key).size());
  EXPECT_DOUBLE_EQ(control.progress(), 1.0);

  // A sweep of prefill leaves out the algorithm for decoding
  ASSERT_EQ(sweep.left_out.size(), 1U);
  EXPECT_EQ(sweep.left_out[0].algorithm, "split_kv");
  key.run.problem.N = 1;
  const SizeSweep decoding = run_size_sweep(key, load_gpu("h200").value(), control);
  EXPECT_TRUE(decoding.left_out.empty());
  key.run.problem.N = key.run.problem.N_kv;

  key.run.pass = PassKind::backward;
  const SizeSweep backward = run_size_sweep(key, load_gpu("h200").value(), control);
  ASSERT_EQ(backward.left_out.size(), 1U);
  EXPECT_EQ(backward.left_out[0].algorithm, "split_kv");
  control.cancel();
  EXPECT_TRUE(run_size_sweep(key, load_gpu("h200").value(), control).points.empty());
}

}  // namespace
}  // namespace attnscope::app
