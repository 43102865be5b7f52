#include <fmt/format.h>

#include <algorithm>
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

/// Numbers worth trying instead of `wanted`, the nearest first: the ends of its range, the next
/// multiples of 16 below it, powers of two, and the value that was valid before.
std::vector<Index> candidates_for(Index wanted, Index last_valid) {
  std::vector<Index> candidates{last_valid};
  for (Index value = 1; value <= kMaxSequenceLength; value *= 2) candidates.push_back(value);
  const Index top = std::min<Index>(wanted, 512) / 16 * 16;
  for (Index value = top; value >= 16; value -= 16) candidates.push_back(value);
  const auto distance = [&](Index value) {
    return value < wanted ? wanted - value : value - wanted;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](Index a, Index b) { return distance(a) < distance(b); });
  return candidates;
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
  const bool square = field == "N" && choice.problem.N == choice.problem.N_kv;
  for (const Index candidate : candidates_for(*number, *number_of(before, field))) {
    *number = candidate;
    if (square) nearest.problem.N_kv = candidate;
    if (check_choice(nearest)) continue;
    refused.nearest = nearest;
    refused.nearest_label = fmt::format("{} = {}", field, candidate);
    break;
  }
  return refused;
}

}  // namespace attnscope::app
