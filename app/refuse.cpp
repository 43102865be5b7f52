#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "app/app.h"
#include "app/choice_rules.h"
#include "app/choice_text.h"
#include "app/own_inputs.h"
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

/// The number that the message calls out of range, "N is 0; it must lie between ..."; else the one
/// that was edited.
std::string field_to_blame(const std::string& message, const std::string& edited, Choice choice) {
  const std::string first = message.substr(0, message.find(' '));
  const bool out_of_range = message.find("; it must lie between") != std::string::npos;
  return out_of_range && number_of(choice, first) != nullptr ? first : edited;
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

/// Another choice that may work, and what it is called.
struct Repair {
  std::string label;
  Choice choice;
};

/// The value of the field's own that lies nearest to what was asked for.
void add_own_repairs(const Choice& choice, const std::string& field, std::vector<Repair>& repairs) {
  const auto add = [&](std::string label, auto&& change) {
    Repair repair{std::move(label), choice};
    change(repair.choice);
    if (!(repair.choice == choice)) repairs.push_back(std::move(repair));
  };
  const AttentionProblem& problem = choice.problem;
  if (field == "splits") {
    const Index most = ceil_div(problem.N_kv, std::max<Index>(choice.tiling.Bc, 1));
    const Index splits = std::clamp<Index>(choice.splits, 1, most);
    add(fmt::format("splits = {}", splits), [&](Choice& c) { c.splits = splits; });
  }
  if (field == "dropout") {
    const double p = std::clamp(problem.score.dropout.probability, 0.0, 0.99);
    add(fmt::format("dropout = {:g}", p),
        [&](Choice& c) { c.problem.score.dropout.probability = p; });
  }
  if (field == "softcap") {
    add("soft-capping off", [](Choice& c) { c.problem.score.soft_cap.reset(); });
  }
  if (field == "key_lengths") {
    std::vector<Index> lengths = problem.key_lengths;
    lengths.resize(static_cast<std::size_t>(std::clamp<Index>(problem.batch, 1, kMaxHeads)),
                   lengths.empty() ? problem.N_kv : lengths.back());
    for (Index& length : lengths) length = std::clamp<Index>(length, 0, problem.N_kv);
    add("valid keys = " + list_text(lengths), [&](Choice& c) { c.problem.key_lengths = lengths; });
  }
  if (field == "sequences" || field == "key_sequences") {
    add("nearest ends", [](Choice& c) {
      c.problem.cu_seqlens_q = nearest_ends(c.problem.cu_seqlens_q, c.problem.N);
      c.problem.cu_seqlens_k = nearest_ends(c.problem.cu_seqlens_k, c.problem.N_kv);
      if (c.problem.cu_seqlens_k.size() != c.problem.cu_seqlens_q.size()) {
        c.problem.cu_seqlens_k = packed_ends(c.problem.sequence_count(), c.problem.N_kv);
      }
    });
    if (!repairs.empty()) {
      const AttentionProblem& packed = repairs.back().choice.problem;
      repairs.back().label = field == "sequences"
                                 ? "sequences = " + list_text(packed.cu_seqlens_q)
                                 : "key sequences = " + list_text(packed.cu_seqlens_k);
    }
  }
  if (choice.files.any()) {
    if (const Result<Choice> sized = with_sizes_of_files(choice)) {
      add("the sizes of the files", [&](Choice& c) { c = sized.value(); });
    }
  }
  for (const auto& [name, path] :
       {std::pair{"q", &InputFiles::Q}, std::pair{"k", &InputFiles::K},
        std::pair{"v", &InputFiles::V}, std::pair{"do", &InputFiles::dO}}) {
    if (field != name) continue;
    add(fmt::format("{} = generated", name), [file = path](Choice& c) { (c.files.*file).clear(); });
  }
}

/// What else may stand in the way of the choice, one at a time.
std::vector<Repair> repairs_of(const Choice& choice, const std::string& field) {
  std::vector<Repair> repairs;
  add_own_repairs(choice, field, repairs);
  const auto add = [&](std::string label, auto&& change) {
    Repair repair{std::move(label), choice};
    change(repair.choice);
    if (!(repair.choice == choice)) repairs.push_back(std::move(repair));
  };
  if (field != "pass") add("pass = forward", [](Choice& c) { c.pass = "forward"; });
  for (const std::string_view algorithm : {"flash2", "block_sparse2"}) {
    if (field == "algorithm") break;
    add(fmt::format("algorithm = {}", algorithm), [&](Choice& c) {
      c.algorithm = algorithm;
      c = with_consequences(choice, std::move(c));
    });
  }
  if (const auto tiling = largest_tiling_of(choice)) {
    add(fmt::format("Br = {}, Bc = {}", tiling->Br, tiling->Bc),
        [&](Choice& c) { c.tiling = *tiling; });
  }
  add("fusion = rows", [](Choice& c) { c.variant.fusion = Fusion::rows; });
  add("the algorithm as it is", [](Choice& c) { c.variant = {}; });
  add("one sequence", [](Choice& c) {
    c.problem.cu_seqlens_q.clear();
    c.problem.cu_seqlens_k.clear();
  });
  add("all keys valid", [](Choice& c) { c.problem.key_lengths.clear(); });
  add("mask = none", [](Choice& c) { c.problem.mask = Mask::none(); });
  add("block mask = butterfly", [](Choice& c) {
    if (c.block_mask) c.block_mask = BlockPattern{};
  });
  add("splits = by rule", [](Choice& c) { c.splits = 0; });
  add("SRAM = the GPU's", [](Choice& c) { c.sram_bytes = 0; });
  add("generated inputs", [](Choice& c) { c.files = {}; });
  return repairs;
}

/// The first repair after which the choice can work.
void find_repair(RefusedChoice& refused) {
  for (Repair& repair : repairs_of(refused.choice, refused.field)) {
    if (check_choice(repair.choice)) continue;
    refused.nearest = std::move(repair.choice);
    refused.nearest_label = std::move(repair.label);
    return;
  }
}

}  // namespace

std::optional<RefusedChoice> refuse(const Choice& choice, const std::string& edited,
                                    const Choice& last_valid) {
  const auto error = check_choice(choice);
  if (!error) return std::nullopt;
  const std::string field = field_to_blame(error->message, edited, choice);
  RefusedChoice refused{choice, field, error->message, std::nullopt, {}, {}};

  Choice nearest = choice;
  Choice before = last_valid;
  Index* number = number_of(nearest, field);
  if (number == nullptr) {
    find_repair(refused);
    return refused;
  }
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
    return refused;
  }
  find_repair(refused);
  return refused;
}

}  // namespace attnscope::app
