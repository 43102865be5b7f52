/// The only rule by which results are compared with the reference:
///   |x - ref| <= max(k * error of unfused attention in the same precision,
///                    one unit in the last place of the output),
/// with NaN always rejected; gradients in fp32 may have a relative error of kFp32RelError instead.
/// The unfused computation is that of unfused_attention.h.
#pragma once

#include <span>

#include "reference/unfused_attention.h"

namespace attnscope {

/// The difference between x and ref. Equal infinities match: the LSE of an empty row is -inf.
struct ErrorReport {
  double max_abs_error = 0.0;  ///< infinite if infinities differ; NaN elements are excluded
  double rel_fro_error = 0.0;  ///< |x - ref| / |ref| in the Frobenius norm, over finite elements
  bool has_nan = false;        ///< either side contains a NaN
  Index worst_index = 0;       ///< flat index of the first NaN, else of max_abs_error
};

/// Compares element by element; both spans have the same size.
ErrorReport compare(std::span<const double> x, std::span<const double> ref);

struct Tolerance {
  double max_abs = 0.0;
  double rel_fro = 0.0;  ///< a relative error accepted instead, for gradients in fp32
};

/// Whether the error is within the tolerance; false if there is a NaN.
bool within(const ErrorReport& report, const Tolerance& tolerance);

/// The rule, given the yardstick's result: `yardstick` and `ref` are the same tensor, `stored`
/// the precision in which outputs of that kind are stored.
Tolerance tolerance_from(std::span<const double> yardstick, std::span<const double> ref,
                         DType stored, double k = 2.0);

/// The rule for O: the yardstick is unfused_forward(), stored in the problem's precision. To check
/// LSE as well, call unfused_forward once and tolerance_from twice (LSE is stored in fp32).
Tolerance forward_tolerance(const AttentionProblem& problem, const AttentionInputs& inputs,
                            const ForwardResult& reference, double k = 2.0);

/// Gradients may have three times the error of those of unfused attention.
inline constexpr double kGradientFactor = 3.0;

/// In fp32, the yardstick is as precise as a kernel, but computes in a different order and without
/// the rounding error of LSE in P = exp(S - LSE). Therefore a relative error this small is
/// accepted.
inline constexpr double kFp32RelError = 2e-6;

/// The rule for one of dQ, dK, dV, with k = 3. If a query sees one key, or its softmax is
/// concentrated on one key, dP = D: the gradient vanishes, and with it the yardstick's dS. A
/// kernel's dP and D are sums of d products in fp32, whose rounding error remains, and dK sums N
/// such dS, whose errors accumulate like random ones: a gradient smaller than this error may differ
/// by as much. `inputs` are those of the problem, or the rows that `ref` depends on.
Tolerance gradient_tolerance(const AttentionProblem& problem, const AttentionInputs& inputs,
                             std::span<const double> yardstick, std::span<const double> ref);

}  // namespace attnscope
