/// attnscope-cli fusion: the bytes moved after each step of fusing attention.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"
#include "sim/resolve.h"
#include "sim/studies/fusion.h"

namespace attnscope::cli {

namespace {

/// The request of the fusion command.
struct FusionQuestion {
  AttentionProblem problem;
  Tiling tiling;
  GpuDescription gpu;
  std::vector<FusionStep> steps;
};

/// The bytes that Figure 2 prints for the step; nothing for a problem other than the figure's.
std::optional<double> printed_bytes(const FusionQuestion& question, const FusionStep& step) {
  if (question.problem != figure2_problem()) return std::nullopt;
  return figure2_printed_bytes(step);
}

const std::vector<Column>& step_columns() {
  static const std::vector<Column> columns = {
      {"name", "step"},
      {"idea", ""},
      {"refused", ""},
      {"algorithm", ""},
      {"", "launches", Unit::count},
      {"", "forward", Unit::bytes},
      {"", "backward", Unit::bytes},
      {"paper_bytes", ""},
      {"matrix_bytes", "matrices", Unit::bytes},
      {"statistic_bytes", "m, l, LSE, D", Unit::bytes},
      {"requested_bytes", "requested", Unit::bytes},
      {"fits", ""},
      {"forward.paper_bytes", ""},
      {"forward.requested_bytes", ""},
      {"forward.fits", ""},
      {"forward.launches", ""},
      {"backward.paper_bytes", ""},
      {"backward.requested_bytes", ""},
      {"backward.fits", ""},
      {"backward.launches", ""},
      {"figure2_printed_bytes", "Figure 2 prints", Unit::bytes},
      {"", "on the chip"}};
  return columns;
}

Table launches_table(const SimulationReport& report) {
  Table table{.columns = {{"name", ""}, {"paper_bytes", ""}, {"requested_bytes", ""}}};
  for (const LaunchReport& launch : report.launches) {
    table.rows.push_back({launch.name, launch.paper.total(), launch.requested.total()});
  }
  return table;
}

std::vector<Cell> step_row(const FusionQuestion& question, const FusionStep& step) {
  if (!step.refused.empty()) {
    std::vector<Cell> row = {step.name, step.idea, words(step.refused, Reader::command_line)};
    row.resize(step_columns().size() - 2, Cell::only_text("-"));
    row.resize(step_columns().size());
    return row;
  }
  const auto& [forward, backward] = std::tie(step.forward, step.backward);
  const std::string unfit = overflow_words(step);
  return {step.name,
          step.idea,
          Cell(),
          forward.run.algorithm(),
          step.launches(),
          forward.paper.total(),
          backward.paper.total(),
          step.paper_bytes(),
          step.matrix_bytes(),
          step.statistic_bytes(),
          step.requested_bytes(),
          forward.fits && backward.fits,
          forward.paper.total(),
          forward.requested.total(),
          forward.fits,
          launches_table(forward),
          backward.paper.total(),
          backward.requested.total(),
          backward.fits,
          launches_table(backward),
          printed_bytes(question, step),
          unfit.empty() ? "fits" : unfit};
}

/// Notes on steps that are not counted and passes that do not fit.
std::vector<Footnote> exceptions(const std::vector<FusionStep>& steps) {
  std::vector<Footnote> notes;
  for (const FusionStep& step : steps) {
    if (!step.refused.empty()) {
      notes.push_back(
          {fmt::format("{}: {}", step.name, words(step.refused, Reader::command_line))});
    }
    for (const SimulationReport* report : {&step.forward, &step.backward}) {
      if (report->fits) continue;
      notes.push_back({fmt::format("{} {} does not fit: {}", step.name,
                                   to_string(report->run.pass()), report->overflow_reason)});
    }
  }
  return notes;
}

Study fusion_study(const FusionQuestion& question) {
  const AttentionProblem& problem = question.problem;
  const bool is_figure2 = problem == figure2_problem();
  Table steps{.key = "steps", .columns = step_columns()};
  Table ideas{.columns = {{"", "step"}, {"", "idea"}}};
  for (const FusionStep& step : question.steps) {
    steps.rows.push_back(step_row(question, step));
    ideas.rows.push_back({step.name, step.idea});
  }
  std::vector<Footnote> footnotes = {
      {left_out_of_fusion(problem), "left_out"},
      {why_flash2_moves_more(question.steps, question.tiling), "flash2_moves_more"},
      {is_figure2 ? std::string(kFigure2Note) : "", "figure2_note"}};
  for (Footnote& note : exceptions(question.steps)) footnotes.push_back(std::move(note));
  return Study{.title = fmt::format(
                   "{}{}, {}x{} tiles\n"
                   "modelled; bytes as the papers count them (requested: by tiles of this size)",
                   problem_words(problem), is_figure2 ? " (key padding mask)" : "",
                   question.tiling.Br, question.tiling.Bc),
               .facts = {{"schema", "attnscope.fusion/1"},
                         {"kind", "modelled"},
                         {"problem", problem_to_json(problem)},
                         {"tiling", tiling_to_json(question.tiling)},
                         {"gpu", question.gpu.name}},
               .tables = {steps, ideas},
               .footnotes = footnotes};
}

/// The run of Figure 2, except for its key padding, which applies only to that problem. Br follows
/// Bc and d.
RunSpec default_fusion_run() {
  RunSpec spec{.problem = figure2_problem(), .Bc = kFigure2Tiling.Bc};
  spec.problem.key_lengths.clear();
  return spec;
}

Result<Study> count_fusion(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run(given, default_fusion_run()));
  ATTNSCOPE_TRY(auto gpu, gpu_of(spec));

  AttentionProblem problem = spec.problem;
  if (problem == default_fusion_run().problem) problem = figure2_problem();
  const Index Bc = *spec.Bc;
  FusionQuestion question{.problem = problem,
                          .tiling = {spec.Br.value_or(std::min(Bc, problem.d)), Bc},
                          .gpu = std::move(gpu),
                          .steps = {}};
  show_progress("counting each step");
  ATTNSCOPE_TRY(question.steps, fusion_steps(question.problem, question.tiling, question.gpu));

  return fusion_study(question);
}

}  // namespace

CommandSpec fusion_command() {
  return answering(
      {.name = "fusion",
       .summary = "Counts bytes at each step from unfused launches to tiles: Figure 2's problem.",
       .options = joined({shape_options(default_fusion_run()), field_options({"gpu"})})},
      count_fusion);
}

}  // namespace attnscope::cli
