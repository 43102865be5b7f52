#include "app/panels/explain/source_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/compile/kernel_sources.h"
#include "sim/schedule/algorithm.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

TEST(SourceView, EmbedsEveryKernelOfTheCatalog) {
  const auto source = kernels::kernel_source("kernels/flash2/flash2_forward.cuh");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find("__global__"), std::string_view::npos);
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

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Checks that every line of a launch that is not a loop finds its place in the launch's kernel.
void expect_markers(const kernels::KernelInfo& kernel, const Launch& launch, bool backward) {
  const auto source = source_of_launch(kernel, launch.name, backward);
  if (source.empty()) return;
  const auto lines = lines_of(kernels::kernel_source(source).value_or(""));
  for (std::size_t line = 0; line < launch.pseudo_code.size(); ++line) {
    EXPECT_EQ(marker_line(source, lines, launch.pseudo_code, line) < 0,
              launch.pseudo_code[line].control)
        << launch.name << ", " << source << ": " << launch.pseudo_code[line].text;
  }
}

/// Checks that every line that the run executes finds its place in its launch's kernel.
void expect_markers(const kernels::KernelInfo& kernel, const SampleRequest& request) {
  const auto run = test::sample_run(request);
  std::set<std::pair<Index, int>> seen;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step);
    if (!seen.insert({snapshot.launch, snapshot.op.line}).second) continue;
    const Launch& launch = run->info()->pass.launches[static_cast<std::size_t>(snapshot.launch)];
    const auto source = source_of_launch(kernel, launch.name, snapshot.in_backward());
    if (source.empty()) continue;
    const auto lines = lines_of(kernels::kernel_source(source).value_or(""));
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
      request.pass = kernel.has_backward() ? PassKind::both : PassKind::forward;
      if (scored) {
        request.problem.score.soft_cap = 20.0;
        request.problem.score.alibi_slopes = {0.5};
        if (kernel.has_backward()) request.problem.score.dropout.probability = 0.25;
      }
      expect_markers(kernel, request);
      if (kernel.honours_carry) {
        request.variant.carry = Carry::fp32;
        expect_markers(kernel, request);
      }
    }
    SampleRequest grouped;
    grouped.algorithm = kernel.algorithm;
    grouped.pass = kernel.has_backward() ? PassKind::both : PassKind::forward;
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
      const auto lines = lines_of(*kernels::kernel_source(source));
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
      if (kind == PassKind::backward && !kernel.has_backward()) continue;
      const bool backward = kind == PassKind::backward;
      for (const Launch& launch : make_pass(algorithm, kind, {}).launches) {
        const auto source = source_of_launch(kernel, launch.name, backward);
        const bool product =
            kernel.name == "standard" && launch.name != "softmax" && launch.name != "dS";
        EXPECT_EQ(source.empty(), product) << kernel.name << " " << launch.name;
        EXPECT_EQ(kernels::kernel_source(source).has_value(), !product) << source;
      }
    }
  }
  const auto frame = [](std::string_view name) {
    const auto found = std::ranges::find(kernels::catalog(), name, &kernels::KernelInfo::name);
    return source_of_launch(*found, "preprocess", true);
  };
  EXPECT_EQ(frame("flash2"), "kernels/flash2/flash2_backward_rows.cuh");
}

}  // namespace
}  // namespace attnscope::app
