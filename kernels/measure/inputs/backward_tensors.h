/// Device memory of one backward pass and of the forward pass before it.
#pragma once

#include "kernels/measure/inputs/forward_tensors.h"

namespace attnscope::kernels {

/// dO, dQ, dK, dV and a workspace in addition to the forward pass's tensors, contiguous.
class BackwardTensors {
 public:
  /// Allocates the tensors of both passes. The run's tiling is that of the backward pass; the
  /// forward pass uses its default. Errors as in ForwardTensors::allocate().
  static Result<BackwardTensors> allocate(const ResolvedRun& run);

  void generate_inputs(const Session& session, const InputSpec& spec);
  /// Rounds [B, H, N, d] and [B, H_kv, N_kv, d] values to the problem's precision.
  void upload_inputs(const double* Q, const double* K, const double* V, const double* dO);
  /// Sets dQ, dK, dV and the workspace to NaN.
  void invalidate_outputs();

  /// Runs the forward pass, whose O, LSE and workspace the backward pass reads.
  std::optional<Error> run_forward(const Session& session) const;
  /// The pass, as in ForwardTensors::pass().
  Pass pass(const Session& session, const TraceBuffer* trace = nullptr) const;

  /// Rows of a tensor of either pass as doubles.
  std::vector<double> fetch(CheckedTensor tensor, Index b, Index h, Index begin, Index count) const;

 private:
  BackwardTensors(const ResolvedRun& run, ForwardTensors forward)
      : run_(run), forward_(std::move(forward)) {}

  ResolvedRun run_;
  ForwardTensors forward_;
  DeviceBuffer dO_;
  DeviceBuffer dQ_;
  DeviceBuffer dK_;
  DeviceBuffer dV_;
  DeviceBuffer workspace_;
};

}  // namespace attnscope::kernels
