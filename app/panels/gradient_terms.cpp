#include "app/panels/gradient_terms.h"

#include <fmt/core.h>

#include <algorithm>

namespace attnscope::app {

namespace {

using Value = std::optional<double>;

Value at(const std::vector<double>& row, std::size_t key) {
  return key < row.size() ? Value(row[key]) : std::nullopt;
}

/// "rowsum(dO ∘ O)", which equals the row sum of P ∘ dP.
std::string_view row_sum_formula(std::string_view algorithm) {
  return algorithm == "standard" ? "rowsum(P ∘ dP)" : "rowsum(dO ∘ O)";
}

SoftmaxTerm probability(const GradientRow& row, std::string_view algorithm, std::size_t key) {
  SoftmaxTerm term{"P", "P", {}, {}, at(row.P, key), row.P};
  if (algorithm == "standard") {
    term.formula = "as the forward pass stored it";
  } else if (algorithm != "flash1" && algorithm != "block_sparse") {
    term.formula = "exp(S - LSE)";
    term.numbers = with_numbers("exp({} - {})", at(row.S, key), row.LSE);
  } else {
    term.formula = "exp(S - m) / l";
    term.numbers = with_numbers("exp({} - {}) / {}", at(row.S, key), row.m, row.l);
  }
  return term;
}

}  // namespace

std::size_t shown_key(const GradientRow& row) {
  const std::vector<double>& values = row.P.empty() ? row.S : row.P;
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin()) %
         std::max<std::size_t>(values.size(), 1);
}

std::vector<SoftmaxTerm> gradient_terms(const GradientRow& row, std::string_view algorithm) {
  const std::size_t key = shown_key(row);
  const std::string dQ = fmt::format("dQ[{}]", row.column);
  std::vector<SoftmaxTerm> terms;
  if (algorithm != "standard") {
    terms.push_back({"S", "S", "scale · q · k", {}, at(row.S, key), row.S});
  }
  terms.push_back(probability(row, algorithm, key));
  terms.push_back({"dP", "dP", "dO · v", {}, at(row.dP, key), row.dP});
  terms.push_back({"D", "D", std::string(row_sum_formula(algorithm)), {}, row.D, {}});
  terms.push_back({"dS", "dS", "P · (dP - D)",
                   with_numbers("{}·({} - {})", at(row.P, key), at(row.dP, key), row.D),
                   at(row.dS, key), row.dS});
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
