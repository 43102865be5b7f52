#include "sim/studies/fusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace attnscope {

namespace {

struct StepPlan {
  std::string_view name;
  std::string_view words;
  std::string_view idea;
  std::string_view algorithm;
  ScheduleVariant variant;
};

const StepPlan kSteps[] = {
    {"separate",
     "standard, unfused",
     "every elementwise operation is a separate launch, forward and backward",
     "standard",
     {.fusion = Fusion::separate}},
    {"figure2",
     "standard, 40.3 GB accounting",
     "one accounting that yields Figure 2's 40.3 GB: scale in the products, mask and dropout "
     "separate",
     "standard",
     {.fusion = Fusion::figure2}},
    {"pairs",
     "standard, fused in pairs",
     "two operations per launch: scale and mask, softmax and dropout",
     "standard",
     {.fusion = Fusion::pairs}},
    {"rows",
     "standard, fused over rows",
     "scale, mask, softmax and dropout in one launch over whole rows",
     "standard",
     {.fusion = Fusion::rows}},
    {"flash1", "tiled: flash1", "tiled: S and P never leave the chip", "flash1", {}},
    {"flash1, refined",
     "tiled: flash1, D once, no first reads",
     "D once; O, m, l and dQ start on chip",
     "flash1",
     {.skip_first_reads = true, .d_once = true}},
    {"flash2", "tiled: flash2", "O stays on chip, dQ is accumulated in fp32", "flash2", {}},
};

bool has_mask(const AttentionProblem& problem) {
  return !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
}

/// Whether the step differs from all other steps: a pair needs a second operation, and the
/// accounting of Figure 2 needs a mask and dropout.
bool applies(const StepPlan& plan, const AttentionProblem& problem) {
  const bool masks = has_mask(problem);
  const bool drops = problem.score.has_dropout();
  if (plan.variant.fusion == Fusion::figure2) return masks && drops;
  return plan.variant.fusion != Fusion::pairs || masks || drops;
}

/// The change from the previous step, for this problem.
std::string idea_of(const StepPlan& plan, const AttentionProblem& problem) {
  const bool both = has_mask(problem) && problem.score.has_dropout();
  if (plan.variant.fusion != Fusion::pairs || both) return std::string(plan.idea);
  return has_mask(problem) ? "two operations per launch: scale and mask"
                           : "two operations per launch: softmax and dropout";
}

}  // namespace

std::string left_out_of_fusion(const AttentionProblem& problem) {
  const bool masks = has_mask(problem);
  const bool drops = problem.score.has_dropout();
  if (!masks && !drops) return "no mask, no dropout: their launches are left out";
  if (!masks) return "no mask: its launches are left out";
  return drops ? "" : "no dropout: its launches are left out";
}

std::string overflow_words(const FusionStep& step) {
  if (!step.refused.empty() || (step.forward.fits && step.backward.fits)) return "";
  std::string_view passes = step.forward.fits ? "backward does" : "forward does";
  if (!step.forward.fits && !step.backward.fits) passes = "both passes do";
  return fmt::format("{} not fit, counted anyway", passes);
}

std::string why_flash2_moves_more(const std::vector<FusionStep>& steps, const Tiling& tiling) {
  const auto bytes_of = [&](std::string_view name) {
    const auto step = std::ranges::find(steps, name, &FusionStep::name);
    return step == steps.end() || !step->refused.empty() ? 0 : step->matrix_bytes();
  };
  if (bytes_of("flash2") <= bytes_of("flash1")) return "";
  return fmt::format(
      "flash2 moves more than flash1 in flash1's tiles of {} x {}: K and V are read for every {} "
      "queries, and dQ is fp32",
      tiling.Br, tiling.Bc, tiling.Br);
}

Bytes statistics_of(const BytesByTensor& by_tensor) {
  Bytes bytes;
  for (const Tensor tensor : kTensors) {
    if (layout_of(tensor) != TensorLayout::query_by_one) continue;
    bytes.read_bytes += of(by_tensor, tensor).read_bytes;
    bytes.write_bytes += of(by_tensor, tensor).write_bytes;
  }
  return bytes;
}

Index FusionStep::statistic_bytes() const {
  return statistics_of(forward.by_tensor).total() + statistics_of(backward.by_tensor).total();
}

Result<std::vector<FusionStep>> fusion_steps(const AttentionProblem& problem, const Tiling& tiling,
                                             const GpuDescription& gpu,
                                             const std::function<bool(double)>& may_continue,
                                             const std::atomic<bool>* cancel) {
  std::vector<StepPlan> plans;
  std::ranges::copy_if(kSteps, std::back_inserter(plans),
                       [&](const StepPlan& plan) { return applies(plan, problem); });
  std::vector<FusionStep> steps;
  for (const StepPlan& plan : plans) {
    const double done = static_cast<double>(steps.size()) / static_cast<double>(plans.size());
    if (may_continue && !may_continue(done)) return cancelled();
    FusionStep& step = steps.emplace_back();
    step.name = plan.name;
    step.words = plan.words;
    step.idea = idea_of(plan, problem);
    RunSpec spec{.problem = problem,
                 .algorithm = std::string(plan.algorithm),
                 .variant = plan.variant,
                 .allow_overflow = true};
    spec.set_tiling(tiling);
    auto forward = resolve_and_simulate(spec, gpu, cancel);
    if (!forward && forward.error().field == "fusion") {
      step.refused = forward.error().message;
      continue;
    }
    if (!forward) return forward.error();
    spec.pass = PassKind::backward;
    step.forward = std::move(forward).value();
    ATTNSCOPE_TRY(step.backward, resolve_and_simulate(spec, gpu, cancel));
  }
  return steps;
}

AttentionProblem figure2_problem() {
  AttentionProblem problem{.batch = 64,
                           .heads = 16,
                           .kv_heads = 16,
                           .N = 1024,
                           .N_kv = 1024,
                           .d = 64,
                           .dtype = DType::fp16};
  problem.score.dropout.probability = 0.1;
  problem.key_lengths.assign(64, 1024);
  return problem;
}

std::optional<double> figure2_printed_bytes(const FusionStep& step) {
  if (step.name == "figure2") return 40.3e9;
  if (step.forward.run.algorithm() == "flash1") return 4.4e9;
  return std::nullopt;
}

}  // namespace attnscope
