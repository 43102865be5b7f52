#include "kernels/launch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/default_tilings.h"
#include "kernels/host/compiled_kernels.h"
#include "kernels/host/cuda_check.h"
#include "kernels/launches.h"
#include "kernels/workspace.h"

namespace attnscope::kernels {

namespace {

/// The kernels read and write rows in 16-byte pieces, where rows consist of whole ones.
constexpr Index kAlignmentBytes = 16;

std::optional<Error> check_tensor(std::string_view name, const TensorView& tensor, Index d,
                                  DType dtype) {
  const Index element_bytes = size_bytes(dtype);
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data_dev);
  if (address == 0) return invalid_request("{} is a null pointer", name);
  const bool whole_pieces = d * element_bytes % kAlignmentBytes == 0;
  const Index alignment_bytes = whole_pieces ? kAlignmentBytes : element_bytes;
  if (address % static_cast<std::uintptr_t>(alignment_bytes) != 0) {
    return invalid_request("{} is not aligned; its address must be a multiple of {} bytes", name,
                           alignment_bytes);
  }
  for (Index stride : {tensor.stride_batch, tensor.stride_head, tensor.stride_row}) {
    if (stride * element_bytes % alignment_bytes == 0) continue;
    return invalid_request(
        "{} has a stride of {} elements; strides must be multiples of {} elements", name, stride,
        alignment_bytes / element_bytes);
  }
  constexpr Index kMaxRowStride = std::numeric_limits<int>::max();  // the limit of cuBLAS
  if (tensor.stride_row > kMaxRowStride) {
    return invalid_request("{} has rows {} elements apart; at most {} is possible", name,
                           tensor.stride_row, kMaxRowStride);
  }
  if (tensor.stride_row >= d) return std::nullopt;
  return invalid_request("{} has rows {} elements apart; its rows hold {} elements", name,
                         tensor.stride_row, d);
}

std::optional<Error> check_address(std::string_view name, const void* address,
                                   std::size_t alignment_bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment_bytes == 0) return std::nullopt;
  return invalid_request("{} is not aligned; its address must be a multiple of {} bytes", name,
                         alignment_bytes);
}

std::optional<Error> check_workspace(const KernelInfo& kernel, const void* workspace_dev,
                                     std::size_t bytes, std::size_t needed_bytes) {
  if (bytes >= needed_bytes && (needed_bytes == 0 || workspace_dev != nullptr)) {
    return check_address("the workspace", workspace_dev,
                         needed_bytes == 0 ? 1 : kWorkspaceAlignment);
  }
  return invalid_request("the workspace has {} bytes; kernel {} needs {}", bytes, kernel.name,
                         needed_bytes);
}

std::optional<Error> check_memory(const KernelInfo& kernel, const ForwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  if (auto error = check_tensor("Q", arguments.Q, problem.d, problem.dtype)) return error;
  if (auto error = check_tensor("K", arguments.K, problem.d, problem.dtype)) return error;
  if (auto error = check_tensor("V", arguments.V, problem.d, problem.dtype)) return error;
  if (auto error = check_tensor("O", arguments.O, problem.d, problem.dtype)) return error;
  if (kernel.always_writes_lse && arguments.LSE_dev == nullptr) {
    return invalid_request("LSE is a null pointer; kernel {} always writes it", kernel.name);
  }
  if (auto error = check_address("LSE", arguments.LSE_dev, alignof(float))) return error;
  return check_workspace(kernel, arguments.workspace_dev, arguments.workspace_bytes,
                         workspace_bytes(kernel, problem, arguments.tiling, arguments.carry));
}

std::optional<Error> check_memory(const KernelInfo& kernel, const BackwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  const std::pair<std::string_view, const TensorView&> tensors[] = {
      {"Q", arguments.Q},   {"K", arguments.K},   {"V", arguments.V},   {"O", arguments.O},
      {"dO", arguments.dO}, {"dQ", arguments.dQ}, {"dK", arguments.dK}, {"dV", arguments.dV}};
  for (const auto& [name, tensor] : tensors) {
    if (auto error = check_tensor(name, tensor, problem.d, problem.dtype)) return error;
  }
  if (arguments.LSE_dev == nullptr) {
    return invalid_request("LSE is a null pointer; a backward pass reads it");
  }
  if (auto error = check_address("LSE", arguments.LSE_dev, alignof(float))) return error;
  const bool reads_forward_workspace = !kernel.forward_state.empty();
  if (reads_forward_workspace && arguments.forward_workspace_dev == nullptr) {
    return invalid_request(
        "the forward pass's workspace is a null pointer; the backward pass of kernel {} reads {} "
        "there",
        kernel.name, kernel.forward_state);
  }
  if (reads_forward_workspace) {
    if (auto error = check_address("the forward pass's workspace", arguments.forward_workspace_dev,
                                   kWorkspaceAlignment)) {
      return error;
    }
  }
  return check_workspace(kernel, arguments.workspace_dev, arguments.workspace_bytes,
                         backward_workspace_bytes(kernel, problem, arguments.tiling));
}

