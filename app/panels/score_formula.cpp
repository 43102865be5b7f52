#include "app/panels/score_formula.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "app/panels/snapshot_view.h"
#include "app/report/launch_words.h"

namespace attnscope::app {

namespace {

/// The distance of a key from the one that its query is aligned with.
std::string distance(const AttentionProblem& problem) {
  if (problem.is_packed()) return "distance";
  const Index shift = problem.N_kv - problem.N;
  if (shift == 0) return "|k - q|";
  return fmt::format("|k - q {} {}|", shift > 0 ? '-' : '+', std::abs(shift));
}

bool hides_keys(const AttentionProblem& problem) {
  return !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
}

/// How many of the score function's steps have been taken.
int rank(OpKind step) {
  constexpr OpKind kOrder[] = {OpKind::scores, OpKind::soft_cap, OpKind::alibi, OpKind::mask};
  return static_cast<int>(std::ranges::find(kOrder, step) - std::begin(kOrder));
}

}  // namespace

std::string score_formula(const AttentionProblem& problem, Index head, std::string_view product,
                          OpKind last) {
  const ScoreFunction& score = problem.score;
  std::string text(product);
  if (score.soft_cap && rank(last) >= rank(OpKind::soft_cap)) {
    text = fmt::format("{0:g} · tanh({1} / {0:g})", *score.soft_cap, text);
  }
  if (score.has_alibi() && rank(last) >= rank(OpKind::alibi)) {
    text += fmt::format(" - {:.3g} · {}", score.alibi_slopes[static_cast<std::size_t>(head)],
                        distance(problem));
  }
  if (hides_keys(problem) && rank(last) >= rank(OpKind::mask)) text = "mask(" + text + ")";
  return text;
}

StoredScores stored_scores(const Snapshot& snapshot) {
  // From the launch that stores S to the softmax that reads it
  const RunInfo& run = *snapshot.run;
  if (run.algorithm->softmax != SoftmaxForm::whole_rows) return StoredScores::final_values;
  const std::vector<Launch>& launches = run.pass.launches;
  const auto current = static_cast<std::size_t>(snapshot.launch);
  std::size_t scores = current;
  while (scores > 0 && !launches[scores].name.ends_with("scores")) --scores;
  if (!launches[scores].name.ends_with("scores")) return StoredScores::final_values;
  std::size_t softmax = scores;
  while (softmax < launches.size() && !launches[softmax].name.ends_with("softmax")) ++softmax;
  if (softmax <= current) return StoredScores::final_values;

  // The steps that the launches in between have taken so far
  bool scaled = true;
  bool masked = !hides_keys(run.problem());
  for (std::size_t k = scores + 1; k < softmax; ++k) {
    const bool over = snapshot.step + 1 >= run.launches[k].end;
    if (launches[k].name.find("scale") != std::string_view::npos) scaled = over;
    if (launches[k].name.ends_with("mask")) masked = over;
  }
  const ScoreFunction& score = run.problem().score;
  if (!scaled || score.soft_cap || score.has_alibi()) return StoredScores::unfinished;
  return masked ? StoredScores::final_values : StoredScores::unmasked;
}

std::vector<std::string> scores_headline(const Snapshot& snapshot) {
  const RunInfo& run = *snapshot.run;
  const Launch& launch = launch_of(snapshot);
  const bool whole_rows = run.algorithm->softmax == SoftmaxForm::whole_rows;
  const bool is_final = stored_scores(snapshot) == StoredScores::final_values;
  std::string S = is_final ? "S = " : "S becomes ";
  S += score_formula(run.problem(), run.head, "scale · Q Kᵀ");
  std::string then;
  if (run.problem().score.has_dropout()) {
    then =
        fmt::format("O = dropout(softmax S) V, p = {:g}", run.problem().score.dropout.probability);
  }
  if (launch.splits == SplitRole::folded) {
    S += fmt::format(", of launch 1: {}", launch_words(run.pass.launches.front().name));
  } else if (snapshot.in_backward() && !whole_rows) {
    S += ", again";
  } else if (snapshot.in_backward()) {
    S += run.options.variant.checkpoint ? ", run again" : " of the forward pass";
    then += then.empty() ? "on chip P, dP, dS" : "; on chip P, dP, dS";
  }
  if (then.empty()) return {std::move(S)};
  return {std::move(S), std::move(then)};
}

}  // namespace attnscope::app
