/// Device memory of one forward pass.
#pragma once

#include <optional>
#include <vector>

#include "kernels/host/cuda_check.h"
#include "kernels/host/device_buffer.h"
#include "kernels/launch.h"
#include "kernels/measure/check/row_check.h"
#include "kernels/measure/session.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// `count` values of the type from a buffer's element `first` on, as doubles.
std::vector<double> fetch_values(const DeviceBuffer& buffer, DType dtype, Index first, Index count);

/// An error if `needed_bytes` (including `workspace_bytes` of workspace) exceed the free memory,
/// else nothing.
std::optional<Error> check_free_memory(std::size_t needed_bytes, std::size_t workspace_bytes);
/// The same after an allocation has failed although enough memory was free. Rethrows all other
/// errors.
Error no_single_piece(const CudaError& error, std::size_t needed_bytes,
                      std::size_t workspace_bytes);

/// Q, K, V, O, LSE and the workspace, contiguous.
class ForwardTensors {
 public:
  /// Allocates the tensors of a run. invalid_request if the catalog rejects it; failed, with the
  /// bytes needed and free, if the GPU has too little memory. Lists of tiles, which pass() uploads,
  /// are not counted.
  static Result<ForwardTensors> allocate(const ResolvedRun& run);

  void generate_inputs(const Session& session, const InputSpec& spec);
  /// Rounds [B, H, N, d] and [B, H_kv, N_kv, d] values to the problem's precision.
  void upload_inputs(const double* Q, const double* K, const double* V);
  /// Sets O and LSE to NaN, so that elements that a kernel does not write are detected.
  void invalidate_outputs();

  /// The arguments of the pass. Without `with_lse`, kernels that write LSE only on request do not
  /// write it.
  PassArguments arguments(const Session& session, bool with_lse) const;
  /// The pass; the tensors must outlive it. With a trace, its main launch records into it; the
  /// buffer must outlive the pass, too.
  Pass pass(const Session& session, bool with_lse, const TraceBuffer* trace = nullptr) const;

  /// Rows of a tensor of the forward pass as doubles.
  std::vector<double> fetch(CheckedTensor tensor, Index b, Index h, Index begin, Index count) const;

 private:
  explicit ForwardTensors(const ResolvedRun& run) : run_(run) {}

  const DeviceBuffer& buffer(CheckedTensor tensor) const;

  ResolvedRun run_;
  DeviceBuffer Q_;
  DeviceBuffer K_;
  DeviceBuffer V_;
  DeviceBuffer O_;
  DeviceBuffer LSE_;
  DeviceBuffer workspace_;
};

}  // namespace attnscope::kernels
