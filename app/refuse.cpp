#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "app/app.h"
#include "app/step_simulator.h"

namespace attnscope::app {

namespace {

/// The number that a field of the top bar stands for; nullptr for fields that are not numbers.
Index* number_of(Choice& choice, const std::string& field) {
  if (field == "N") return &choice.problem.N;
  if (field == "N_kv") return &choice.problem.N_kv;
  if (field == "d") return &choice.problem.d;
  if (field == "Br") return &choice.tiling.Br;
  if (field == "Bc") return &choice.tiling.Bc;
  if (field == "batch") return &choice.problem.batch;
  if (field == "heads") return &choice.problem.heads;
  if (field == "kv_heads") return &choice.problem.kv_heads;
  return nullptr;
}

/// Counts of heads divide each other: every number near the wanted one is tried. Other numbers fit
/// or do not from some size on: a few are tried, and then the border is searched.
bool tries_every_number(const std::string& field) {
  return field == "heads" || field == "kv_heads";
}

/// Numbers to try instead of `wanted`, the nearest first.
std::vector<Index> candidates_for(const std::string& field, Index wanted, Index last_valid) {
  constexpr Index kFarthest = 4096;
  std::vector<Index> candidates{last_valid};
  for (Index value = 1; value <= kMaxSequenceLength; value *= 2) candidates.push_back(value);
  if (tries_every_number(field)) {
    const Index middle = std::clamp<Index>(wanted, 1, kMaxSequenceLength);
    for (Index k = 1; k <= kFarthest; ++k) {
      candidates.push_back(middle + k);
      if (middle > k) candidates.push_back(middle - k);
    }
  }
  const auto distance = [&](Index value) {
    return value < wanted ? wanted - value : value - wanted;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](Index a, Index b) { return distance(a) < distance(b); });
  return candidates;
}

/// The number nearest to `wrong` that works, where everything from it to `right` works.
template <typename Works>
Index border(Index right, Index wrong, const Works& works) {
  while (std::abs(wrong - right) > 1) {
    const Index middle = right + (wrong - right) / 2;
    (works(middle) ? right : wrong) = middle;
  }
  return right;
}

}  // namespace

std::optional<RefusedChoice> refuse(const Choice& choice, const std::string& field,
                                    const Choice& last_valid) {
  const auto error = check_choice(choice);
  if (!error) return std::nullopt;
  RefusedChoice refused{choice, field, error->message, std::nullopt, {}};

  Choice nearest = choice;
  Choice before = last_valid;
  Index* number = number_of(nearest, field);
  if (number == nullptr) return refused;
  const Index wanted = *number;
  const bool square = field == "N" && choice.problem.N == choice.problem.N_kv;
  const auto works = [&](Index value) {
    *number = value;
    if (square) nearest.problem.N_kv = value;
    return !check_choice(nearest);
  };
  for (const Index candidate : candidates_for(field, wanted, *number_of(before, field))) {
    if (!works(candidate)) continue;
    const Index best = tries_every_number(field) ? candidate : border(candidate, wanted, works);
    works(best);
    refused.nearest = nearest;
    refused.nearest_label = fmt::format("{} = {}", field, best);
    break;
  }
  return refused;
}

}  // namespace attnscope::app
