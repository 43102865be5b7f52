#include "kernels/pass_launcher.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/host/cuda_check.h"
#include "kernels/host/hopper.h"
#include "kernels/resolve.h"
#include "kernels/tile_lists.h"
#include "reference/check.h"

namespace attnscope::kernels {

/// The current GPU, and whether its bulk copies can address the caller's tensors.
static ProgramTarget target_of(const PassArguments& pass) {
  const AttentionProblem& problem = pass.run.problem;
  std::vector<HeadMatrices> tensors = {queries_of(problem, pass.Q), queries_of(problem, pass.O),
                                       keys_of(problem, pass.K), keys_of(problem, pass.V)};
  if (pass.run.pass() == PassKind::backward) {
    tensors.insert(tensors.end(), {queries_of(problem, pass.dO), queries_of(problem, pass.dQ)});
    // With grouped heads, bulk copies access the query heads' dK and dV, contiguous in the
    // workspace
    if (problem.heads_per_kv_head() == 1) {
      tensors.insert(tensors.end(), {keys_of(problem, pass.dK), keys_of(problem, pass.dV)});
    }
  }
  ProgramTarget target = current_gpu();
  target.bulk_copies = std::ranges::all_of(tensors, bulk_copies_reach);
  return target;
}

PassLauncher::PassLauncher(PassArguments pass)
    : arguments(std::move(pass)),
      target(target_of(arguments)),
      run(run_on_gpu(arguments.run, target)),
      layout_(workspace_layout(run)),
      programs_(programs_of(run, target, arguments.trace != nullptr)) {
  const KernelPass& own = kernel_of(run).pass(run.pass());
  scores =
      score_parameters(problem, own.uses_cublas() ? ScoreUnit::scaled : ScoreUnit::before_scale,
                       [this](auto array) { return upload(array); });
  if (!visits_lists(run)) return;
  const TileLists lists = own.block_work == BlockWork::row_tile ? column_tile_lists(problem, tiling)
                                                                : row_tile_lists(problem, tiling);
  tile_lists = static_cast<const int*>(upload(std::as_bytes(std::span(lists))));
}

const BlockProgram& PassLauncher::program_of(std::string_view launch) const {
  const auto found = std::ranges::find(programs_, launch, &LaunchProgram::launch);
  ATTNSCOPE_CHECK(found != programs_.end(), ==, true);
  return found->block;
}

Index PassLauncher::blocks_at_once(std::string_view launch) const {
  return arguments.resources->kernels.resident_blocks(program_of(launch)) * target.sm_count;
}

void* PassLauncher::forward_workspace(WorkspaceTensor tensor) const {
  const WorkspaceLayout layout = kernel_of(run).forward.workspace(run);
  return static_cast<std::byte*>(arguments.forward_workspace_dev) + layout.offset(tensor);
}

const void* PassLauncher::upload(std::span<const std::byte> array) {
  if (array.empty()) return nullptr;
  held_.push_back(arguments.resources->tables.find_or_upload(array));
  return held_.back()->data_dev();
}

BackwardParameters PassLauncher::backward_parameters() const {
  const auto per_head = [&](const TensorView& gradient, WorkspaceTensor tensor) {
    if (!layout_.has(tensor)) return gradient;
    return contiguous_view(workspace(tensor), problem.heads, problem.N_kv, problem.d);
  };
  return {.shape = forward_shape(problem),
          .Q = arguments.Q,
          .K = arguments.K,
          .V = arguments.V,
          .O = arguments.O,
          .dO = arguments.dO,
          .dQ = arguments.dQ,
          .dK = arguments.dK,
          .dV = arguments.dV,
          .dK_heads = per_head(arguments.dK, WorkspaceTensor::dK_heads),
          .dV_heads = per_head(arguments.dV, WorkspaceTensor::dV_heads),
          .LSE = arguments.LSE_dev,
          .row_tiles = tile_lists,
          .scores = scores};
}

void PassLauncher::sum_grouped_heads(const BackwardParameters& parameters) {
  if (problem.heads_per_kv_head() == 1) return;
  start("sum_heads", problem.batch * problem.kv_heads * ceil_div(problem.N_kv, tiling.Bc),
        parameters, static_cast<int>(tiling.Bc));
}

namespace {

/// The kernels read and write rows in 16-byte pieces, if rows consist of whole pieces.
constexpr Index kAlignmentBytes = 16;

std::optional<Error> check_address(std::string_view name, const void* address,
                                   Index alignment_bytes) {
  if (reinterpret_cast<std::intptr_t>(address) % alignment_bytes == 0) return std::nullopt;
  return invalid_request("{} is not aligned; its address must be a multiple of {} bytes", name,
                         alignment_bytes);
}

std::optional<Error> check_tensor(std::string_view name, const TensorView& tensor, Index d,
                                  DType dtype) {
  if (tensor.data_dev == nullptr) return invalid_request("{} is a null pointer", name);
  const Index element_bytes = size_bytes(dtype);
  const bool whole_pieces = d * element_bytes % kAlignmentBytes == 0;
  const Index alignment_bytes = whole_pieces ? kAlignmentBytes : element_bytes;
  if (auto error = check_address(name, tensor.data_dev, alignment_bytes)) return error;
  for (Index stride : {tensor.stride_batch, tensor.stride_head, tensor.stride_row}) {
    if (stride * element_bytes % alignment_bytes == 0) continue;
    return invalid_request(
        "{} has a stride of {} elements; strides must be multiples of {} elements", name, stride,
        alignment_bytes / element_bytes);
  }
  if (tensor.stride_row >= d) return std::nullopt;
  return invalid_request("{} has rows {} elements apart; its rows hold {} elements", name,
                         tensor.stride_row, d);
}

std::optional<Error> check_memory(const PassArguments& arguments) {
  const ResolvedRun& run = arguments.run;
  const KernelInfo& kernel = kernel_of(run);
  const bool backward = run.pass() == PassKind::backward;
  const std::pair<std::string_view, const TensorView&> tensors[] = {
      {"Q", arguments.Q},   {"K", arguments.K},   {"V", arguments.V},   {"O", arguments.O},
      {"dO", arguments.dO}, {"dQ", arguments.dQ}, {"dK", arguments.dK}, {"dV", arguments.dV}};
  for (const auto& [name, tensor] : std::span(tensors).first(backward ? 8 : 4)) {
    if (auto error = check_tensor(name, tensor, run.problem.d, run.problem.dtype)) return error;
  }
  if (arguments.LSE_dev == nullptr && (backward || kernel.always_writes_lse)) {
    return invalid_request("LSE is a null pointer; the {} pass of kernel {} {} it",
                           to_string(run.pass()), kernel.name, backward ? "reads" : "writes");
  }
  if (auto error = check_address("LSE", arguments.LSE_dev, alignof(float))) return error;

  if (backward && kernel.forward.workspace != nullptr) {
    const void* const address = arguments.forward_workspace_dev;
    constexpr std::string_view kName = "the forward pass's workspace";
    if (address == nullptr) {
      return invalid_request("{} is a null pointer; the backward pass of kernel {} reads it", kName,
                             kernel.name);
    }
    if (auto error = check_address(kName, address, kWorkspaceAlignment)) return error;
  }
  const std::size_t needed_bytes = workspace_bytes(run);
  if (needed_bytes == 0) return std::nullopt;
  if (arguments.workspace_bytes < needed_bytes || arguments.workspace_dev == nullptr) {
    return invalid_request("the workspace has {} bytes; kernel {} needs {}",
                           arguments.workspace_bytes, kernel.name, needed_bytes);
  }
  return check_address("the workspace", arguments.workspace_dev, kWorkspaceAlignment);
}

/// Runs the work; its GpuError becomes the result.
template <typename Work>
std::optional<Error> guarded(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const GpuError& failure) {
    return failure.error;
  }
}

/// The passes that launch a kernel's programs; `backward` is null if there is none.
struct KernelLaunches {
  KernelPrograms* programs;
  PassLaunches *forward, *backward;
};
constexpr KernelLaunches kLaunches[] = {
    {standard_programs, launch_standard, launch_standard_backward},
    {flash1_programs, launch_flash1, launch_flash1_backward},
    {flash2_programs, launch_flash2, launch_flash2_backward},
    {split_kv_programs, launch_split_kv, nullptr},
};

}  // namespace

Pass prepared_pass(const PassArguments& arguments) {
  std::shared_ptr<PassLauncher> pass;
  auto error = supports(arguments.run);
  if (!error) error = check_memory(arguments);
  if (!error) error = guarded([&] { pass = std::make_shared<PassLauncher>(arguments); });
  if (!error) error = check_program(pass->run, pass->target);
  if (error) return [error](const LaunchMarks& /*marks*/) { return error; };
  const auto& launches =
      *std::ranges::find(kLaunches, kernel_of(pass->run).programs, &KernelLaunches::programs);
  const bool backward = pass->run.pass() == PassKind::backward;
  return [pass, launch = backward ? launches.backward : launches.forward](auto& marks) {
    pass->marks = marks;
    return guarded([&] { launch(*pass); });
  };
}

std::optional<Error> launch(const PassArguments& arguments) {
  return prepared_pass(arguments)({});
}

}  // namespace attnscope::kernels