/// Runs the launches and converts their exceptions to an Error.
template <typename Launches>
std::optional<Error> guarded(const KernelInfo& kernel, Launches&& launches) {
  try {
    return launches();
  } catch (const GpuTooSmall& error) {
    return unavailable("kernel {}: {}", kernel.name, error.what());
  } catch (const NotCompiled& failure) {
    return failure.error;
  } catch (const CudaError& error) {
    return failed(error.what());
  }
}

/// The passes of each kernel of the catalog.
constexpr KernelLaunches kLaunches[] = {
    {"standard", launch_standard, launch_standard_backward},
    {"flash1", launch_flash1, launch_flash1_backward},
    {"flash2", launch_flash2, launch_flash2_backward},
    {"block_sparse2", launch_block_sparse, launch_block_sparse_backward},
    {"split_kv", launch_split_kv, nullptr},
};

const KernelLaunches& launches_of(const KernelInfo& kernel) {
  return *std::ranges::find(kLaunches, kernel.name, &KernelLaunches::kernel);
}

Carry carry_of(const ForwardArguments& arguments) {
  return arguments.carry;
}
Carry carry_of(const BackwardArguments& /*arguments*/) {
  return Carry::problem;
}

template <typename Arguments>
Tiling tiling_of(const KernelInfo& kernel, PassKind pass, const Arguments& arguments) {
  const auto asked = asked_tiling(arguments.problem, arguments.tiling);
  return asked ? *asked : *default_tiling(kernel, pass, arguments.problem, carry_of(arguments));
}

/// Checks the arguments, then calls `prepare` with the requested tiling.
template <typename Arguments, typename Prepare>
std::optional<Error> prepared(const std::optional<Error>& refusal, const KernelInfo& kernel,
                              PassKind pass, const Arguments& arguments, Prepare&& prepare) {
  if (refusal) return refusal;
  if (auto error = check_memory(kernel, arguments)) return error;
  return guarded(kernel, [&]() -> std::optional<Error> {
    if (kernel.takes_block_mask) prepare(tiling_of(kernel, pass, arguments));
    return std::nullopt;
  });
}

}  // namespace

std::optional<Error> prepare_workspace(const KernelInfo& kernel,
                                       const ForwardArguments& arguments) {
  return prepared(
      supports(kernel, PassKind::forward, arguments.problem, arguments.tiling, arguments.carry),
      kernel, PassKind::forward, arguments,
      [&](const Tiling& tiling) { upload_tile_lists(arguments, tiling); });
}

std::optional<Error> prepare_workspace(const KernelInfo& kernel,
                                       const BackwardArguments& arguments) {
  return prepared(supports(kernel, PassKind::backward, arguments.problem, arguments.tiling), kernel,
                  PassKind::backward, arguments,
                  [&](const Tiling& tiling) { upload_tile_lists(arguments, tiling); });
}

std::optional<Error> launch_forward(const KernelInfo& kernel, const ForwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  if (auto error =
          supports(kernel, PassKind::forward, problem, arguments.tiling, arguments.carry)) {
    return error;
  }
  if (auto error = check_memory(kernel, arguments)) return error;
  return guarded(kernel, [&]() -> std::optional<Error> {
    return launches_of(kernel).forward(arguments, tiling_of(kernel, PassKind::forward, arguments));
  });
}

std::optional<Tiling> default_tiling(const KernelInfo& kernel, PassKind pass,
                                     const AttentionProblem& problem, Carry carry) {
  return default_tiling(kernel, pass, problem, carry, shared_bytes_per_block());
}

std::optional<Error> launch_backward(const KernelInfo& kernel, const BackwardArguments& arguments) {
  const AttentionProblem& problem = arguments.problem;
  if (auto error = supports(kernel, PassKind::backward, problem, arguments.tiling, Carry::problem,
                            arguments.deterministic)) {
    return error;
  }
  if (auto error = check_memory(kernel, arguments)) return error;
  return guarded(kernel, [&]() -> std::optional<Error> {
    return launches_of(kernel).backward(arguments,
                                        tiling_of(kernel, PassKind::backward, arguments));
  });
}

}  // namespace attnscope::kernels
