#include "app/jobs/refuse.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "app/scene/choice_rules.h"
#include "app/scene/field_options.h"
#include "app/scene/scene.h"
#include "reference/field_rules.h"

namespace attnscope::app {

namespace {

/// Whether to try every number near the wanted one, because head counts must divide one another.
/// Other numbers are valid up to or from some limit: a few are tried, then a search finds the
/// limit.
bool tries_every_number(const RunField& field) {
  return field.key == "heads" || field.key == "kv_heads";
}

/// Numbers of the field to try instead of `wanted`, the nearest first.
std::vector<Index> candidates_for(const RunField& field, Index wanted, Index last_valid) {
  constexpr Index kFarthest = 4096;
  std::vector<Index> candidates{last_valid};
  for (Index value = 1; value < field.max; value *= 2) candidates.push_back(value);
  candidates.push_back(field.max);
  if (tries_every_number(field)) {
    const Index middle = std::clamp(wanted, field.min, field.max);
    for (Index k = 1; k <= kFarthest; ++k) {
      candidates.push_back(middle + k);
      candidates.push_back(middle - k);
    }
  }
  std::erase_if(candidates, [&](Index value) { return value < field.min || value > field.max; });
  const Index near = std::clamp<Index>(wanted, -(Index{1} << 62), Index{1} << 62);
  std::ranges::stable_sort(candidates, {}, [&](Index value) { return std::abs(value - near); });
  return candidates;
}

/// Tries other choices until one is valid.
class Search {
 public:
  Search(const RunSpec& choice, const RunSpec& last_valid, GpuCatalog& gpus,
         const WorkControl& control)
      : choice_(choice), last_valid_(last_valid), gpus_(gpus), control_(control) {}

  bool works(const RunSpec& choice) const {
    return !control_.cancelled() && !check_choice(choice, gpus_);
  }
  /// The choice with a different value of one field, if it is valid.
  std::optional<RunSpec> with(const RunField& field, const std::string& text) const {
    auto changed = change_field(choice_, field.key, text);
    if (!changed || changed.value() == choice_ || !works(changed.value())) return std::nullopt;
    return std::move(changed).value();
  }

  /// The take functions keep a choice as the nearest one if it is valid, and return whether it is.
  bool take(const RunSpec& choice, std::string label) {
    if (choice == choice_ || !works(choice)) return false;
    nearest_ = choice;
    label_ = std::move(label);
    return true;
  }
  bool take(const RunField& field, const std::string& text) {
    auto choice = with(field, text);
    if (!choice) return false;
    nearest_ = std::move(choice);
    label_ = fmt::format("{} = {}", field.label, text.empty() ? unset_word(field) : text);
    return true;
  }
  bool take_default(const RunField& field) {
    const bool is_size = field.kind == FieldKind::whole && !can_be_unset(field);
    return !is_size && take(field, field.print(RunSpec{}));
  }
  bool take_last_valid(const RunField& field) { return take(field, field.print(last_valid_)); }

  bool take_number(const RunField& field);
  bool take_own_repair(const RunField& field);
  bool take_tiling();
  bool take_any_default();

  void put_into(Refusal& refusal) && {
    refusal.nearest = std::move(nearest_);
    refusal.nearest_label = std::move(label_);
  }

