#include "app/panels/explain/source_view.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernels/compile/kernel_sources.h"
#include "sim/schedule/algorithm.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;
using Marks = std::set<std::pair<std::string_view, Step>>;  // the path of a source and a step

TEST(SourceView, EmbedsEveryKernelOfTheCatalog) {
  const auto* const source = kernels::kernel_source("kernels/flash2/flash2_forward.cuh");
  ASSERT_TRUE(source);
  EXPECT_NE(source->text.find("__global__"), std::string_view::npos);
  EXPECT_FALSE(kernels::kernel_source("kernels/none.cu"));
  EXPECT_FALSE(kernels::kernel_source(""));
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

/// Checks that the launch's kernel marks every line of the launch except those of loops.
void expect_markers(const kernels::KernelInfo& kernel, const Launch& launch, bool backward) {
  const auto source = source_of_launch(kernel, launch, backward);
  if (source.empty()) return;
  for (const PseudoLine& line : launch.pseudo_code) {
    EXPECT_EQ(kernels::lines_of_step(source, line.step).empty(), !has_operations(line.step))
        << launch.name << ", " << source << ": " << line.text;
  }
}

/// Checks that every line that the run executes is marked in its launch's kernel, and collects
/// these marks.
void expect_markers(const kernels::KernelInfo& kernel, const SampleRequest& request,
                    Marks& executed) {
  const auto run = test::sample_run(request);
  std::set<std::pair<Index, int>> seen;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (!seen.insert({snapshot.launch, snapshot.op.line}).second) continue;
    const Launch& launch = run->info()->pass.launches[static_cast<std::size_t>(snapshot.launch)];
    const auto source = source_of_launch(kernel, launch, snapshot.in_backward());
    if (source.empty()) continue;
    const PseudoLine& line = launch.pseudo_code[snapshot.op.line];
    EXPECT_FALSE(kernels::lines_of_step(source, line.step).empty())
        << kernel.name << ", " << launch.name << ", " << source << ": " << line.text;
    executed.emplace(source, line.step);
  }
}

TEST(SourceView, FindsThePlaceOfEveryLineThatASchedulesKernelRuns) {
  Marks executed;
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    for (const bool scored : {false, true}) {
      SampleRequest request;
      request.algorithm = kernel.name;
      request.problem.mask = Mask::causal();
      request.pass = kernel.has_backward() ? PassKind::both : PassKind::forward;
      if (scored) {
        request.problem.score.soft_cap = 20.0;
        request.problem.score.alibi_slopes = {0.5};
        if (kernel.has_backward()) request.problem.score.dropout.probability = 0.25;
      }
      expect_markers(kernel, request, executed);
      if (kernel.honours_carry) {
        request.variant.carry = Carry::fp32;
        expect_markers(kernel, request, executed);
      }
    }
    SampleRequest grouped;
    grouped.algorithm = kernel.name;
    grouped.pass = kernel.has_backward() ? PassKind::both : PassKind::forward;
    grouped.problem.heads = 4;
    grouped.problem.kv_heads = 2;
    expect_markers(kernel, grouped, executed);
  }

  // No mark is unused; LSE of standard attention and rows swept twice occur only on request
  for (const kernels::MarkedLine& line : kernels::marked_lines()) {
    if (line.path.starts_with("kernels/standard/")) continue;
    EXPECT_TRUE(executed.contains({line.path, line.step}))
        << line.path << ":" << line.number << ": @" << to_string(line.step);
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

TEST(SourceView, MarksTheLinesThatDoAStep) {
  const auto text_of = [](std::string_view path, Step step) {
    std::string text;
    const std::string_view source = kernels::kernel_source(path)->text;
    for (const int number : kernels::lines_of_step(path, step)) {
      std::size_t begin = 0;
      for (int line = 1; line < number; ++line) begin = source.find('\n', begin) + 1;
      text += source.substr(begin, source.find('\n', begin) - begin);
    }
    return text;
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(text_of("kernels/flash2/flash2_forward.cuh", Step::scores), HasSubstr("S = Qi Kj^T"));
  // A mark on a separate line belongs to the line below
  EXPECT_THAT(text_of("kernels/flash2/flash2_forward.cuh", Step::update_max),
              HasSubstr("update_max<"));
  EXPECT_THAT(text_of("kernels/standard/softmax_gradient_two_sweeps.cuh", Step::load_again),
              HasSubstr("load_elements"));
  EXPECT_TRUE(
      kernels::lines_of_step("kernels/flash2/flash2_forward.cuh", Step::outer_loop).empty());
  EXPECT_TRUE(kernels::lines_of_step("kernels/none.cu", Step::scores).empty());
}

TEST(SourceView, ShowsTheFileOfTheLaunchesKernel) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    const Algorithm& algorithm = *find_algorithm(kernel.name);
    for (const PassKind kind : {PassKind::forward, PassKind::backward}) {
      if (kind == PassKind::backward && !kernel.has_backward()) continue;
      const bool backward = kind == PassKind::backward;
      for (const Launch& launch : make_pass(algorithm, kind, {}).launches) {
        const auto source = source_of_launch(kernel, launch, backward);
        const bool product =
            kernel.name == "standard" && launch.name != "softmax" && launch.name != "dS";
        EXPECT_EQ(source.empty(), product) << kernel.name << " " << launch.name;
        EXPECT_EQ(kernels::kernel_source(source) != nullptr, !product) << source;
      }
    }
  }
  const auto frame = [](std::string_view name) {
    const auto found = std::ranges::find(kernels::catalog(), name, &kernels::KernelInfo::name);
    Launch launch{};
    launch.name = "preprocess";
    return source_of_launch(*found, launch, true);
  };
  EXPECT_EQ(frame("flash2"), "kernels/flash2/flash2_backward_rows.cuh");
}

}  // namespace
}  // namespace attnscope::app
