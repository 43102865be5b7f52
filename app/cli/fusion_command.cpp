/// attnscope-cli fusion: the bytes after each step of fusing attention.

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

/// Figure 2's numbers apply only to its problem.
std::optional<double> printed_bytes(const FusionQuestion& question, const FusionStep& step) {
  if (question.problem != figure2_problem()) return std::nullopt;
  return figure2_printed_bytes(step);
}

ordered_json pass_json(const SimulationReport& report) {
  ordered_json launches = ordered_json::array();
  for (const LaunchReport& launch : report.launches) {
    launches.push_back({{"name", launch.name},
                        {"paper_bytes", launch.paper.total()},
                        {"requested_bytes", launch.requested.total()}});
  }
  return {{"paper_bytes", report.paper.total()},
          {"requested_bytes", report.requested.total()},
          {"fits", report.fits},
          {"launches", launches}};
}

/// Adds the step to the document and to the table.
void add_step(const FusionQuestion& question, const FusionStep& step, ordered_json& steps,
              Lines& lines) {
  ordered_json& row = steps.emplace_back();
  row = {{"name", step.name}, {"idea", step.idea}};
  if (!step.refused.empty()) {
    row["refused"] = words(step.refused, Reader::command_line);
    lines.push_back({step.name, "-", "-", "-", "-", "-", "-", "", ""});
    return;
  }
  row.update({{"algorithm", step.forward.run.algorithm()},
              {"paper_bytes", step.paper_bytes()},
              {"matrix_bytes", step.matrix_bytes()},
              {"statistic_bytes", step.statistic_bytes()},
              {"requested_bytes", step.requested_bytes()},
              {"fits", step.forward.fits && step.backward.fits},
              {"forward", pass_json(step.forward)},
              {"backward", pass_json(step.backward)}});
  const auto printed = printed_bytes(question, step);
  if (printed) row["figure2_printed_bytes"] = *printed;
  const std::string unfit = overflow_words(step);
  lines.push_back({step.name, std::to_string(step.launches()),
                   bytes_text(step.forward.paper.total()), bytes_text(step.backward.paper.total()),
                   bytes_text(step.matrix_bytes()), bytes_text(step.statistic_bytes()),
                   bytes_text(step.requested_bytes()), printed ? bytes_text(*printed) : "",
                   unfit.empty() ? "fits" : unfit});
}

/// Steps that are not counted, and passes that do not fit.
std::string exceptions_text(const std::vector<FusionStep>& steps) {
  std::string text;
  for (const FusionStep& step : steps) {
    if (!step.refused.empty()) {
      text += fmt::format("{}: {}\n", step.name, words(step.refused, Reader::command_line));
    }
    for (const SimulationReport* report : {&step.forward, &step.backward}) {
      if (report->fits) continue;
      text += fmt::format("{} {} does not fit: {}\n", step.name, to_string(report->run.pass()),
                          report->overflow_reason);
    }
  }
  return text;
}

Answer fusion_answer(const FusionQuestion& question) {
  const AttentionProblem& problem = question.problem;
  const bool is_figure2 = problem == figure2_problem();
  const std::string left_out = left_out_of_fusion(problem);
  const std::string why = why_flash2_moves_more(question.steps, question.tiling);
  Lines lines = {{"step", "launches", "forward", "backward", "matrices", "m, l, LSE, D",
                  "requested", "Figure 2 prints", "on the chip"}};
  Lines ideas;
  ordered_json steps = ordered_json::array();
  for (const FusionStep& step : question.steps) {
    add_step(question, step, steps, lines);
    ideas.push_back({step.name, step.idea});
  }

  ordered_json document = {{"schema", "attnscope.fusion/1"},
                           {"kind", "modelled"},
                           {"problem", problem_to_json(problem)},
                           {"tiling", tiling_to_json(question.tiling)},
                           {"gpu", question.gpu.name}};
  if (!left_out.empty()) document["left_out"] = left_out;
  if (!why.empty()) document["flash2_moves_more"] = why;
  if (is_figure2) document["figure2_note"] = kFigure2Note;
  document["steps"] = steps;

  std::string text = fmt::format(
      "{}{}, {}x{} tiles\n"
      "modelled; bytes as the papers count them (requested: by tiles of this size)\n\n{}\n{}",
      problem_words(problem), is_figure2 ? " (key padding mask)" : "", question.tiling.Br,
      question.tiling.Bc, table_text(lines), table_text(ideas, 2));
  if (!why.empty()) text += fmt::format("\n{}\n", why);
  if (is_figure2) text += fmt::format("\n{}\n", kFigure2Note);
  if (!left_out.empty()) text += left_out + "\n";
  return {json_text(document), csv_text(steps), text + exceptions_text(question.steps)};
}

/// Figure 2's problem, except for its key padding, which applies only to that problem. Br follows
/// Bc and d.
RunSpec default_run() {
  RunSpec spec{.problem = figure2_problem(), .Bc = kFigure2Tiling.Bc};
  spec.problem.key_lengths.clear();
  return spec;
}

Result<Answer> answer_fusion(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run(given, default_run()));
  ATTNSCOPE_TRY(auto gpu, gpu_of(spec));

  AttentionProblem problem = spec.problem;
  if (problem == default_run().problem) problem = figure2_problem();
  const Index Bc = *spec.Bc;
  FusionQuestion question{.problem = problem,
                          .tiling = {spec.Br.value_or(std::min(Bc, problem.d)), Bc},
                          .gpu = std::move(gpu),
                          .steps = {}};
  show_progress("counting each step");
  ATTNSCOPE_TRY(question.steps, fusion_steps(question.problem, question.tiling, question.gpu));

  return fusion_answer(question);
}

}  // namespace

CommandSpec fusion_command() {
  return answering(
      {.name = "fusion",
       .summary = "Bytes after each step from unfused launches to tiles: Figure 2's problem.",
       .options = joined({shape_options(default_run()), field_options({"gpu"})})},
      answer_fusion);
}

}  // namespace attnscope::cli
