/// The accuracy of the algorithms in the precisions of the kernels: values are rounded where a
/// kernel rounds them (stores and matrix operands to the problem's precision, accumulators to fp32)
/// and compared with the reference in double.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/row_softmax.h"
#include "sim/simulation.h"

namespace attnscope {

/// Explains why flash1's error grows with N if it rounds O, or dQ, between passes over j, and that
/// this is AttnScope's choice; empty if neither is rounded.
std::string_view rounded_output_note(std::string_view algorithm, Carry carry, DType dtype);

struct AccuracyRequest {
  AttentionProblem problem;    ///< its N, N_kv and dtype are replaced by those below
  std::vector<Index> lengths;  ///< values of N = N_kv in the error table
  std::vector<DType> dtypes;
  std::vector<Carry> carries = {Carry::fp32};  ///< flash1: the precisions of O (dQ) in HBM to
                                               ///< compare
  PassKind pass = PassKind::backward;          ///< forward: only O; backward: the gradients too
  InputSpec inputs;
  Tiling tiling{64, 64};
  Index orders = 4;  ///< of thread blocks, at least 2
  GpuDescription gpu;
};

/// Softmax of one row by one method.
struct SoftmaxCase {
  SoftmaxMethod method;
  DType dtype;
  RowSoftmax softmax;
};

/// The row whose softmaxes are compared: among the rows of the outlier inputs whose largest score
/// overflows fp32 without a shift, the one with the largest sum.
struct SoftmaxComparison {
  Index query = 0;
  Index keys = 0;
  double largest_score = 0;
  std::vector<SoftmaxCase> cases;
};

/// Errors of one algorithm against the reference.
struct AccuracyCase {
  RunSpec run;             ///< algorithm "unfused": the yardstick, three stored steps
  bool has_carry = false;  ///< the algorithm keeps O, or dQ, in HBM between passes over j
  ErrorReport O, dQ, dK, dV;
};

/// The effect of other orders of the thread blocks.
struct OrderCase {
  RunSpec run;
  Index orders = 0;
  double dQ_max_abs_difference = 0;  ///< largest over the orders, against the ascending one
  Index dQ_differing_elems = 0;      ///< most over the orders
  bool rest_is_identical = true;     ///< O, LSE, dK and dV are bit-identical
};

struct AccuracyReport {
  SoftmaxComparison softmax;
  std::vector<AccuracyCase> errors;
  std::vector<OrderCase> orders;  ///< at the largest N
};

/// Computes only the errors of the unfused computation and of every dense algorithm, grouped by
/// type and length; flash1 in each of the request's precisions of O in HBM. `progress` receives the
/// completed fraction; if it returns false, the result is failed, "cancelled". invalid_request as
/// below.
Result<std::vector<AccuracyCase>> accuracy_errors(const AccuracyRequest& request,
                                                  const std::function<bool(double)>& progress);

/// Runs all three comparisons. `progress` receives the number and the name of the current step:
/// "[2/12] errors in fp16, N = 512". invalid_request for a problem that cannot be computed or whose
/// numbers take too much memory.
Result<AccuracyReport> compare_accuracy(const AccuracyRequest& request,
                                        const std::function<void(const std::string&)>& progress);

}  // namespace attnscope
