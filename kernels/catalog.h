/// The kernels and what each supports. Plain C++: the app and the command line read it on machines
/// without CUDA. Each kernel follows the schedule in sim/schedule/ with the same algorithm name:
/// same tiling, same loop order, same names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/block_shapes.h"
#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// One kernel, forward and, if it has one, backward pass.
struct KernelInfo {
  std::string_view name;       ///< "standard", "flash1", "flash2"
  std::string_view algorithm;  ///< name of its schedule in sim/schedule/catalog
  std::string_view idea;       ///< one sentence: what changed from the kernel before it
  std::string_view source;     ///< root-relative path of its CUDA source
  bool honours_carry = false;
  bool has_backward = false;
  bool takes_block_mask =
      false;  ///< computes only the tiles that AttentionProblem::block_mask keeps
  std::string_view backward_source = {};  ///< of its backward pass
  bool has_fp32 = true;                   ///< forward; in 16 bits every kernel has it
  bool has_backward_fp32 = false;
  /// The resources of a block; null where cuBLAS chooses the tiles.
  BlockShapeOf forward_shape = nullptr;
  BlockShapeOf backward_shape = nullptr;

  BlockShapeOf block_shape(PassKind pass) const {
    return pass == PassKind::backward ? backward_shape : forward_shape;
  }
};

/// Every kernel, simplest first.
std::span<const KernelInfo> catalog();
const KernelInfo* find_kernel(std::string_view name);

/// Whether the kernel has the pass in this precision; both: the forward pass.
bool takes_pass(const KernelInfo& kernel, PassKind pass, DType dtype);

/// The requested tiling, else that of the problem's block mask, which the kernel then uses.
std::optional<Tiling> asked_tiling(const AttentionProblem& problem,
                                   const std::optional<Tiling>& tiling);

/// Nothing when the kernel computes the pass of the problem in this tiling, else invalid_request
/// with one line: what is rejected, why, and what the kernel accepts. `deterministic`: dQ must be
/// bit-identical on every run, as dK and dV are.
std::optional<Error> supports(const KernelInfo& kernel, PassKind pass,
                              const AttentionProblem& problem, const std::optional<Tiling>& tiling,
                              Carry carry = Carry::problem, bool deterministic = false,
                              const Knobs& knobs = {});

/// Asynchronous copies and bf16 products begin with compute capability 8.0.
inline constexpr int kLeastComputeMajor = 8;
/// Nothing when the kernels can run on a GPU of this compute capability, "9.0", else unavailable.
std::optional<Error> check_compute_capability(std::string_view gpu_name,
                                              std::string_view capability);

}  // namespace attnscope::kernels
