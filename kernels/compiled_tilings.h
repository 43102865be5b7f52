/// What instances of the kernels there are, in words and for a problem; as lists of tilings:
/// kernel_tilings() and backward_tilings() of catalog.h.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct KernelInfo;

/// Head dimensions that the forward pass takes in this precision, "1 to 256".
std::string head_dims_text(const KernelInfo& kernel, DType dtype);
/// The same of the backward pass.
std::string backward_head_dims_text(const KernelInfo& kernel, DType dtype);

/// kernel_tilings() of a problem: with has_score_parameters(), those that have score functions,
/// which ask for registers and shared memory and so have tilings of their own. Those without where
/// the kernel has none.
std::vector<Tiling> kernel_tilings(const KernelInfo& kernel, const AttentionProblem& problem);
/// The same of backward_tilings().
std::vector<Tiling> backward_tilings(const KernelInfo& kernel, const AttentionProblem& problem);

/// What a problem with has_score_parameters() has, "softcap 30, key lengths 5,7" or "mask
/// window:64,0".
std::string scores_text(const AttentionProblem& problem);

}  // namespace attnscope::kernels
