#include "sim/studies/fusion.h"

namespace attnscope {

namespace {

struct StepPlan {
  std::string_view name;
  std::string_view idea;
  std::string_view algorithm;
  ScheduleVariant variant;
};

constexpr StepPlan kSteps[] = {
    {"separate",
     "every elementwise operation is a launch, forward and backward",
     "standard",
     {.fusion = Fusion::separate}},
    {"figure2",
     "what the figure counts: the scale in the products, mask and dropout apart",
     "standard",
     {.fusion = Fusion::figure2}},
    {"pairs",
     "two operations a launch: scale and mask, softmax and dropout",
     "standard",
     {.fusion = Fusion::pairs}},
    {"rows", "one launch over whole rows does all of them", "standard", {.fusion = Fusion::rows}},
    {"flash1", "tiled: S and P never leave the chip", "flash1", {}},
    {"flash1, refined",
     "D once; O, m, l and dQ start on chip",
     "flash1",
     {.skip_first_reads = true, .d_once = true}},
    {"flash2", "O stays on chip, dQ is added to in fp32", "flash2", {}},
};

}  // namespace

Index FusionStep::statistic_bytes() const {
  Index bytes = 0;
  for (const SimulationReport* report : {&forward, &backward}) {
    for (int index = 0; index < kTensorCount; ++index) {
      const auto tensor = static_cast<Tensor>(index);
      if (layout_of(tensor) == TensorLayout::query_by_one) {
        bytes += of(report->by_tensor, tensor).total();
      }
    }
  }
  return bytes;
}

Result<std::vector<FusionStep>> fusion_steps(const AttentionProblem& problem, const Tiling& tiling,
                                             const GpuDescription& gpu) {
  std::vector<FusionStep> steps;
  for (const StepPlan& plan : kSteps) {
    SimulationRequest request{.problem = problem,
                              .algorithm = std::string(plan.algorithm),
                              .tiling = tiling,
                              .variant = plan.variant,
                              .gpu = gpu,
                              .allow_overflow = true};
    auto forward = simulate(request);
    if (!forward) return forward.error();
    request.pass = PassKind::backward;
    auto backward = simulate(request);
    if (!backward) return backward.error();
    steps.push_back({std::string(plan.name), std::string(plan.idea), std::move(forward).value(),
                     std::move(backward).value()});
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
  if (step.forward.algorithm == "flash1") return 4.4e9;
  return std::nullopt;
}

}  // namespace attnscope
