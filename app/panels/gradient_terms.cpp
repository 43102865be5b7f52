#include "app/panels/gradient_terms.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/panels/score_formula.h"
#include "sim/schedule/elementwise.h"

namespace attnscope::app {

namespace {

using Value = std::optional<double>;

Value at(const std::vector<double>& row, std::size_t key) {
  return key < row.size() ? Value(row[key]) : std::nullopt;
}

SoftmaxTerm score(const GradientRow& row, const RunInfo& run, std::size_t key) {
  const OpKind last = row.S.empty() ? OpKind::mask : row.S_by;
  return {
      "S",  "S", score_formula(run.problem(), run.head, "scale · q · k", last), {}, at(row.S, key),
      row.S};
}

SoftmaxTerm probability(const GradientRow& row, const RunInfo& run, std::size_t key) {
  SoftmaxTerm term{"P", "P", {}, {}, at(row.P, key), row.P};
  switch (run.algorithm->softmax) {
    case SoftmaxForm::whole_rows:
      term.formula = run.options.variant.checkpoint ? "softmax of S, run again"
                                                    : "as the forward pass stored it";
      break;
    case SoftmaxForm::divided_often:
      if (!row.P.empty() && row.P_by == OpKind::exp) {
        term.formula = "exp(S - m)";
        term.numbers = with_numbers("exp({} - {})", at(row.S, key), row.m);
      } else {
        term.formula = "exp(S - m) / l";
        term.numbers = with_numbers("exp({} - {}) / {}", at(row.S, key), row.m, row.l);
      }
      break;
    case SoftmaxForm::divided_once:
      term.formula = "exp(S - LSE)";
      term.numbers = with_numbers("exp({} - {})", at(row.S, key), row.LSE);
      break;
  }
  return term;
}

SoftmaxTerm probability_gradient(const GradientRow& row, const RunInfo& run, std::size_t key) {
  // Where dropping is a launch of its own, dP comes back dropped, beside P
  const bool came_dropped = row.dP_by == OpKind::load && drops_apart(run.options) && !row.P.empty();
  const bool plain = row.dP_by == OpKind::product_transposed || row.dP_by == OpKind::load;
  const bool drops =
      run.problem().score.has_dropout() && (row.dP.empty() || came_dropped || !plain);
  return {"dP", "dP", drops ? "dropout(dO · v)" : "dO · v", {}, at(row.dP, key), row.dP};
}

SoftmaxTerm score_gradient(const GradientRow& row, const RunInfo& run, std::size_t key) {
  const Value P = at(row.P, key);
  const Value dP = at(row.dP, key);
  SoftmaxTerm term{"dS", "dS", "P · (dP - D)", {}, at(row.dS, key), row.dS};
  // The softmax's gradient alone has no slope yet; what is loaded again has it
  const bool sloped = row.dS.empty() || row.dS_by != OpKind::softmax_gradient;
  if (run.problem().score.soft_cap && sloped) {
    term.formula = "P · (dP - D) · T";
    term.numbers = with_numbers("{}·({} - {})·{}", P, dP, row.D, at(row.T, key));
  } else {
    term.numbers = with_numbers("{}·({} - {})", P, dP, row.D);
  }
  return term;
}

}  // namespace

std::size_t shown_key(const GradientRow& row) {
  const std::vector<double>& values = row.P.empty() ? row.S : row.P;
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin()) %
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
  // Both are the same number: rowsum(dO ∘ O) needs no whole row of P
  terms.push_back({"D", "D", whole_rows ? "rowsum(P ∘ dP)" : "rowsum(dO ∘ O)", {}, row.D, {}});
  terms.push_back(score_gradient(row, run, key));
  terms.push_back({dQ,
                   "dQ",
                   "dQ + scale · dS K",
                   row.dQ_prev ? with_numbers("{} + {}", row.dQ_prev, row.dQ_part)
                               : with_numbers("… + {}", row.dQ_part),
                   row.dQ,
                   {}});
  return terms;
}

}  // namespace attnscope::app