 private:
  const RunSpec& choice_;
  const RunSpec& last_valid_;
  GpuCatalog& gpus_;
  const WorkControl& control_;
  std::optional<RunSpec> nearest_;
  std::string label_;
};

/// Tries the nearest valid whole number.
bool Search::take_number(const RunField& field) {
  const std::string text = field.print(choice_);
  if (field.kind != FieldKind::whole || text.empty()) return false;
  const Index wanted = std::stoll(text);
  const std::string before = field.print(last_valid_);
  const auto text_of = [](Index value) { return fmt::format("{}", value); };
  for (const Index candidate :
       candidates_for(field, wanted, before.empty() ? 1 : std::stoll(before))) {
    if (!with(field, text_of(candidate))) continue;
    Index right = candidate;
    for (Index wrong = wanted; !tries_every_number(field) && std::abs(wrong - right) > 1;) {
      const Index middle = right + (wrong - right) / 2;
      (with(field, text_of(middle)) ? right : wrong) = middle;
    }
    return take(field, text_of(right));
  }
  return false;
}

/// Tries the nearest valid value of a field with its own grammar.
bool Search::take_own_repair(const RunField& field) {
  const AttentionProblem& problem = choice_.problem;
  RunSpec repaired = choice_;
  if (field.key == "dropout") return take(field, "0.99");
  if (field.key == "key_lengths") {
    std::vector<Index>& lengths = repaired.problem.key_lengths;
    lengths.resize(static_cast<std::size_t>(std::clamp<Index>(problem.batch, 1, kMaxHeads)),
                   lengths.empty() ? problem.N_kv : lengths.back());
    for (Index& length : lengths) length = std::clamp<Index>(length, 0, problem.N_kv);
  } else if (field.key.starts_with("cu_seqlens")) {
    AttentionProblem& packed = repaired.problem;
    packed.cu_seqlens_q = nearest_ends(packed.cu_seqlens_q, packed.N);
    packed.cu_seqlens_k = nearest_ends(packed.cu_seqlens_k, packed.N_kv);
    if (packed.cu_seqlens_k.size() != packed.cu_seqlens_q.size()) {
      packed.cu_seqlens_k = packed_ends(packed.sequence_count(), packed.N_kv);
    }
  } else {
    return false;
  }
  return take(repaired, fmt::format("{} = {}", field.label, field.print(repaired)));
}

bool Search::take_tiling() {
  if (control_.cancelled()) return false;
  const auto tiling = tiling_of_rule(choice_, TilingRule::largest, gpus_);
  if (!tiling) return false;
  RunSpec tiled = choice_;
  tiled.set_tiling(*tiling);
  return take(tiled, fmt::format("Br = {}, Bc = {}", tiling->Br, tiling->Bc));
}

/// Tries the default of every other field, one at a time.
bool Search::take_any_default() {
  for (const RunField& field : run_fields()) {
    if (field.key != "algorithm" && take_default(field)) return true;
  }
  for (const char* algorithm : {"flash2", "block_sparse2"}) {
    if (take(run_field("algorithm"), algorithm)) return true;
  }
  RunSpec generated = choice_;
  generated.files = {};
  return take(generated, "generated inputs");
}

/// The field to blame: the field whose change must be undone, if undoing one change is enough; else
/// the error's field.
const RunField* field_to_blame(const Search& search, const RunSpec& choice, const Error& error,
                               const RunSpec& last_valid) {
  const RunField* first_changed = nullptr;
  for (const RunField& field : run_fields()) {
    const std::string before = field.print(last_valid);
    if (field.print(choice) == before) continue;
    if (first_changed == nullptr) first_changed = &field;
    if (search.with(field, before)) return &field;
  }
  const RunField* named = find_field(error.field);
  return named != nullptr ? named : first_changed;
}

}  // namespace

Refusal refuse(const RunSpec& choice, const Error& error, const RunSpec& last_valid,
               GpuCatalog& gpus, const WorkControl& control) {
  Refusal refusal{error};
  Search search(choice, last_valid, gpus, control);
  const RunField* blamed = field_to_blame(search, choice, error, last_valid);
  if (blamed != nullptr) refusal.field = blamed->key;
  const RunField* named = find_field(error.field);

  const bool found =
      (blamed != nullptr && (search.take_number(*blamed) || search.take_own_repair(*blamed))) ||
      search.take(with_sizes_of_files(choice), "the sizes of the files") ||
      (named != nullptr && named != blamed && search.take_default(*named)) ||
      search.take_tiling() ||
      (blamed != nullptr && (search.take_default(*blamed) || search.take_last_valid(*blamed))) ||
      search.take_any_default();
  if (found) std::move(search).put_into(refusal);
  return refusal;
}

}  // namespace attnscope::app
