/// Device memory of one forward pass.
#pragma once

#include <optional>
#include <vector>

#include "kernels/host/device_buffer.h"
#include "kernels/launch.h"
#include "kernels/measure/forward_request.h"
#include "kernels/measure/pass.h"
#include "kernels/measure/row_check.h"
#include "kernels/measure/stream.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Q, K, V, O, LSE and the workspace, contiguous.
class ForwardTensors {
 public:
  /// invalid_request when the catalog refuses the request; failed when the GPU has too little
  /// memory, with the bytes that are needed and free.
  static Result<ForwardTensors> allocate(const ForwardRequest& request);

  void generate_inputs(const Stream& stream, const InputSpec& spec);
  /// Rounds [B, H, N, d] and [B, H_kv, N_kv, d] values to the problem's precision.
  void upload_inputs(const double* Q, const double* K, const double* V);
  /// Makes O and LSE NaN, so that what a kernel leaves out shows.
  void poison_outputs();

  /// The pass on the stream. Without `with_lse`, kernels that write LSE on request alone leave it.
  Pass pass(const Stream& stream, bool with_lse) const;

  /// Rows of a tensor as doubles.
  std::vector<double> fetch(CheckedTensor tensor, Index b, Index h, Index begin, Index count) const;

 private:
  explicit ForwardTensors(const ForwardRequest& request) : request_(request) {}

  const DeviceBuffer& buffer(CheckedTensor tensor) const;

  ForwardRequest request_;
  DeviceBuffer Q_;
  DeviceBuffer K_;
  DeviceBuffer V_;
  DeviceBuffer O_;
  DeviceBuffer LSE_;
  DeviceBuffer workspace_;
};

}  // namespace attnscope::kernels
