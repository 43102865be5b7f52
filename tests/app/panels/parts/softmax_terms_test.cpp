/// What panels show about the scores and their gradients: formulas in the algorithm's order, and
/// numbers that satisfy them.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "app/panels/parts/snapshot_view.h"
#include "app/panels/parts/softmax_terms.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

SampleRequest shaped_request(std::string algorithm, PassKind pass) {
  SampleRequest request;
  request.algorithm = std::move(algorithm);
  request.pass = pass;
  request.problem.mask = Mask::causal();
  request.problem.score.soft_cap = 1.5;
  request.problem.score.alibi_slopes = {0.25};
  request.problem.score.dropout = {.probability = 0.25, .seed = 7};
  return request;
}

TEST(ScoreFormula, HasTheStepsOfTheProblemInTheAlgorithmsOrder) {
  AttentionProblem problem{.N = 64, .N_kv = 64, .d = 16, .dtype = DType::fp16, .mask = {}};
  EXPECT_EQ(score_formula(problem, 0, "x"), "x");
  problem.mask = Mask::causal();
  EXPECT_EQ(score_formula(problem, 0, "x"), "mask(x)");
  problem.score.soft_cap = 5.0;
  problem.score.alibi_slopes = {0.5};
  EXPECT_EQ(score_formula(problem, 0, "x"), "mask(5 · tanh(x / 5) - 0.5 · |k - q|)");
  EXPECT_EQ(score_formula(problem, 0, "x", OpKind::scores), "x");
  EXPECT_EQ(score_formula(problem, 0, "x", OpKind::soft_cap), "5 · tanh(x / 5)");
  EXPECT_EQ(score_formula(problem, 0, "x", OpKind::alibi), "5 · tanh(x / 5) - 0.5 · |k - q|");
  problem.N_kv = 96;
  EXPECT_EQ(score_formula(problem, 0, "x", OpKind::alibi), "5 · tanh(x / 5) - 0.5 · |k - q - 32|");
}

TEST(ScoreFormula, HeadsThePanelWithDropoutAndWithTheLaunchThatComputedS) {
  const auto run = test::sample_run(shaped_request("flash2", PassKind::forward));
  const auto headline = scores_headline(run->at(20), Tensor::S);
  ASSERT_EQ(headline.size(), 2U);
  EXPECT_EQ(headline[0], "S = mask(1.5 · tanh(scale · Q Kᵀ / 1.5) - 0.25 · |k - q|)");
  EXPECT_EQ(headline[1], "O = dropout(softmax S) V, p = 0.25");

  SampleRequest request;
  request.algorithm = "split_kv";
  const auto split = test::sample_run(request);
  EXPECT_EQ(scores_headline(split->at(0), Tensor::S).front(), "S = scale · Q Kᵀ");
  EXPECT_EQ(scores_headline(split->at(split->info()->step_count - 1), Tensor::S).front(),
            "S = scale · Q Kᵀ, of launch 1: each split alone");
}

TEST(ScoreFormula, OfEachTensorHeadsThePanelThatShowsIt) {
  const auto run = test::sample_run(shaped_request("flash2", PassKind::backward));
  const Snapshot snapshot = run->at(20);
  EXPECT_EQ(scores_headline(snapshot, Tensor::P), std::vector<std::string>{"P = softmax S"});
  EXPECT_EQ(scores_headline(snapshot, Tensor::dP).front(), "dP = dropout(dO Vᵀ)");
  EXPECT_EQ(scores_headline(snapshot, Tensor::dS).front(), "dS = P ∘ (dP - D) ∘ T");
}

/// The state of S in HBM at the second-to-last step of each launch.
std::vector<StoredScores> stored_by_launch(const SampleRequest& request) {
  const auto run = test::sample_run(request);
  std::vector<StoredScores> states;
  for (const StepSpan& launch : run->info()->launches) {
    states.push_back(stored_scores(run->at(launch.end - 2)));
  }
  return states;
}

