#include "app/report/run_words.h"

#include <fmt/core.h>

#include <utility>

#include "reference/block_mask.h"
#include "reference/message_text.h"
#include "sim/accuracy.h"

namespace attnscope {

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

std::string run_title(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const Carry carry = run.asked.variant.carry;
  std::string title = run.algorithm();
  const std::string& kernel = run.asked.kernel;
  if (!kernel.empty() && kernel != run.algorithm()) title += fmt::format(" ({})", kernel);
  if (run.pass() != PassKind::forward) title += fmt::format(" {}", to_string(run.pass()));
  title +=
      fmt::format(", N {}, d {}, B {}, H {}", problem.N, problem.d, problem.batch, problem.heads);
  if (problem.kv_heads != problem.heads) title += fmt::format(" ({} KV)", problem.kv_heads);
  if (problem.N_kv != problem.N) title += fmt::format(", N_kv {}", problem.N_kv);
  title += fmt::format(", {}", to_string(problem.dtype));
  if (!problem.mask.is_none()) title += ", " + to_string(problem.mask);
  if (problem.block_mask) title += ", block mask " + problem.block_mask->text();
  if (const std::string extras = extras_text(problem); !extras.empty()) title += ", " + extras;
  if (carry != Carry::problem) title += fmt::format(", carry {}", to_string(carry));
  if (run.asked.deterministic) title += ", deterministic dQ";
  for (const auto& [name, value] : run.asked.switches) title += fmt::format(", {}={}", name, value);
  if (run.files_hash != 0) title += ", own tensors";
  if (run.files_hash == 0 && run.asked.inputs != InputSpec{}) {
    title += fmt::format(", {} inputs of seed {}", to_string(run.asked.inputs.kind),
                         run.asked.inputs.seed);
  }
  if (run.tiling.Br > 0) title += fmt::format(", tiles {}x{}", run.tiling.Br, run.tiling.Bc);
  return one_line(title);
}

namespace {

constexpr std::pair<std::string_view, std::string_view> kLaunches[] = {
    // Tiled algorithms
    {"initialise", "initial values"},
    {"forward", "tiled attention"},
    {"lse", "log-sum-exp LSE"},
    {"convert", "convert fp32 sums"},
    {"preprocess", "row sums D"},
    {"row_dots", "row sums D"},
    {"backward", "gradients"},
    {"sum_heads", "sum over query heads"},
    {"partial", "each split alone"},
    {"combine", "merge the splits"},

    // Standard attention, forward
    {"scores", "scores S"},
    {"scale", "scale S"},
    {"mask", "mask S"},
    {"scale_mask", "scale and mask S"},
    {"softmax", "softmax P"},
    {"dropout", "dropout of P"},
    {"output", "output O"},

    // The same for the backward pass
    {"recompute_scores", "scores S, again"},
    {"recompute_scale", "scale S, again"},
    {"recompute_mask", "mask S, again"},
    {"recompute_scale_mask", "scale and mask S, again"},
    {"recompute_softmax", "softmax P, again"},
    {"recompute_dropout", "dropout of P, again"},
    {"recompute_output", "output O, again"},

    // Standard attention, backward
    {"dV", "gradient dV"},
    {"dP", "gradient dP"},
    {"dropout_gradient", "dropout of dP"},
    {"dS", "gradient dS"},
    {"mask_gradient", "mask dS"},
    {"scale_gradient", "scale dS"},
    {"mask_scale_gradient", "mask and scale dS"},
    {"dQ", "gradient dQ"},
    {"dK", "gradient dK"},
};

}  // namespace

std::string_view launch_words(std::string_view name) {
  for (const auto& [launch, words] : kLaunches) {
    if (launch == name) return words;
  }
  return name;
}

}  // namespace attnscope
