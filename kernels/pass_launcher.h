/// A pass, prepared to be launched. Internal to kernels/.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/backward_parameters.cuh"
#include "kernels/device/trace_buffer.cuh"
#include "kernels/kernel_parameters.h"
#include "kernels/launch.h"
#include "kernels/launch_resources.h"
#include "kernels/run_programs.h"
#include "kernels/workspace_layout.h"

namespace attnscope::kernels {

/// Enqueues the launches of a pass, whose arguments have been checked, on its stream, each by its
/// name among the pass's programs (programs_of()). Its functions throw GpuError.
class PassLauncher {
 public:
  explicit PassLauncher(PassArguments pass);
  PassLauncher(const PassLauncher&) = delete;  // `problem` and `tiling` refer to its own run
  PassLauncher& operator=(const PassLauncher&) = delete;

  const PassArguments arguments;
  LaunchMarks marks = {};      ///< of the current call
  const ProgramTarget target;  ///< the current GPU
  const ResolvedRun run;       ///< in the tiling that it uses on the current GPU
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  const bool on_hopper = runs_on_hopper(run, target);
  ScoreParameters scores;           ///< in the unit of the kernel's scores
  const int* tile_lists = nullptr;  ///< the lists that the blocks visit; null if they visit all

  Index batch_heads() const { return problem.batch * problem.heads; }
  Index rows() const { return batch_heads() * problem.N; }  ///< of Q, over batch and heads
  Index row_tiles() const { return batch_heads() * ceil_div(problem.N, tiling.Br); }
  Index column_tiles() const { return batch_heads() * ceil_div(problem.N_kv, tiling.Bc); }

  /// The tensor's address in the workspace.
  template <typename Element = void>
  Element* workspace(WorkspaceTensor tensor) const {
    void* const address = static_cast<std::byte*>(arguments.workspace_dev) + layout_.offset(tensor);
    return static_cast<Element*>(address);
  }
  /// The same in the forward pass's workspace, for a backward pass.
  void* forward_workspace(WorkspaceTensor tensor) const;

  /// The parameters of a forward pass that FlashAttention's kernels share; the others have their
  /// defaults.
  template <typename Parameters>
  Parameters forward_parameters() const {
    return {.shape = forward_shape(problem),
            .Q = arguments.Q,
            .K = arguments.K,
            .V = arguments.V,
            .O = arguments.O,
            .scores = scores};
  }
  /// The parameters that all backward passes share. With grouped heads, the query heads' dK and dV
  /// are contiguous in the workspace.
  BackwardParameters backward_parameters() const;

  template <typename... Parameters>
  void start(std::string_view launch, Index blocks, const Parameters&... parameters) {
    const BlockProgram& program = program_of(launch);
    start_by(launch, [&] {
      arguments.resources->kernels.start(program, blocks, arguments.stream, parameters...);
    });
  }
  /// Runs a launch that `enqueue` enqueues, such as a cuBLAS product. marks.after() is called even
  /// if `enqueue` throws.
  template <typename Enqueue>
  void start_by(std::string_view launch, const Enqueue& enqueue) {
    const auto call = [&](const auto& mark) {
      if (mark) mark(launch);
    };
    call(marks.before);
    try {
      enqueue();
    } catch (...) {
      call(marks.after);
      throw;
    }
    call(marks.after);
  }
  /// Starts the launch that records into arguments.trace, if that is not null. Every head has the
  /// same number of the `tiles`; each block computes one, unless `blocks` persistent blocks compute
  /// all.
  template <typename Parameters>
  void start_traceable(std::string_view launch, Index tiles, const Parameters& parameters,
                       std::optional<Index> blocks = {}) {
    if (arguments.trace == nullptr) return start(launch, blocks.value_or(tiles), parameters);
    TracedParameters<Parameters> traced{parameters, *arguments.trace};
    traced.trace.blocks_per_head = static_cast<int>(tiles / batch_heads());
    start(launch, blocks.value_or(tiles), traced);
  }
  /// The number of the launch's blocks that fit on the GPU at once.
  Index blocks_at_once(std::string_view launch) const;
  /// "sum_heads", the last launch of a backward pass with grouped heads: dK and dV of a KV head are
  /// summed in fp32 over dK_heads and dV_heads of its query heads, then rounded. A thread block
  /// owns Bc rows.
  void sum_grouped_heads(const BackwardParameters& parameters);

 private:
  const BlockProgram& program_of(std::string_view launch) const;
  const void* upload(std::span<const std::byte> array);

  const WorkspaceLayout layout_;
  const std::vector<LaunchProgram> programs_;
  std::vector<std::shared_ptr<const DeviceBuffer>> held_;  ///< arrays that launches read
};

/// The launches of a kernel's forward or backward pass, in kernels/NAME/launch_NAME.cpp.
/// block_sparse2 has those of flash2.
using PassLaunches = void(PassLauncher& pass);
PassLaunches launch_standard, launch_standard_backward;
PassLaunches launch_flash1, launch_flash1_backward;
PassLaunches launch_flash2, launch_flash2_backward;
PassLaunches launch_split_kv;

}  // namespace attnscope::kernels
