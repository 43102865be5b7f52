/// The inputs of a measured pass.
#pragma once

#include "reference/inputs.h"

namespace attnscope::kernels {

/// If Q is given, the host's tensors, in C order, rounded to the problem's precision when copied;
/// otherwise tensors generated on the GPU.
struct MeasuredInputs {
  InputSpec spec;
  const double* Q = nullptr;   ///< [B, H, N, d]
  const double* K = nullptr;   ///< [B, H_kv, N_kv, d]
  const double* V = nullptr;   ///< [B, H_kv, N_kv, d]
  const double* dO = nullptr;  ///< [B, H, N, d]; of a backward pass

  bool from_host() const { return Q != nullptr; }
};

}  // namespace attnscope::kernels
