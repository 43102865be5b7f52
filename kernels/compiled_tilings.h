/// What instances of the kernels there are, in words; as lists of tilings: kernel_tilings() and
/// backward_tilings() of catalog.h.
#pragma once

#include <string>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct KernelInfo;

/// Head dimensions that the forward pass takes in this precision, "1 to 256".
std::string head_dims_text(const KernelInfo& kernel, DType dtype);
/// The same of the backward pass.
std::string backward_head_dims_text(const KernelInfo& kernel, DType dtype);

}  // namespace attnscope::kernels