TEST(StoredScores, BecomeFinalWithTheLaunchThatMakesThemSo) {
  using enum StoredScores;
  SampleRequest request;
  request.algorithm = "standard";
  EXPECT_EQ(stored_by_launch(request), (std::vector{final_values, final_values, final_values}));
  request.problem.mask = Mask::causal();
  EXPECT_EQ(stored_by_launch(request), (std::vector{unmasked, final_values, final_values}));
  request.variant.fusion = Fusion::separate;
  EXPECT_EQ(stored_by_launch(request),
            (std::vector{unfinished, unfinished, unmasked, final_values, final_values}));
  const auto run = test::sample_run(request);
  const auto& launches = run->info()->launches;
  EXPECT_EQ(stored_scores(run->at(launches[1].end - 1)), unmasked);
  EXPECT_EQ(stored_scores(run->at(launches[2].end - 1)), final_values);
  EXPECT_EQ(scores_headline(run->at(launches[1].begin), Tensor::S).front(),
            "S becomes mask(scale · Q Kᵀ)");

  SampleRequest capped;
  capped.algorithm = "standard";
  capped.problem.score.soft_cap = 2.0;
  EXPECT_EQ(stored_by_launch(capped), (std::vector{unfinished, final_values, final_values}));
  capped.algorithm = "flash2";
  EXPECT_EQ(stored_by_launch(capped), std::vector{final_values});
}

TEST(StoredScores, OfABackwardPassAreTheForwardPassesUnlessItRunsAgain) {
  using enum StoredScores;
  SampleRequest request;
  request.algorithm = "standard";
  request.pass = PassKind::backward;
  request.problem.mask = Mask::causal();
  for (const StoredScores state : stored_by_launch(request)) EXPECT_EQ(state, final_values);
  request.variant.checkpoint = true;
  EXPECT_EQ(stored_by_launch(request).front(), unmasked);
}

TEST(CheckLine, SaysThatARowSeesNoKey) {
  SampleRequest request;
  request.problem.N = 70;
  request.problem.N_kv = 50;
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  EXPECT_EQ(check_line(run->at(5, 15), 15), "this row sees no key: O = 0, LSE = -inf");
  EXPECT_EQ(check_line(run->at(5, 37), 37), "no tile of keys has been processed yet");
}

TEST(CheckLine, KeepsTheErrorWhenOHasLeftTheChip) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    const auto run = test::sample_run({algorithm});
    const std::string line = check_line(run->at(run->info()->step_count - 1, 37), 37);
    EXPECT_TRUE(line.starts_with("O: error ")) << line;
    EXPECT_NE(line.find(" against the reference of the 64 keys seen so far"), std::string::npos)
        << line;
  }
}

TEST(SoftmaxTerms, SayWhatABrokenRunHasInPlaceOfAStatistic) {
  SoftmaxRow row;
  row.m_prev = 1.0;
  row.m = 2.0;
  row.alpha = 1.0;
  auto terms = softmax_terms(row, SoftmaxForm::divided_once);
  const auto before = terms;
  mark_replaced(terms, {"alpha", 1});
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const bool is_alpha = terms[k].symbol == "alpha";
    EXPECT_EQ(terms[k].formula, is_alpha ? "1, not exp(m_prev - m)" : before[k].formula);
    EXPECT_EQ(terms[k].numbers, is_alpha ? "" : before[k].numbers);
  }
}

TEST(SoftmaxTerms, SayThatARowHasSeenNoKeyYet) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  SoftmaxRow row;
  row.m_prev = row.row_max = row.m = kNone;
  row.alpha = 1.0;
  row.beta = row.l_prev = row.row_sum = row.l = row.O_prev = row.PV = row.undivided = row.O = 0.0;
  for (const SoftmaxTerm& term : softmax_terms(row, SoftmaxForm::divided_often)) {
    EXPECT_EQ(term.numbers.find("undefined"), std::string::npos) << term.symbol;
    EXPECT_EQ(term.numbers.find("/ 0"), std::string::npos) << term.symbol;
    if (term.symbol == "beta") {
      EXPECT_EQ(term.numbers, "no key seen yet");
    }
  }
}

TEST(GradientTerms, HoldAsEquationsAtEveryStepOfEveryForm) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    const auto run = test::sample_run(shaped_request(algorithm, PassKind::backward));
    int plain = 0;
    int sloped = 0;
    for (Index step = 0; step < run->info()->step_count; ++step) {
      const Snapshot snapshot = run->at(step, 37, 3);
      const GradientRow& row = snapshot.gradient_row;
      if (row.dS.empty() || row.P.empty() || row.dP.empty() || !row.D) continue;
      const auto terms = gradient_terms(row, *run->info());
      const std::string& formula = terms[terms.size() - 2].formula;
      const bool has_slope = formula == "P · (dP - D) · T";
      ASSERT_EQ(has_slope, row.dS_by == OpKind::multiply) << algorithm << step;
      const std::size_t key = shown_key(row);
      const double slope = has_slope ? row.T.at(key) : 1.0;
      EXPECT_NEAR(row.dS[key], row.P[key] * (row.dP[key] - *row.D) * slope, 1e-9)
          << algorithm << step;
      ++(has_slope ? sloped : plain);
    }
    EXPECT_GE(plain, 3) << algorithm;  // one for each column tile that the row sees
    EXPECT_GE(sloped, 3) << algorithm;
  }
}

