/// The compiled instances of the kernels, as text and for a problem; as lists of tilings they are
/// kernel_tilings() and backward_tilings() of catalog.h.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct KernelInfo;

/// Head dimensions that the forward pass takes in this precision, "1 to 256".
std::string head_dims_text(const KernelInfo& kernel, DType dtype);
/// The same for the backward pass.
std::string backward_head_dims_text(const KernelInfo& kernel, DType dtype);

/// kernel_tilings() for a problem: with has_score_parameters(), the tilings compiled with score
/// functions, which need more registers and shared memory; if the kernel has none, those without.
std::vector<Tiling> kernel_tilings(const KernelInfo& kernel, const AttentionProblem& problem);
/// The same for backward_tilings().
std::vector<Tiling> backward_tilings(const KernelInfo& kernel, const AttentionProblem& problem);

/// The score parameters of a problem as text, "softcap 30, key lengths 5,7" or "mask window:64,0".
std::string scores_text(const AttentionProblem& problem);

}  // namespace attnscope::kernels
