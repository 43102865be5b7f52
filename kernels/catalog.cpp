#include "kernels/catalog.h"

#include <algorithm>
#include <array>

#include "kernels/compile/block_program.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

constexpr std::string_view kFlash1Knobs[] = {"copies", "swizzle", "mask"};
constexpr std::string_view kFlash2Knobs[] = {
    "stages",          "warps",   "partition", "copies",   "swizzle", "rescale", "mask", "order",
    kInstructionsKnob, "overlap", "ping-pong", "schedule", "heads",   "trim",    "exp"};
constexpr std::string_view kFlash2HopperKnobs[] = {"stages",  "rescale",   "mask",     "order",
                                                   "overlap", "ping-pong", "schedule", "heads",
                                                   "trim",    "exp"};
constexpr std::string_view kBackwardKnobs[] = {"copies", "swizzle", "mask", kInstructionsKnob};
constexpr std::string_view kSplitKvKnobs[] = {"copies", "swizzle", "rescale", "mask"};

constexpr KernelPass kFlash2Forward{.source = "kernels/flash2/flash2_forward.cuh",
                                    .has_fp32 = true,
                                    .launch = "forward",
                                    .knobs = kFlash2Knobs,
                                    .has_hopper = true,
                                    .hopper_knobs = kFlash2HopperKnobs};
constexpr KernelPass kFlash2Backward{.source = "kernels/flash2/flash2_backward.cuh",
                                     .has_fp32 = true,
                                     .launch = "backward",
                                     .block_work = BlockWork::column_tile,
                                     .adds_dQ = true,
                                     .workspace = flash2_backward_workspace,
                                     .knobs = kBackwardKnobs,
                                     .has_hopper = true};

/// The pass of flash2, run on lists of tiles.
constexpr KernelPass listed(KernelPass pass) {
  pass.has_fp32 = false;
  return pass;
}

constexpr std::array kCatalog{
    KernelInfo{.name = "standard",
               .idea = "S and P are stored in HBM: two cuBLAS products around one fused "
                       "mask-and-softmax kernel",
               .takes_fp32_scores = true,
               .always_writes_lse = false,
               .forward = {.source = "kernels/standard/softmax_forward.cuh",
                           .has_fp32 = true,
                           .workspace = standard_workspace},
               .backward = KernelPass{.source = "kernels/standard/softmax_gradient.cuh",
                                      .workspace = standard_backward_workspace},
               .programs = standard_programs},
    KernelInfo{.name = "flash1",
               .idea = "S and P stay on chip; K and V are loaded once; O, m and l travel through "
                       "HBM in every pass over j",
               .honours_carry = true,
               .always_writes_lse = false,
               .forward = {.source = "kernels/flash1/flash1_forward.cuh",
                           .has_fp32 = true,
                           .launch = "forward",
                           .block_work = BlockWork::head,
                           .workspace = flash1_workspace,
                           .knobs = kFlash1Knobs},
               .backward = KernelPass{.source = "kernels/flash1/flash1_backward.cuh",
                                      .launch = "backward",
                                      .block_work = BlockWork::head,
                                      .knobs = kBackwardKnobs,
                                      .has_hopper = true},
               .programs = flash1_programs},
    KernelInfo{.name = "flash2",
               .idea = "the loops are swapped: O, m and l stay on chip and every row tile has its "
                       "own thread block",
               .forward = kFlash2Forward,
               .backward = kFlash2Backward,
               .programs = flash2_programs},
    KernelInfo{.name = "block_sparse2",
               .idea =
                   "flash2's program on the tiles that a block mask keeps: each row tile walks a "
                   "list of its column tiles",
               .takes_block_mask = true,
               .forward = listed(kFlash2Forward),
               .backward = listed(kFlash2Backward),
               .programs = flash2_programs},
    KernelInfo{.name = "split_kv",
               .idea = "for few queries: the keys are cut into splits, one per thread block; a "
                       "second launch merges their outputs, weighted by their LSE",
               .only_decodes = true,
               .forward = {.source = "kernels/split_kv/split_kv_partial.cuh",
                           .launch = "partial",
                           .block_work = BlockWork::split_of_row_tile,
                           .workspace = split_kv_workspace,
                           .knobs = kSplitKvKnobs},
               .programs = split_kv_programs},
};

}  // namespace

std::vector<const Knob*> KernelInfo::knobs(PassKind kind) const {
  std::vector<const Knob*> own;
  for (const Knob& knob : all_knobs()) {
    if (has_knob(knob.name, kind)) own.push_back(&knob);
  }
  return own;
}

bool KernelInfo::has_knob(std::string_view knob, PassKind kind) const {
  const auto has = [&](const KernelPass& own) {
    return std::ranges::find(own.knobs, knob) != own.knobs.end();
  };
  return (kind != PassKind::backward && has(forward)) ||
         (kind != PassKind::forward && backward && has(*backward));
}

std::span<const KernelInfo> catalog() {
  return kCatalog;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : kCatalog) names.emplace_back(kernel.name);
  return names;
}

const KernelInfo* find_kernel(std::string_view name) {
  const auto found = std::ranges::find(kCatalog, name, &KernelInfo::name);
  return found == kCatalog.end() ? nullptr : &*found;
}

bool takes_pass(const KernelInfo& kernel, PassKind pass, DType dtype) {
  if (pass == PassKind::backward && !kernel.has_backward()) return false;
  return dtype != DType::fp32 || kernel.pass(pass).has_fp32;
}

const KernelInfo& kernel_of(const ResolvedRun& run) {
  const KernelInfo* kernel = find_kernel(run.asked.kernel);
  ATTNSCOPE_CHECK(kernel != nullptr, ==, true);
  return *kernel;
}

bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs) {
  const KernelInfo& kernel = kernel_of(run);
  const KernelPass& pass = kernel.pass(run.pass());
  const bool has_all = std::ranges::all_of(all_knobs(), [&](const Knob& knob) {
    return knobs.*knob.member == knob.values.front().value ||
           std::ranges::find(pass.hopper_knobs, knob.name) != pass.hopper_knobs.end();
  });
  constexpr Index kBulkCopyElements = 8;  // bulk copies accept rows of a multiple of 16 bytes
  const AttentionProblem& problem = run.problem;
  if (!pass.has_hopper || !has_all || problem.dtype == DType::fp32 ||
      problem.d % kBulkCopyElements != 0) {
    return false;
  }
  return std::ranges::any_of(kernel.programs(run, {.hopper = true, .knobs = knobs}),
                             [](const LaunchProgram& launch) {
                               return launch.block.instructions == kHopper &&
                                      launch.block.shared_bytes <= kMostSharedBytes;
                             });
}

}  // namespace attnscope::kernels
