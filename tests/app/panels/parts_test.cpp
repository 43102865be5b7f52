#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/panels/memory_layout.h"
#include "app/panels/score_cells.h"
#include "app/panels/size_sweep.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/softmax_terms.h"
#include "app/panels/source_markers.h"
#include "app/panels/source_view.h"
#include "app/panels/timeline_lanes.h"
#include "sim/schedule/catalog.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

TEST(MemoryLayout, DrawsShapesToScaleWhereTheyFit) {
  const std::vector<RowItem> items{{{16, 16}, 20.0f}, {{16, 64}, 20.0f}, {{16, 1}, 20.0f}};
  const RowLayout layout = lay_out_row(items, 500.0f, 90.0f, 10.0f, 5.0f);
  EXPECT_TRUE(layout.scale.uniform);
  EXPECT_FLOAT_EQ(layout.places[0].width, layout.places[0].height);
  EXPECT_FLOAT_EQ(layout.places[1].width, 4.0f * layout.places[0].width);
  EXPECT_EQ(layout.scale_note(), "to scale");
}

TEST(MemoryLayout, KeepsAreasToScaleWhereShapesWouldBeTooFlat) {
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
      const auto spans = cut_axis(size, tile, 64);
      EXPECT_LE(spans.size(), 64U);
      Index at = 0;
      for (const CellSpan& span : spans) {
        EXPECT_EQ(span.begin, at);
        EXPECT_EQ(span.tile, span.begin / tile);
        EXPECT_EQ(span.past_tile, ceil_div(span.end, tile));
        at = span.end;
      }
      EXPECT_EQ(at, size);
    }
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
    if (snapshot.launch != 1 || !row.l || !row.l_prev) continue;
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

TEST(SourceView, EmbedsEveryKernelOfTheCatalog) {
  const auto source = embedded_source("kernels/flash2/flash2_forward.cuh");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find("__global__"), std::string_view::npos);
  EXPECT_FALSE(embedded_source("kernels/none.cu"));
  EXPECT_FALSE(embedded_source(""));
}

TEST(SourceView, ColoursCommentsAndKeywords) {
  using Kind = SourceSpan::Kind;
  bool in_block = false;
  const auto spans = highlighted("  const int x = 1;  // one", in_block);
  ASSERT_EQ(spans.size(), 6U);
  EXPECT_EQ(spans[1].text, "const");
  EXPECT_EQ(spans[1].kind, Kind::keyword);
  EXPECT_EQ(spans[5].text, "// one");
  EXPECT_EQ(spans[5].kind, Kind::comment);
  std::string joined;
  for (const SourceSpan& span : spans) joined += span.text;
  EXPECT_EQ(joined, "  const int x = 1;  // one");

  EXPECT_EQ(highlighted("/* begins", in_block)[0].kind, Kind::comment);
  EXPECT_TRUE(in_block);
  EXPECT_EQ(highlighted("ends */ int", in_block)[0].text, "ends */");
  EXPECT_FALSE(in_block);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Checks that every line of a launch that is not a loop finds its place in the launch's twin.
void expect_markers(const kernels::KernelInfo& kernel, const Launch& launch, bool backward) {
  const auto source = source_of_launch(kernel, launch.name, backward);
  if (source.empty()) return;
  const auto lines = lines_of(embedded_source(source).value_or(""));
  for (std::size_t line = 0; line < launch.pseudo_code.size(); ++line) {
    EXPECT_EQ(marker_line(source, lines, launch.pseudo_code, line) < 0,
              launch.pseudo_code[line].control)
        << launch.name << ", " << source << ": " << launch.pseudo_code[line].text;
  }
}

/// Checks that every line that the run executes finds its place in its launch's twin.
void expect_markers(const kernels::KernelInfo& kernel, const SampleRequest& request) {
  const auto run = test::sample_run(request);
  std::set<std::pair<Index, int>> seen;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (!seen.insert({snapshot.launch, snapshot.op.line}).second) continue;
    const Launch& launch = run->info()->pass.launches[static_cast<std::size_t>(snapshot.launch)];
    const auto source = source_of_launch(kernel, launch.name, snapshot.in_backward());
    if (source.empty()) continue;
    const auto lines = lines_of(embedded_source(source).value_or(""));
    EXPECT_GE(marker_line(source, lines, launch.pseudo_code, snapshot.op.line), 0)
        << kernel.name << ", " << launch.name << ", " << source << ": "
        << launch.pseudo_code[snapshot.op.line].text;
  }
}

