#include "app/cli/fusion_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/outputs.h"
#include "app/cli/problem_options.h"
#include "app/cli/table.h"
#include "app/report/number_text.h"
#include "reference/json/problem_json.h"
#include "sim/studies/fusion.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// What fusion was asked.
struct FusionQuestion {
  AttentionProblem problem;
  Tiling tiling;
  GpuDescription gpu;
  std::vector<FusionStep> steps;
};

std::string bytes(Index count) {
  return bytes_text(static_cast<double>(count));
}

/// Figure 2's numbers belong to its problem alone.
std::optional<double> printed_bytes(const FusionQuestion& question, const FusionStep& step) {
  if (question.problem != figure2_problem()) return std::nullopt;
  return figure2_printed_bytes(step);
}

/// The steps of the score function and what is padding, for the title.
std::string step_words(const AttentionProblem& problem) {
  if (problem == figure2_problem())
    return fmt::format("key padding mask, dropout {}", problem.score.dropout.probability);
  const std::string extras = extras_text(problem);
  return extras.empty() ? "no dropout" : extras;
}

std::string fusion_text(const FusionQuestion& question) {
  const AttentionProblem& problem = question.problem;
  std::vector<std::vector<std::string>> lines = {{"step", "launches", "forward", "backward",
                                                  "matrices", "m, l, LSE, D", "requested",
                                                  "Figure 2 prints", "on the chip"}};
  for (const FusionStep& step : question.steps) {
    if (!step.refused.empty()) {
      lines.push_back({step.name, "-", "-", "-", "-", "-", "-", "", ""});
      continue;
    }
    const auto printed = printed_bytes(question, step);
    const std::string unfit = overflow_words(step);
    lines.push_back({step.name, std::to_string(step.launches()), bytes(step.forward.paper.total()),
                     bytes(step.backward.paper.total()), bytes(step.matrix_bytes()),
                     bytes(step.statistic_bytes()), bytes(step.requested_bytes()),
                     printed ? bytes_text(*printed) : "", unfit.empty() ? "fits" : unfit});
  }
  std::string text = fmt::format(
      "B {}, H {}, N {}, N_kv {}, d {}, {}, mask {}, {}, {}x{} tiles\n"
      "modelled; bytes as the papers count them (requested: by tiles of this size)\n\n{}\n",
      problem.batch, problem.heads, problem.N, problem.N_kv, problem.d, to_string(problem.dtype),
      to_string(problem.mask), step_words(problem), question.tiling.Br, question.tiling.Bc,
      table_text(lines));
  std::vector<std::vector<std::string>> ideas;
  for (const FusionStep& step : question.steps) ideas.push_back({step.name, step.idea});
  text += table_text(ideas, 2);
  if (const std::string why = why_flash2_moves_more(question.steps, question.tiling);
      !why.empty()) {
    text += "\n" + why + "\n";
  }
  if (problem == figure2_problem()) text += fmt::format("\n{}\n", kFigure2Note);
  if (const std::string words = left_out_of_fusion(problem); !words.empty()) text += words + "\n";
  for (const FusionStep& step : question.steps) {
    if (!step.refused.empty()) text += fmt::format("{}: {}\n", step.name, step.refused);
    for (const SimulationReport* report : {&step.forward, &step.backward}) {
      if (report->fits) continue;
      text += fmt::format("{} {} does not fit: {}\n", step.name, to_string(report->pass),
                          report->overflow_reason);
    }
  }
  return text;
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

ordered_json step_json(const FusionQuestion& question, const FusionStep& step) {
  if (!step.refused.empty()) {
    return {{"name", step.name}, {"idea", step.idea}, {"refused", step.refused}};
  }
  ordered_json row = {{"name", step.name},
                      {"idea", step.idea},
                      {"algorithm", step.forward.algorithm},
                      {"paper_bytes", step.paper_bytes()},
                      {"matrix_bytes", step.matrix_bytes()},
                      {"statistic_bytes", step.statistic_bytes()},
                      {"requested_bytes", step.requested_bytes()},
                      {"fits", step.forward.fits && step.backward.fits},
                      {"forward", pass_json(step.forward)},
                      {"backward", pass_json(step.backward)}};
  if (const auto printed = printed_bytes(question, step)) row["figure2_printed_bytes"] = *printed;
  return row;
}

ordered_json fusion_json(const FusionQuestion& question) {
  ordered_json steps = ordered_json::array();
  for (const FusionStep& step : question.steps) steps.push_back(step_json(question, step));
  ordered_json document = {{"schema", "attnscope.fusion/1"},
                           {"kind", "modelled"},
                           {"problem", problem_to_json(question.problem)},
                           {"tiling", tiling_to_json(question.tiling)},
                           {"gpu", question.gpu.name}};
  const std::string words = left_out_of_fusion(question.problem);
  if (!words.empty()) document["left_out"] = words;
  const std::string why = why_flash2_moves_more(question.steps, question.tiling);
  if (!why.empty()) document["flash2_moves_more"] = why;
  if (question.problem == figure2_problem()) document["figure2_note"] = kFigure2Note;
  document["steps"] = steps;
  return document;
}

/// Figure 2's but for its key padding, which belongs to that problem alone.
AttentionProblem default_problem() {
  AttentionProblem problem = figure2_problem();
  problem.key_lengths.clear();
  return problem;
}

/// Figure 2's unless asked otherwise; Br is the paper's min(Bc, d).
Tiling asked_tiling(const ProblemRequest& request) {
  const Index Bc = request.Bc.value_or(kFigure2Tiling.Bc);
  return {request.Br.value_or(std::min(Bc, request.problem.d)), Bc};
}

std::optional<Error> run_fusion(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  auto request = parse_shape(given, default_problem());
  if (!request) return request.error();
  AttentionProblem problem = request.value().problem;
  AttentionProblem padded = problem;
  padded.key_lengths = figure2_problem().key_lengths;
  if (!given.has("key-lengths") && padded == figure2_problem()) problem = std::move(padded);
  auto gpu = parse_gpu(given);
  if (!gpu) return gpu.error();

  FusionQuestion question{.problem = std::move(problem),
                          .tiling = asked_tiling(request.value()),
                          .gpu = std::move(gpu).value(),
                          .steps = {}};
  show_progress("counting each step");
  auto steps = fusion_steps(question.problem, question.tiling, question.gpu);
  clear_progress();
  if (!steps) return steps.error();
  question.steps = std::move(steps).value();

  const ordered_json document = fusion_json(question);
  const auto rows = document.at("steps").get<std::vector<ordered_json>>();
  if (auto error = write_outputs(outputs.value(), document, rows)) return error;
  if (outputs.value().owns_standard_output()) return std::nullopt;
  return write_text("-", fusion_text(question));
}

}  // namespace

CommandSpec fusion_command() {
  return {.name = "fusion",
          .summary = "Bytes after each step from unfused launches to tiles: Figure 2's problem.",
          .operand = "",
          .options = joined({shape_options(default_problem()),
                             {{"gpu", "NAME|FILE", "the modelled GPU [h200]"}},
                             output_options()}),
          .run = run_fusion};
}

}  // namespace attnscope::cli
