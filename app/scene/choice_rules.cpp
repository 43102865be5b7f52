#include "app/scene/choice_rules.h"

#include <algorithm>

#include "app/documents/scene_run.h"
#include "kernels/resolve.h"
#include "reference/field_rules.h"

namespace attnscope::app {

RunSpec rival_of(const RunSpec& choice, const std::string& algorithm) {
  RunSpec other = choice;
  other.algorithm = algorithm;
  other.variant.broken = {};
  return with_consequences(choice, std::move(other));
}

RunSpec rival_after(const RunSpec& before, const RunSpec& choice, const RunSpec& rival) {
  RunSpec after = rival;
  for (const RunField& field : run_fields()) {
    if (field.key == "break") continue;  // a race may show a broken run beside the correct one
    const std::string value = field.print(choice);
    const std::string last = field.print(before);
    if (value != last && field.print(rival) == last) field.parse(value, after);
  }
  if (rival.switches == before.switches) after.switches = choice.switches;
  return with_consequences(rival, std::move(after));
}

namespace {

/// Sets the packed keys by the packed queries: the same ends if N = N_kv, else the same number of
/// sequences.
void follow_queries(AttentionProblem& problem) {
  const std::vector<Index>& queries = problem.cu_seqlens_q;
  std::vector<Index>& keys = problem.cu_seqlens_k;
  if (queries.empty() || problem.N == problem.N_kv) {
    keys = queries;
  } else if (keys.size() != queries.size() && queries.size() > 1) {
    keys = packed_ends(static_cast<Index>(queries.size()) - 1, problem.N_kv);
  }
}

/// The spec without the switches that its kernel does not have.
RunSpec with_available_switches(RunSpec spec) {
  const std::vector<const kernels::Knob*> knobs = kernels::available_knobs(spec);
  std::erase_if(spec.switches, [&](const auto& given) {
    return std::ranges::find(knobs, given.first, &kernels::Knob::name) == knobs.end();
  });
  return spec;
}

}  // namespace

Result<RunSpec> change_field(const RunSpec& before, std::string_view key, std::string_view text) {
  RunSpec after = before;
  if (auto error = set_field(run_field(key), text, after)) return *error;
  AttentionProblem& problem = after.problem;
  if (key == "cu_seqlens_q") follow_queries(problem);
  if (key == "key_lengths" && problem.key_lengths.size() == 1) {
    const auto batch = static_cast<std::size_t>(std::clamp<Index>(problem.batch, 1, kMaxHeads));
    problem.key_lengths.resize(batch, problem.key_lengths.front());
  }
  std::error_code unknown;
  after = from_folder(std::move(after), std::filesystem::current_path(unknown));
  return with_available_switches(with_consequences(before, std::move(after)));
}

std::vector<Index> nearest_ends(std::vector<Index> ends, Index size) {
  for (Index& end : ends) end = std::clamp<Index>(end, 0, std::max<Index>(size, 0));
  std::ranges::sort(ends);
  if (ends.empty() || ends.front() != 0) ends.insert(ends.begin(), 0);
  if (ends.size() < 2 || ends.back() != size) ends.push_back(size);
  return ends;
}

std::vector<Index> packed_ends(Index parts, Index size) {
  // Lengths grow by one part each: 1 : 2 : 3
  std::vector<Index> ends{0};
  const Index whole = parts * (parts + 1) / 2;
  Index sum = 0;
  for (Index part = 1; part <= parts; ++part) {
    sum += part;
    ends.push_back(size * sum / whole);
  }
  return ends;
}

}  // namespace attnscope::app
