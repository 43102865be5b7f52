/// attnscope-cli break: what a dropped operation or a replaced operand changes in a run.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"
#include "sim/packed_groups.h"
#include "sim/resolve.h"
#include "sim/schedule/breaks.h"
#include "sim/snapshot/describe_op.h"
#include "sim/studies/break_quiz.h"

namespace attnscope::cli {

namespace {

/// The run that the options request, and the head to break.
Result<SteppedRequest> parse_request(const GivenOptions& given) {
  ATTNSCOPE_TRY(const Index batch, read_whole(given, "batch-entry", 0, kMaxHeads, Index{0}));
  ATTNSCOPE_TRY(const Index head, read_whole(given, "head", 0, kMaxHeads, Index{0}));
  ATTNSCOPE_TRY(auto model, parse_model_run(given));
  SteppedRequest request{.run = std::move(model.run), .gpu = std::move(model.gpu)};
  const RunSpec& spec = request.run.asked;
  const AttentionProblem& problem = request.run.problem;
  if (batch >= problem.batch || head >= problem.heads) {
    return invalid_request(
        "--batch-entry {} --head {}: the run has batch entries up to {} and heads up to {}", batch,
        head, problem.batch - 1, problem.heads - 1);
  }
  request.batch = batch;
  request.head = head;
  if (spec.files.any() || request.run.query_heads_per_tile > 1) {
    ATTNSCOPE_TRY(auto inputs, load_inputs(spec.problem, spec.files, spec.inputs));
    const bool packed = request.run.query_heads_per_tile > 1;
    request.given_inputs =
        packed ? with_packed_groups(spec.problem, std::move(inputs)) : std::move(inputs);
  }
  return request;
}

ordered_json identity_json(const ResolvedRun& run) {
  return {{"schema", "attnscope.break/1"},
          {"kind", "modelled"},
          {"problem", problem_to_json(run.asked.problem)},
          {"algorithm", run.algorithm()},
          {"pass", to_string(run.pass())},
          {"tiling", tiling_to_json(run.tiling)}};
}

/// The answer without --break: the operations that can be dropped.
Answer operations_answer(const SteppedRequest& request) {
  const ResolvedRun& run = request.run;
  const ScheduleOptions options = schedule_options(run, request.gpu);
  const Pass pass = make_head_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const auto operations = operations_of(pass, {run.problem, run.tiling, options, {}});
  ordered_json rows = ordered_json::array();
  Lines lines = {{"line", "break", "pseudo-code"}};
  for (const PassOperation& each : operations) {
    const Launch& launch = pass.launches[each.launch];
    const std::string_view text = launch.pseudo_code[each.line].text;
    const std::string broken = to_string(break_of(each, pass, operations));
    rows.push_back(
        {{"launch", launch.name}, {"line", each.line + 1}, {"break", broken}, {"text", text}});
    lines.push_back({fmt::format("{} {}", launch.name, each.line + 1), broken, std::string(text)});
  }
  ordered_json document = identity_json(run);
  document["operations"] = rows;
  return {json_text(document), csv_text(rows),
          fmt::format("{}\neach of these operations can be dropped (--break)\n\n{}", run_words(run),
                      table_text(lines, 3)),
          std::nullopt};
}

/// Adds the largest error if JSON can represent it; NaN and infinities are written as flags.
void add_deviation(ordered_json& row, const Deviation& deviation) {
  if (std::isfinite(deviation.max_abs)) row["max_abs_error"] = deviation.max_abs;
  if (std::isinf(deviation.max_abs)) row["infinite"] = true;
  if (deviation.has_nan) row["has_nan"] = true;
}

std::string deviation_text(const Deviation& deviation) {
  if (deviation.has_nan) return "NaN";
  return deviation.is_wrong() ? fmt::format("{:.3g}", deviation.max_abs) : "right";
}

std::string operation_text(const BreakEffect& effect, const OpPlace& place) {
  return fmt::format("{}{}", dropped_prefix(place.op),
                     describe_op(place.op, effect.grids[place.launch]));
}

ordered_json place_json(const BreakEffect& effect, const OpPlace& place) {
  const Launch& launch = effect.pass.launches[place.launch];
  return {{"step", place.step},
          {"launch", launch.name},
          {"block", place.block},
          {"line", place.op.line + 1},
          {"text", launch.pseudo_code[place.op.line].text},
          {"operation", operation_text(effect, place)}};
}

std::string place_text(const BreakEffect& effect, std::string_view what,
                       const std::optional<OpPlace>& place) {
  if (!place) return fmt::format("{:<19}none\n", what);
  const Launch& launch = effect.pass.launches[place->launch];
  return fmt::format("{:<19}step {}, launch {}, thread block {}, line {}: {}\n{:<19}{}\n", what,
                     place->step, launch.name, place->block, place->op.line + 1,
                     launch.pseudo_code[place->op.line].text, "", operation_text(effect, *place));
}

ordered_json deadlock_json(const BreakEffect& effect, const Deadlock& deadlock) {
  ordered_json agents = ordered_json::array();
  for (const StuckAgent& each : deadlock.stuck) {
    agents.push_back({{"agent", agent_name(each.agent)}, {"sentence", stuck_words(each)}});
  }
  return {{"step", deadlock.step},
          {"launch", effect.pass.launches[deadlock.launch].name},
          {"block", deadlock.block},
          {"agents", agents}};
}

std::string deadlock_text(const BreakEffect& effect) {
  if (!effect.deadlock) return "";
  const Deadlock& deadlock = *effect.deadlock;
  std::string text =
      fmt::format("{:<19}step {}, launch {}, thread block {}:\n", "deadlock", deadlock.step,
                  effect.pass.launches[deadlock.launch].name, deadlock.block);
  for (const StuckAgent& each : deadlock.stuck) {
    text += fmt::format("{:<19}{}\n", "", stuck_words(each));
  }
  return text;
}

Index wrong_rows(const ResultDeviation& result) {
  return std::ranges::count_if(result.by_row, [](double error) { return error > 0; });
}

ordered_json results_json(const BreakEffect& effect) {
  ordered_json rows = ordered_json::array();
  for (const ResultDeviation& result : effect.results) {
    ordered_json& row = rows.emplace_back();
    row["tensor"] = to_string(result.tensor);
    row["right"] = !result.deviation.is_wrong();
    add_deviation(row, result.deviation);
    row["rows"] = result.by_row.size();
    row["wrong_rows"] = wrong_rows(result);
  }
  return rows;
}

ordered_json spread_json(const BreakEffect& effect) {
  ordered_json rows = ordered_json::array();
  for (const TileDeviation& each : effect.spread) {
    ordered_json& row = rows.emplace_back();
    row["step"] = each.step;
    row["tensor"] = to_string(each.tile.tensor);
    row["memory"] = each.tile.on_chip() ? "on chip" : "HBM";
    row["tile"] = tile_name(each.tile);
    row["right"] = !each.deviation.is_wrong();
    add_deviation(row, each.deviation);
  }
  return rows;
}

/// The tensors that become wrong, in the order in which they become wrong.
std::string spread_text(const BreakEffect& effect) {
  struct Spread {
    std::string tensor, memory;
    Index first_step;
    std::vector<std::string> tiles;
    Deviation most;
  };
  std::vector<Spread> tensors;
  for (const TileDeviation& each : effect.spread) {
    if (!each.deviation.is_wrong()) continue;
    const std::string tensor = tensor_name(each.tile.tensor);
    const std::string memory = each.tile.on_chip() ? "on chip" : "HBM";
    auto known = std::ranges::find_if(tensors, [&](const Spread& spread) {
      return spread.tensor == tensor && spread.memory == memory;
    });
    if (known == tensors.end()) {
      known = tensors.insert(known, {tensor, memory, each.step, {}, {}});
    }
    const std::string tile = tile_name(each.tile);
    const bool is_new = std::ranges::find(known->tiles, tile) == known->tiles.end();
    if (is_new) known->tiles.push_back(tile);
    known->most.max_abs = std::max(known->most.max_abs, each.deviation.max_abs);
    known->most.has_nan = known->most.has_nan || each.deviation.has_nan;
  }
  Lines lines = {{"wrong", "where", "from step", "tiles", "first", "largest error"}};
  for (const Spread& each : tensors) {
    lines.push_back({each.tensor, each.memory, std::to_string(each.first_step),
                     std::to_string(each.tiles.size()), each.tiles[0], deviation_text(each.most)});
  }
  return lines.size() > 1 ? table_text(lines, 2) : "no tile is ever wrong\n";
}

std::string results_text(const BreakEffect& effect) {
  Lines lines = {{"result", "largest error", "wrong rows"}};
  for (const ResultDeviation& result : effect.results) {
    lines.push_back({tensor_name(result.tensor), deviation_text(result.deviation),
                     fmt::format("{} of {}", wrong_rows(result), result.by_row.size())});
  }
  return table_text(lines);
}

std::string reasons_text(const BreakEffect& effect) {
  std::string text;
  for (const auto& [reason, times] : effect.reasons) {
    text +=
        fmt::format("  {} ({} {})\n", sentence_of(reason), times, times == 1 ? "time" : "times");
  }
  return text.empty() ? "" : "\nthe result is right:\n" + text;
}

Answer effect_answer(const SteppedRequest& request, const BreakEffect& effect) {
  const ResolvedRun& run = request.run;
  ordered_json document = identity_json(run);
  document["break"] = to_string(run.asked.variant.broken);
  document["stale_memory"] = run.asked.stale_memory;
  document["head"] = {{"batch", request.batch}, {"head", request.head}};
  document["steps"] = effect.step_count;
  document["skipped"] = effect.skipped_count;
  const auto add_place = [&](const char* name, const std::optional<OpPlace>& place) {
    if (place) document[name] = place_json(effect, *place);
  };
  add_place("first_skipped", effect.first_skipped);
  add_place("first_difference", effect.first_difference);
  add_place("first_wrong_store", effect.first_wrong_store);
  if (effect.deadlock) document["deadlock"] = deadlock_json(effect, *effect.deadlock);
  document["changes_result"] = effect.changes_result();
  document["results"] = results_json(effect);
  document["reasons"] = ordered_json::array();
  for (const auto& [reason, times] : effect.reasons) {
    document["reasons"].push_back(
        {{"reason", to_string(reason)}, {"times", times}, {"sentence", sentence_of(reason)}});
  }
  document["spread"] = spread_json(effect);
  std::string text = fmt::format(
      "{}\nmodelled; errors are differences from the same run without the break; head {} of batch "
      "entry {}, {} steps\n\n",
      run_words(run), request.head, request.batch, effect.step_count);
  if (effect.skipped_count > 0) {
    text += place_text(effect,
                       fmt::format("dropped {} {}", effect.skipped_count,
                                   effect.skipped_count == 1 ? "time" : "times"),
                       effect.first_skipped);
  }
  text += place_text(effect, "first difference", effect.first_difference);
  text += place_text(effect, "first wrong store", effect.first_wrong_store);
  text += deadlock_text(effect);
  text +=
      fmt::format("\n{}\n{}{}", spread_text(effect), results_text(effect), reasons_text(effect));
  return {json_text(document), csv_text(document["results"]), text, std::nullopt};
}

/// The quiz question for a seed, and, if an answer was given, whether it is right.
Result<Answer> quiz_answer(const SteppedRequest& request, std::uint64_t seed, Index given_answer) {
  ATTNSCOPE_TRY(const auto quiz, break_quiz(request, seed));
  const BreakEffect& effect = quiz.effect;
  ordered_json document = identity_json(request.run);
  document["seed"] = seed;
  document["results"] = results_json(effect);
  document["spread"] = spread_json(effect);
  ordered_json choices = ordered_json::array();
  std::string options;
  for (std::size_t k = 0; k < quiz.choices.size(); ++k) {
    const PassOperation& choice = quiz.choices[k];
    const std::string_view launch = effect.pass.launches[choice.launch].name;
    choices.push_back({{"launch", launch}, {"line", choice.line + 1}, {"text", quiz.line_text(k)}});
    options += fmt::format("  {}  {} {}: {}\n", k + 1, launch, choice.line + 1, quiz.line_text(k));
  }
  document["choices"] = choices;
  std::string text =
      fmt::format("{}\none operation is missing: on which line?\n\n{}\n{}\n{}",
                  run_words(request.run), spread_text(effect), results_text(effect), options);
  if (given_answer > 0) {
    const bool right = given_answer == static_cast<Index>(quiz.answer) + 1;
    const std::string broken = to_string(quiz.run.asked.variant.broken);
    document["right"] = right;
    document["break"] = broken;
    text += fmt::format("\n{}: the answer is {}, {}\n", right ? "right" : "wrong", quiz.answer + 1,
                        broken);
  }
  return Answer{json_text(document), csv_text(choices), text, std::nullopt};
}

Result<Answer> answer_break(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto request, parse_request(given));
  if (given.has("quiz")) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    ATTNSCOPE_TRY(const auto seed, read_whole(given, "quiz", 0, kMost, std::uint64_t{0}));
    ATTNSCOPE_TRY(const auto answer, read_whole(given, "answer", 1, 4, Index{0}));
    return quiz_answer(request, seed, answer);
  }
  if (given.has("answer")) return invalid_request("--answer requires --quiz");
  if (!request.run.asked.variant.broken.any()) return operations_answer(request);
  show_progress("comparing the broken run with the correct one");
  ATTNSCOPE_TRY(const auto effect, break_effect(request));
  return effect_answer(request, effect);
}

}  // namespace

CommandSpec break_command() {
  return answering(
      {.name = "break",
       .summary = "Shows what a dropped operation changes, or lists the operations.",
       .options = joined({run_options(FieldTarget::model, {}),
                          {{"quiz", "SEED", "drop an operation and ask which one is missing"},
                           {"answer", "NUMBER", "with --quiz: the line you choose, 1 to 4"},
                           {"batch-entry", "INDEX", "batch entry of the head [0]"},
                           {"head", "INDEX", "the head to compare [0]"}}})},
      answer_break);
}

}  // namespace attnscope::cli