TEST(SourceView, FindsThePlaceOfEveryLineThatAKernelsTwinRuns) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    for (const bool scored : {false, true}) {
      SampleRequest request;
      request.algorithm = kernel.algorithm;
      request.problem.mask = Mask::causal();
      request.pass = kernel.has_backward ? PassKind::both : PassKind::forward;
      if (scored) {
        request.problem.score.soft_cap = 20.0;
        request.problem.score.alibi_slopes = {0.5};
        if (kernel.has_backward) request.problem.score.dropout.probability = 0.25;
      }
      expect_markers(kernel, request);
      if (kernel.honours_carry) {
        request.carry = Carry::fp32;
        expect_markers(kernel, request);
      }
    }
    SampleRequest grouped;
    grouped.algorithm = kernel.algorithm;
    grouped.pass = kernel.has_backward ? PassKind::both : PassKind::forward;
    grouped.problem.heads = 4;
    grouped.problem.kv_heads = 2;
    expect_markers(kernel, grouped);
  }
}

TEST(SourceView, FindsThePlaceOfEveryLineOfRowsThatAreSweptTwice) {
  ScheduleOptions options;
  options.softmax_panel_cols = options.gradient_panel_cols = 16;
  options.standard_writes_lse = true;
  options.score_steps = {.soft_cap = true, .alibi = true, .dropout = true};
  for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
    for (const Launch& launch : make_pass(*find_algorithm("standard"), kind, options).launches) {
      expect_markers(*kernels::find_kernel("standard"), launch, kind == PassKind::backward);
    }
  }
}

TEST(SourceView, TellsTheOutputsNormalisationFromItsInitialisation) {
  for (const char* algorithm : {"flash2", "split_kv"}) {
    const auto kernel = std::ranges::find(kernels::catalog(), std::string_view(algorithm),
                                          &kernels::KernelInfo::algorithm);
    for (const Launch& launch :
         make_pass(*find_algorithm(algorithm), PassKind::forward, {}).launches) {
      const auto source = source_of_launch(*kernel, launch.name, false);
      const auto lines = lines_of(*embedded_source(source));
      const auto place = [&](std::string_view text) {
        const auto line = std::ranges::find(launch.pseudo_code, text, &PseudoLine::text);
        return marker_line(source, lines, launch.pseudo_code,
                           static_cast<std::size_t>(line - launch.pseudo_code.begin()));
      };
      EXPECT_NE(place("O_i = O_i / l_i"), place("O_i = 0; l_i = 0; m_i = -inf"));
    }
  }
  EXPECT_EQ(marker_line("kernels/flash2/flash2_forward.cuh", {"// S = Qi Kj^T"}, {}, 0), -1);
}

TEST(SourceView, ShowsTheFileOfTheLaunchesTwin) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    const Algorithm& algorithm = *find_algorithm(kernel.algorithm);
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      if (kind == PassKind::backward && !kernel.has_backward) continue;
      const bool backward = kind == PassKind::backward;
      for (const Launch& launch : make_pass(algorithm, kind, {}).launches) {
        const auto source = source_of_launch(kernel, launch.name, backward);
        const bool product =
            kernel.name == "standard" && launch.name != "softmax" && launch.name != "dS";
        EXPECT_EQ(source.empty(), product) << kernel.name << " " << launch.name;
        EXPECT_EQ(embedded_source(source).has_value(), !product) << source;
      }
    }
  }
  const auto frame = [](std::string_view name) {
    const auto found = std::ranges::find(kernels::catalog(), name, &kernels::KernelInfo::name);
    return source_of_launch(*found, "preprocess", true);
  };
  EXPECT_EQ(frame("flash2"), "kernels/flash2/flash2_backward_frame.cu");
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

TEST(SizeSweep, KeepsTheTokensAndTheWidth) {
  const SweepKey key{128, DType::bf16, Mask::none(), "h200"};
  const AttentionProblem problem = sweep_problem(key, 4096);
  EXPECT_EQ(problem.batch * problem.N, 16384);
  EXPECT_EQ(problem.heads * problem.d, 2048);
}

TEST(SizeSweep, ModelsEveryAlgorithmAtEveryLength) {
  WorkControl control;
  SweepKey key{64, DType::bf16, Mask::none(), "h200"};
  const SizeSweep sweep = run_size_sweep(key, load_gpu("h200").value(), control);
  EXPECT_EQ(sweep.points.size(), algorithms().size() * sweep_lengths().size());
  EXPECT_TRUE(sweep.left_out.empty());
  EXPECT_DOUBLE_EQ(control.progress(), 1.0);

  key.pass = PassKind::backward;
  const SizeSweep backward = run_size_sweep(key, load_gpu("h200").value(), control);
  ASSERT_EQ(backward.left_out.size(), 1U);
  EXPECT_EQ(backward.left_out[0].algorithm, "split_kv");
  control.cancel();
  EXPECT_TRUE(run_size_sweep(key, load_gpu("h200").value(), control).points.empty());
}

}  // namespace
}  // namespace attnscope::app
