#include "kernels/measure/calibrate/tile_steps.h"

#include <algorithm>
#include <array>

#include "kernels/default_tilings.h"
#include "kernels/kernel_parameters.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

constexpr std::string_view kNamespace = "attnscope::kernels::";

/// The kernel's name after "steps::", and the file with its steps.
KernelProgram program_of_steps(const BlockProgram& kernel) {
  const std::string_view instance =
      std::string_view(kernel.program.expression).substr(kNamespace.size());
  const bool backward = instance.substr(0, instance.find('<')).find("backward") != instance.npos;
  const std::string_view file = kernel.instructions == kHopper ? "hopper_steps"
                                : backward                     ? "backward_steps"
                                                               : "forward_steps";
  return {.source = fmt::format("kernels/measure/calibrate/{}.cuh", file),
          .expression = fmt::format("{}steps::{}", kNamespace, instance)};
}

/// Builds the list of steps.
class StepList {
 public:
  explicit StepList(const ProgramTarget& target) : target_(target) {}

  /// `other`: also adds the steps of the program for other GPUs, if Hopper has its own.
  void add(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
           const Tiling& tiling, bool other = true) {
    RunSpec spec{.problem = problem, .algorithm = std::string(kernel.name), .pass = pass};
    spec.kernel = kernel.name;
    spec.set_tiling(tiling);
    add(spec);
    if (other && kernel.has_knob(kInstructionsKnob, pass)) {
      spec.switches[kInstructionsKnob] = "mma";
      add(spec);
      spec.switches.clear();
    }
    if (!kernel.honours_carry || pass != PassKind::forward) return;
    spec.variant.carry = Carry::fp32;
    add(spec);
  }

  std::vector<TileSteps> steps;

 private:
  void add(const RunSpec& spec) {
    const auto run = resolve(spec);
    if (!run) return;
    const auto name = steps_name(run.value(), target_);
    if (!name || std::ranges::find(steps, name.value(), &TileSteps::name) != steps.end()) return;
    const auto programs = programs_of(run.value(), target_);
    BlockProgram block = launch_with_products(programs)->block;
    if (block.shared_bytes > target_.shared_bytes_per_block) return;
    block.program = program_of_steps(block);
    steps.push_back({name.value(), run.value(), std::move(block)});
  }

  const ProgramTarget& target_;
};

}  // namespace

Result<std::string> steps_name(const ResolvedRun& run, const ProgramTarget& target) {
  const KernelInfo& kernel = kernel_of(run);
  const AttentionProblem& problem = run.problem;
  const std::string_view family = kernel.takes_block_mask ? "flash2" : kernel.name;
  if (kernel.forward.uses_cublas()) {
    return unavailable("no calibration has the steps of {}", kernel.name);
  }
  if (score_features(problem).any()) {
    return unavailable("no calibration has steps with score features");
  }
  if (run.asked.variant.d_once || run.asked.variant.skip_first_reads) {
    return unavailable("no calibration has the steps of a variant without a kernel");
  }
  auto switches = run.asked.switches;
  switches.erase(kInstructionsKnob);  // the name distinguishes the two programs
  if (!switches.empty() || run.asked.variant.visit_hidden || run.asked.deterministic) {
    return unavailable("no calibration has steps with switches");
  }
  if (padded_head_dim(problem.d) != problem.d) {
    return unavailable("no calibration has steps of padded rows; d = {} is padded to {}", problem.d,
                       padded_head_dim(problem.d));
  }
  if (kernel.forward.block_work == BlockWork::head && problem.dtype == DType::fp32) {
    return unavailable("no calibration has the steps of {} in fp32", kernel.name);
  }
  const auto programs = programs_of(run, target);
  const bool hopper = instructions_of(programs) == kHopper;
  const bool carries_fp32 = kernel.honours_carry && run.pass() == PassKind::forward &&
                            run.asked.variant.carry == Carry::fp32;
  return fmt::format("{}_{}{}_{}{}_d{}_{}x{}", family, to_string(run.pass()),
                     hopper ? "_hopper" : "", to_string(problem.dtype),
                     carries_fp32 ? "_carry_fp32" : "", problem.d, run.tiling.Br, run.tiling.Bc);
}

bool TileSteps::rescales_if_moved() const {
  const bool updates_maxima = run.pass() == PassKind::forward && !has_own_tiles();
  return updates_maxima && run.problem.dtype != DType::fp32;
}

bool TileSteps::trims(const ProgramTarget& target) const {
  const auto agents = agents_of(run, target);
  return agents && agents->trims && agents->consumers > 1;
}

bool TileSteps::has_own_tiles() const {
  return kernel_of(run).pass(run.pass()).block_work == BlockWork::head;
}

std::string step_cycles_name(std::string_view steps, Index blocks_on_sm, StepCost cost) {
  constexpr std::string_view kPrefixes[] = {"", "masked_", "rescaled_", "dram_", "one_consumer_"};
  return fmt::format("{}_{}step_{}_on_sm_cycles", steps, kPrefixes[static_cast<std::size_t>(cost)],
                     blocks_on_sm);
}

std::string step_clock_name(std::string_view steps) {
  return fmt::format("{}_sm_clock_hz", steps);
}

std::string first_step_name(std::string_view steps) {
  return fmt::format("{}_first_step_s", steps);
}

std::string lone_first_step_name(std::string_view steps) {
  return fmt::format("{}_first_step_1_on_sm_s", steps);
}

std::vector<TileSteps> calibrated_steps(const ProgramTarget& target) {
  StepList list(target);
  constexpr Index kWidths[] = {16, 32, 64, 96, 128, 192, 256};
  // As fast as the default with Hopper's instructions, and faster for long sequences
  constexpr Tiling kLong{128, 176};
  // The scenes are in fp16, with tiles small enough to be drawn
  constexpr std::pair<Index, Tiling> kOfScenes[] = {{16, {16, 16}}, {64, {32, 32}}};
  constexpr Tiling kFurther[] = {{16, 16}, {32, 32}, {64, 64}, {64, 128}, {128, 32}, {128, 128}};
  for (const std::string_view name : {"flash2", "flash1", "split_kv"}) {
    const KernelInfo& kernel = *find_kernel(name);
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (const DType dtype : {DType::bf16, DType::fp16, DType::fp32}) {
        for (const Index d : kWidths) {
          // At d = 96, split_kv's steps spill a register on some GPUs
          if (name == "split_kv" && d != 64 && d != 128 && d != 256) continue;
          const AttentionProblem problem{.d = d, .dtype = dtype};
          for (const Tiling& tiling : default_tilings(kernel, pass, problem)) {
            list.add(kernel, pass, problem, tiling);
          }
          if (target.has_hopper_instructions()) {
            for (const Tiling& tiling : hopper_tilings(kernel, pass, problem)) {
              list.add(kernel, pass, problem, tiling, /*other=*/false);
            }
          }
          for (const auto& [width, tiling] : kOfScenes) {
            if (dtype == DType::fp16 && d == width) list.add(kernel, pass, problem, tiling);
          }
          if (dtype != DType::bf16 || (d != 64 && d != 128)) continue;
          for (const Tiling& tiling : kFurther) list.add(kernel, pass, problem, tiling);
          if (name == "flash2" && pass == PassKind::forward && d == 128) {
            list.add(kernel, pass, problem, kLong, /*other=*/false);
          }
        }
      }
    }
  }
  return std::move(list.steps);
}

}  // namespace attnscope::kernels
