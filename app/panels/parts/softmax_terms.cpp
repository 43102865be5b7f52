#include "app/panels/parts/softmax_terms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "app/draw/format.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/report_text.h"
#include "sim/accuracy.h"
#include "sim/schedule/schedules.h"

namespace attnscope::app {

namespace {

/// The distance of a key from the key that its query is aligned with.
std::string distance(const AttentionProblem& problem) {
  if (problem.is_packed()) return "distance";
  const Index shift = problem.N_kv - problem.N;
  if (shift == 0) return "|k - q|";
  return fmt::format("|k - q {} {}|", shift > 0 ? '-' : '+', std::abs(shift));
}

bool hides_keys(const AttentionProblem& problem) {
  return !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
}

/// The position of the step among the steps of the score function.
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
  // The launches from the one that stores S to the softmax that reads it
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

std::vector<std::string> scores_headline(const Snapshot& snapshot, Tensor shown) {
  const RunInfo& run = *snapshot.run;
  const ScoreFunction& score = run.problem().score;
  if (shown == Tensor::P) return {"P = softmax S"};
  if (shown == Tensor::dP) return {score.has_dropout() ? "dP = dropout(dO Vᵀ)" : "dP = dO Vᵀ"};
  if (shown == Tensor::dS) return {score.soft_cap ? "dS = P ∘ (dP - D) ∘ T" : "dS = P ∘ (dP - D)"};
  const Launch& launch = launch_of(snapshot);
  const bool whole_rows = run.algorithm->softmax == SoftmaxForm::whole_rows;
  const bool is_final = stored_scores(snapshot) == StoredScores::final_values;
  std::string S = is_final ? "S = " : "S becomes ";
  S += score_formula(run.problem(), run.head, "scale · Q Kᵀ");
  std::string then;
  if (score.has_dropout()) {
    then = fmt::format("O = dropout(softmax S) V, p = {:g}", score.dropout.probability);
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

namespace {

using Value = std::optional<double>;

/// Whether all scores of the row are hidden; false if a problem is too large to show values.
bool sees_no_key(const RunInfo& run, Index query) {
  const ValueTile& scores = run.scores(Tensor::S).values;
  if (scores.values.empty() || query >= scores.rows) return false;
  const auto row = scores.values.begin() + query * scores.cols;
  return std::all_of(row, row + scores.cols, [](double score) {
    return score == -std::numeric_limits<double>::infinity();
  });
}

Value difference(const Value& a, const Value& b) {
  if (!a || !b) return std::nullopt;
  return *a - *b;
}

constexpr std::string_view kNoKeyYet = "no key seen yet";

/// exp(a - b) with its numbers; both are -inf if the row has no visible key so far.
std::string exponential(const Value& a, const Value& b) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  if (a == kNone && b == kNone) return std::string(kNoKeyYet);
  return with_numbers("exp({})", difference(a, b));
}

/// a / l with its numbers; l is 0 if the row has no visible key so far.
std::string quotient(const Value& a, const Value& l) {
  return a && l == 0.0 ? std::string(kNoKeyYet) : with_numbers("{} / {}", a, l);
}

SoftmaxTerm max_term(const SoftmaxRow& row, std::string formula) {
  return {"m", "m", std::move(formula), with_numbers("max({}, {})", row.m_prev, row.row_max),
          row.m_prev ? row.m : std::nullopt};
}

SoftmaxTerm alpha_term(const SoftmaxRow& row) {
  return {"alpha", "alpha", "exp(m_prev - m)", exponential(row.m_prev, row.m), row.alpha};
}

std::vector<SoftmaxTerm> divided_often_terms(const SoftmaxRow& row, const std::string& O) {
  return {
      max_term(row, "max(m_prev, m~)"),
      alpha_term(row),
      {"beta", "alpha", "exp(m~ - m)", exponential(row.row_max, row.m), row.beta},
      {"l", "l", "alpha·l + beta·l~",
       with_numbers("{}·{} + {}·{}", row.alpha, row.l_prev, row.beta, row.row_sum), row.l},
      {"l·" + O, "O", "alpha·l_prev·O + beta·P~ V",
       with_numbers("{}·{}·{} + {}", row.alpha, row.l_prev, row.O_prev, row.PV),
       row.undivided ? row.undivided : row.O},
      {O, "O", "l·O / l", quotient(row.undivided, row.l), row.undivided ? row.O : std::nullopt}};
}

/// O, or, after all keys are folded in, its division by l.
SoftmaxTerm output_term(const SoftmaxRow& row, const std::string& O, std::string formula) {
  if (row.undivided) {
    return {O, "O", "O / l", quotient(row.undivided, row.l), row.O};
  }
  return {O, "O", std::move(formula), with_numbers("{}·{} + {}", row.alpha, row.O_prev, row.PV),
          row.O};
}

std::vector<SoftmaxTerm> divided_once_terms(const SoftmaxRow& row, const std::string& O,
                                            bool drops) {
  return {max_term(row, "max(m_prev, rowmax S)"),
          alpha_term(row),
          {"l", "l", "alpha·l + rowsum P",
           with_numbers("{}·{} + {}", row.alpha, row.l_prev, row.row_sum), row.l},
          output_term(row, O, drops ? "alpha·O + dropout(P) V" : "alpha·O + P V")};
}

/// The terms of split_kv's combining launch, with the LSE of a split instead of a score.
std::vector<SoftmaxTerm> combine_terms(const SoftmaxRow& row, const std::string& O) {
  return {max_term(row, "max(m_prev, LSE^s)"),
          alpha_term(row),
          {"beta", "alpha", "exp(LSE^s - m)", exponential(row.row_max, row.m), row.beta},
          {"l", "l", "alpha·l + beta", with_numbers("{}·{} + {}", row.alpha, row.l_prev, row.beta),
           row.l},
          output_term(row, O, "alpha·O + beta·O^s")};
}

/// The terms for whole rows at once, without rescaling to a new maximum.
std::vector<SoftmaxTerm> whole_row_terms(const SoftmaxRow& row, const std::string& O, bool drops) {
  return {{"m", "m", "rowmax S", row.m ? "the whole row" : "", row.m},
          {"l", "l", "rowsum exp(S - m)", row.l ? "the whole row" : "", row.l},
          {O, "O", drops ? "O + dropout(P) V" : "O + P V",
           with_numbers("{} + {}", difference(row.O, row.PV), row.PV), row.O}};
}

// The backward pass: the numbers of one key

/// The value at a key; none if it is NaN in a run that is not broken: the consumer that has the key
/// has not computed it yet.
Value at(const std::vector<double>& row, std::size_t key, const RunInfo& run) {
  if (key >= row.size()) return std::nullopt;
  const bool is_computed = !std::isnan(row[key]) || run.resolved().asked.variant.broken.any();
  return is_computed ? Value(row[key]) : std::nullopt;
}

SoftmaxTerm score(const GradientRow& row, const RunInfo& run, std::size_t key) {
  const OpKind last = row.S.empty() ? OpKind::mask : row.S_by;
  return {"S",
          "S",
          score_formula(run.problem(), run.head, "scale · q · k", last),
          {},
          at(row.S, key, run),
          row.S};
}

SoftmaxTerm probability(const GradientRow& row, const RunInfo& run, std::size_t key) {
  SoftmaxTerm term{"P", "P", {}, {}, at(row.P, key, run), row.P};
  switch (run.algorithm->softmax) {
    case SoftmaxForm::whole_rows:
      term.formula = run.options.variant.checkpoint ? "softmax of S, run again"
                                                    : "as the forward pass stored it";
      break;
    case SoftmaxForm::divided_often:
      if (!row.P.empty() && row.P_by == OpKind::exp) {
        term.formula = "exp(S - m)";
        term.numbers = with_numbers("exp({} - {})", at(row.S, key, run), row.m);
      } else {
        term.formula = "exp(S - m) / l";
        term.numbers = with_numbers("exp({} - {}) / {}", at(row.S, key, run), row.m, row.l);
      }
      break;
    case SoftmaxForm::divided_once:
      term.formula = "exp(S - LSE)";
      term.numbers = with_numbers("exp({} - {})", at(row.S, key, run), row.LSE);
      break;
  }
  return term;
}

SoftmaxTerm probability_gradient(const GradientRow& row, const RunInfo& run, std::size_t key) {
  // If dropout is a separate launch, dP is loaded after dropout, beside P
  const bool came_dropped = row.dP_by == OpKind::load && drops_apart(run.options) && !row.P.empty();
  const bool plain = row.dP_by == OpKind::product_transposed || row.dP_by == OpKind::load;
  const bool drops =
      run.problem().score.has_dropout() && (row.dP.empty() || came_dropped || !plain);
  return {"dP", "dP", drops ? "dropout(dO · v)" : "dO · v", {}, at(row.dP, key, run), row.dP};
}

SoftmaxTerm score_gradient(const GradientRow& row, const RunInfo& run, std::size_t key) {
  const Value P = at(row.P, key, run);
  const Value dP = at(row.dP, key, run);
  SoftmaxTerm term{"dS", "dS", "P · (dP - D)", {}, at(row.dS, key, run), row.dS};
  // The result of the softmax gradient lacks the cap's slope; a reloaded dS includes it
  const bool sloped = row.dS.empty() || row.dS_by != OpKind::softmax_gradient;
  if (run.problem().score.soft_cap && sloped) {
    term.formula = "P · (dP - D) · T";
    term.numbers = with_numbers("{}·({} - {})·{}", P, dP, row.D, at(row.T, key, run));
  } else {
    term.numbers = with_numbers("{}·({} - {})", P, dP, row.D);
  }
  return term;
}

}  // namespace

std::string filled(std::string_view pattern, std::initializer_list<std::optional<double>> values) {
  std::string text;
  for (const std::optional<double>& value : values) {
    if (!value) return {};
    const std::size_t hole = pattern.find("{}");
    text += pattern.substr(0, hole);
    text += draw::format_value(*value);
    pattern.remove_prefix(hole + 2);
  }
  return text.append(pattern);
}

std::vector<SoftmaxTerm> softmax_terms(const SoftmaxRow& row, SoftmaxForm form, SplitRole splits,
                                       bool drops) {
  const std::string O = fmt::format("O[{}]", row.O_column);
  if (splits == SplitRole::folded) return combine_terms(row, O);
  if (form == SoftmaxForm::divided_often) return divided_often_terms(row, O);
  // Whole rows may also be swept in panels, and then the softmax is online
  const bool at_once = form == SoftmaxForm::whole_rows && !row.alpha && !row.m_prev;
  return at_once ? whole_row_terms(row, O, drops) : divided_once_terms(row, O, drops);
}

void mark_replaced(std::vector<SoftmaxTerm>& terms, const ReplacedOperand& replaced) {
  for (SoftmaxTerm& term : terms) {
    if (term.symbol != replaced.tensor) continue;
    term.formula = fmt::format("{}, not {}", replaced.value, term.formula);
    term.numbers.clear();
  }
}

bool folds_splits(const Snapshot& snapshot) {
  // Use the launch that processed the row last: the playhead may be in a later one
  const RunInfo& run = *snapshot.run;
  const Index step = snapshot.row_step >= 0 ? snapshot.row_step : snapshot.step;
  const auto past =
      std::ranges::upper_bound(run.launches, std::max<Index>(step, 0), {}, &StepSpan::begin);
  const auto launch = static_cast<std::size_t>(past - run.launches.begin() - 1);
  return run.pass.launches[launch].splits == SplitRole::folded;
}

std::string check_line(const Snapshot& snapshot, Index chosen) {
  const RunInfo& run = *snapshot.run;
  const SoftmaxRow& row = snapshot.softmax_row;
  if (sees_no_key(run, row.known ? row.query : chosen)) {
    return "this row sees no key: O = 0, LSE = -inf";
  }
  const bool whole_rows = run.algorithm->softmax == SoftmaxForm::whole_rows;
  if (!row.error && folds_splits(snapshot)) return "each split was checked when it was computed";
  if (!row.known && !whole_rows) return "no tile of keys has been processed yet";
  const Index Tc = run.grids[static_cast<std::size_t>(snapshot.launch)].Tc();
  const bool complete = !whole_rows || row.j + 1 == Tc;
  if (!row.error && row.O && complete) return "O was checked before it left the chip";
  if (!row.error && whole_rows) return "checked against the reference when O is complete";
  if (!row.error) return "checked against the reference once this tile is processed";
  const bool normalized = whole_rows || row.undivided;
  std::string text =
      fmt::format("{}: error {} against the reference of the {} keys seen so far",
                  normalized ? "O" : "O / l", draw::format_error(*row.error), row.keys_seen);
  const bool rounds =
      run.resolved().asked.round_to_storage &&
      !rounded_output_note(run.algorithm->name, run.options.variant.carry, run.problem().dtype)
           .empty();
  if (rounds) text += "; 16 bits between passes";
  return text;
}

std::size_t shown_key(const GradientRow& row) {
  const std::vector<double>& values = row.P.empty() ? row.S : row.P;
  const auto known = [](double value) {
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  const auto largest = std::ranges::max_element(values, {}, known);
  return static_cast<std::size_t>(largest - values.begin()) %
         std::max<std::size_t>(values.size(), 1);
}

std::vector<SoftmaxTerm> gradient_terms(const GradientRow& row, const RunInfo& run) {
  const bool whole_rows = run.algorithm->softmax == SoftmaxForm::whole_rows;
  const std::size_t key = shown_key(row);
  const std::string dQ = fmt::format("dQ[{}]", row.column);
  std::vector<SoftmaxTerm> terms;
  if (!whole_rows) terms.push_back(score(row, run, key));
  terms.push_back(probability(row, run, key));
  terms.push_back(probability_gradient(row, run, key));
  // Both sums are equal; rowsum(dO ∘ O) does not need the whole row of P
  terms.push_back({"D", "D", whole_rows ? "rowsum(P ∘ dP)" : "rowsum(dO ∘ O)", {}, row.D});
  terms.push_back(score_gradient(row, run, key));
  terms.push_back({dQ, "dQ", "dQ + scale · dS K",
                   row.dQ_prev ? with_numbers("{} + {}", row.dQ_prev, row.dQ_part)
                               : with_numbers("… + {}", row.dQ_part),
                   row.dQ});
  return terms;
}

}  // namespace attnscope::app
