#include "app/cli/run_words.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reference/block_mask.h"
#include "reference/json/run_json.h"
#include "sim/accuracy.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

std::string problem_words(const AttentionProblem& problem) {
  const std::string extras = extras_text(problem);
  return fmt::format("B {}, H {} ({} KV), N {}, N_kv {}, d {}, {}, mask {}{}{}", problem.batch,
                     problem.heads, problem.kv_heads, problem.N, problem.N_kv, problem.d,
                     to_string(problem.dtype), to_string(problem.mask), extras.empty() ? "" : ", ",
                     extras);
}

std::string run_words(const ResolvedRun& run) {
  const std::string variant = to_string(run.asked.variant);
  return fmt::format("{} {}{}, {}, {}x{} tiles", run.algorithm(), to_string(run.pass()),
                     variant.empty() ? "" : fmt::format(" ({})", variant),
                     problem_words(run.asked.problem), run.tiling.Br, run.tiling.Bc);
}

std::string_view rounding_note(const ResolvedRun& run) {
  return rounded_output_note(run.algorithm(), run.asked.variant.carry, run.problem.dtype);
}

ordered_json run_identity(const ResolvedRun& run) {
  const RunSpec& asked = run.asked;
  ordered_json identity = {{"problem", problem_to_json(run.problem)},
                           {"algorithm", asked.algorithm},
                           {"kernel", asked.kernel},
                           {"pass", to_string(asked.pass)}};
  if (run.tiling != Tiling{0, 0}) identity["tiling"] = tiling_to_json(run.tiling);
  if (run.problem.block_mask) identity["block_mask"] = run.problem.block_mask->text();
  identity["carry"] = to_string(asked.variant.carry);
  if (asked.deterministic) identity["deterministic"] = true;
  const bool own = run.files_hash != 0;
  identity["inputs"] = {{"kind", own ? "files" : to_string(asked.inputs.kind)},
                        {"seed", asked.inputs.seed}};
  return identity;
}

}  // namespace attnscope::cli