TEST(GradientTerms, LackTheKeysThatAConsumerHasNotComputed) {
  const auto run = test::sample_run(test::agents_request(PassKind::backward));
  int lacking = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const GradientRow row = run->at(step, 37).gradient_row;
    for (const SoftmaxTerm& term : gradient_terms(row, *run->info())) {
      EXPECT_FALSE(term.result && std::isnan(*term.result)) << term.symbol << " at " << step;
      const bool strip = std::ranges::any_of(term.strip, [](double x) { return std::isnan(x); });
      lacking += strip ? 1 : 0;
    }
  }
  EXPECT_GT(lacking, 0);
}

TEST(GradientTerms, NameTheSlopeOfADsThatComesBackFromHbm) {
  const auto run = test::sample_run(shaped_request("standard", PassKind::backward));
  int loaded = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    const GradientRow& row = snapshot.gradient_row;
    if (row.dS.empty() || row.dS_by != OpKind::load) continue;
    ++loaded;
    const auto terms = gradient_terms(row, *run->info());
    ASSERT_EQ(terms[terms.size() - 2].formula, "P · (dP - D) · T") << step;
  }
  EXPECT_GT(loaded, 0);
}

TEST(GradientTerms, SayWhetherDpIsDroppedIfDroppingIsASeparateLaunch) {
  SampleRequest request;
  request.algorithm = "standard";
  request.pass = PassKind::backward;
  request.problem.score.dropout = {.probability = 0.25, .seed = 7};
  request.variant.fusion = Fusion::separate;
  const auto run = test::sample_run(request);
  int dropped = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    const GradientRow& row = snapshot.gradient_row;
    if (row.dP.empty() || !row.dS.empty()) continue;
    const bool has_zeros = std::ranges::count(row.dP, 0.0) > 0;
    const auto terms = gradient_terms(row, *run->info());
    EXPECT_EQ(terms[1].formula == "dropout(dO · v)", has_zeros) << step;
    dropped += has_zeros ? 1 : 0;
  }
  EXPECT_GT(dropped, 3);
}

TEST(GradientTerms, ShowTheStepsOfTheScoreSoFar) {
  const auto run = test::sample_run(shaped_request("flash2", PassKind::backward));
  int checked = 0;
  for (Index step = 0; step < run->info()->step_count; ++step) {
    const Snapshot snapshot = run->at(step, 37, 3);
    if (snapshot.row_step != step) continue;
    const std::string formula = gradient_terms(snapshot.gradient_row, *run->info())[0].formula;
    if (snapshot.op.kind == OpKind::scores) {
      EXPECT_EQ(formula, "scale · q · k") << step;
    }
    if (snapshot.op.kind == OpKind::soft_cap) {
      EXPECT_EQ(formula, "1.5 · tanh(scale · q · k / 1.5)") << step;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 3) << "the column tiles that the row sees";
}

TEST(Slots, HaveUniqueNamesInEveryLaunch) {
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    for (const char* algorithm : {"standard", "flash1", "flash2", "split_kv"}) {
      if (pass == PassKind::backward && algorithm == std::string_view("split_kv")) continue;
      for (const Carry carry : {Carry::problem, Carry::fp32}) {
        SampleRequest request;
        request.algorithm = algorithm;
        request.pass = pass;
        request.variant.carry = algorithm == std::string_view("flash1") ? carry : Carry::problem;
        const auto run = test::sample_run(request);
        for (const StepSpan& launch : run->info()->launches) {
          const Snapshot snapshot = run->at(launch.begin, 37, 3);
          std::vector<std::string> names;
          for (const SlotState& slot : snapshot.slots) {
            const draw::Symbol name = empty_symbol_of(slot.tensor);
            names.push_back(name.base + "_" + name.subscript + "^" + name.superscript);
          }
          std::ranges::sort(names);
          EXPECT_EQ(std::ranges::adjacent_find(names), names.end())
              << algorithm << " " << launch.label;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::app
