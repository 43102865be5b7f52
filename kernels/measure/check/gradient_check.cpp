#include "kernels/measure/check/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "reference/block_mask.h"
#include "reference/naive_attention.h"
#include "reference/rounding.h"
#include "reference/score_steps.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"

namespace attnscope::kernels {

namespace {

using Values = std::vector<double>;

/// One gradient: the kernel's values, the reference's and the yardstick's, block by block.
struct GatheredGradient {
  Values kernel, reference, yardstick;

  void add(const Values& k, const Values& r, const Values& y) {
    for (auto [to, from] :
         {std::pair{&kernel, &k}, std::pair{&reference, &r}, std::pair{&yardstick, &y}}) {
      to->insert(to->end(), from->begin(), from->end());
    }
  }
};

struct GatheredGradients {
  GatheredGradient dQ, dK, dV;
  AttentionInputs extremes;  ///< every input value that the gradients depend on
  Index rows = 0;
  Index keys = 0;

  void note_inputs(const AttentionInputs& inputs) {
    for (auto member :
         {&AttentionInputs::Q, &AttentionInputs::K, &AttentionInputs::V, &AttentionInputs::dO}) {
      Values& to = (extremes.*member).data;
      for (const double value : (inputs.*member).data) {
        if (to.empty()) to.push_back(0.0);
        to[0] = std::max(to[0], std::fabs(value));
      }
    }
  }
};

HeadTensor fetch_tensor(const FetchRows& fetch, CheckedTensor tensor, Index batch, Index heads,
                        Index rows, Index cols) {
  HeadTensor values(batch, heads, rows, cols);
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      const Values head = fetch(tensor, b, h, 0, rows);
      std::copy(head.begin(), head.end(), values.head(b, h).begin());
    }
  }
  return values;
}

/// Computes all gradients at once.
void gather_all(const AttentionProblem& p, const FetchRows& fetch, GatheredGradients& gathered) {
  const auto queries = [&](CheckedTensor tensor) {
    return fetch_tensor(fetch, tensor, p.batch, p.heads, p.N, p.d);
  };
  const auto keys = [&](CheckedTensor tensor) {
    return fetch_tensor(fetch, tensor, p.batch, p.kv_heads, p.N_kv, p.d);
  };
  const AttentionInputs inputs{queries(CheckedTensor::Q), keys(CheckedTensor::K),
                               keys(CheckedTensor::V), queries(CheckedTensor::dO)};
  const Gradients reference = naive_backward(p, inputs, naive_forward(p, inputs));
  const Gradients unfused = unfused_backward(p, inputs);
  gathered.dQ.add(queries(CheckedTensor::dQ).data, reference.dQ.data, unfused.dQ.data);
  gathered.dK.add(keys(CheckedTensor::dK).data, reference.dK.data, unfused.dK.data);
  gathered.dV.add(keys(CheckedTensor::dV).data, reference.dV.data, unfused.dV.data);
  gathered.note_inputs(inputs);
  gathered.rows = p.batch * p.heads * p.N;
  gathered.keys = p.batch * p.kv_heads * p.N_kv;
}

/// dQ of a block of query rows, which depends on those rows and the keys that they see.
void gather_rows(const AttentionProblem& p, const CheckedRows& chosen, const FetchRows& fetch,
                 GatheredGradients& gathered) {
  for (const auto& [block, part] : restrict_to(p, chosen)) {
    const Values dQ = fetch(CheckedTensor::dQ, block.b, block.h, block.begin, block.count);
    gathered.rows += block.count;
    if (part.keys.size() == 0) {
      const Values zeros(dQ.size(), 0.0);
      gathered.dQ.add(dQ, zeros, zeros);
      continue;
    }
    if (needs_scored_row(p, part)) {
      RowOperands row = row_operands(p, block, part.keys, fetch);
      row.dO = fetch(CheckedTensor::dO, block.b, block.h, block.begin, 1);
      gathered.dQ.add(dQ, scored_row(p, row, RowPrecision::exact).dQ,
                      scored_row(p, row, RowPrecision::unfused).dQ);
      gathered.note_inputs(
          {one_head_tensor(1, p.d, row.Q), one_head_tensor(part.keys.size(), p.d, row.K),
           one_head_tensor(part.keys.size(), p.d, row.V), one_head_tensor(1, p.d, row.dO)});
      continue;
    }
    const Index kv_head = p.kv_head_of(block.h);
    const auto operand = [&, b = block.b](CheckedTensor tensor, Index h, Index begin, Index count) {
      return one_head_tensor(count, p.d, fetch(tensor, b, h, begin, count));
    };
    const AttentionInputs inputs{
        operand(CheckedTensor::Q, block.h, block.begin, block.count),
        operand(CheckedTensor::K, kv_head, part.keys.begin, part.keys.size()),
        operand(CheckedTensor::V, kv_head, part.keys.begin, part.keys.size()),
        operand(CheckedTensor::dO, block.h, block.begin, block.count)};
    const ForwardResult forward = naive_forward(part.problem, inputs);
    gathered.dQ.add(dQ, naive_backward(part.problem, inputs, forward).dQ.data,
                    unfused_backward(part.problem, inputs).dQ.data);
    gathered.note_inputs(inputs);
  }
}

double dot(const double* a, const double* b, Index d) {
  double sum = 0.0;
  for (Index c = 0; c < d; ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(double* to, double factor, const double* from, Index d) {
  for (Index c = 0; c < d; ++c) to[c] += factor * from[c];
}

/// Both functions for the yardstick, whose products accumulate in fp32.
double dot_fp32(const double* a, const double* b, Index d) {
  float sum = 0.0f;
  for (Index c = 0; c < d; ++c) sum += static_cast<float>(a[c]) * static_cast<float>(b[c]);
  return static_cast<double>(sum);
}

void add_scaled_fp32(double* to, double factor, const double* from, Index d) {
  for (Index c = 0; c < d; ++c) {
    to[c] = static_cast<double>(static_cast<float>(to[c] + factor * from[c]));
  }
}

/// A block of key rows of one KV head: dK and dV are sums over the queries of its query heads.
class KeyBlock {
 public:
  KeyBlock(const AttentionProblem& problem, const CheckedRows& block, const FetchRows& fetch)
      : p_(problem), block_(block), fetch_(fetch) {
    K_ = fetch(CheckedTensor::K, block.b, block.h, block.begin, block.count);
    V_ = fetch(CheckedTensor::V, block.b, block.h, block.begin, block.count);
    K_scaled_ = K_;
    for (double& k : K_scaled_) k = store(k * p_.softmax_scale());
    for (Values* sum : {&dK_, &dV_, &dK_unfused_, &dV_unfused_}) sum->assign(K_.size(), 0.0);
  }

  void add_query_head(Index h, GatheredGradients& gathered) {
    const auto of_head = [&](CheckedTensor tensor) { return fetch_(tensor, block_.b, h, 0, p_.N); };
    const AttentionInputs inputs{one_head_tensor(p_.N, p_.d, of_head(CheckedTensor::Q)),
                                 one_head_tensor(block_.count, p_.d, K_),
                                 one_head_tensor(block_.count, p_.d, V_),
                                 one_head_tensor(p_.N, p_.d, of_head(CheckedTensor::dO))};
    gathered.note_inputs(inputs);
    const Values O = of_head(CheckedTensor::O);
    const Values LSE = of_head(CheckedTensor::LSE);
    const ScoreSteps steps(p_, block_.b, h);
    Values dK_head(K_.size(), 0.0), dV_head(K_.size(), 0.0);  // the yardstick's
    for (Index i = 0; i < p_.N; ++i) {
      const KeyRange seen = p_.keys_of(i, block_.b);
      if (seen.begin >= block_.begin + block_.count || seen.end <= block_.begin) continue;
      const double* Qi = &inputs.Q.data[static_cast<std::size_t>(i * p_.d)];
      const double* dOi = &inputs.dO.data[static_cast<std::size_t>(i * p_.d)];
      const double D = dot(dOi, &O[static_cast<std::size_t>(i * p_.d)], p_.d);
      const double lse = LSE[static_cast<std::size_t>(i)];
      const Scores exact = scores(steps, i, Qi, K_, p_.softmax_scale());
      const Scores stored = scores(steps, i, Qi, K_scaled_, 1.0);
      for (Index n = 0; n < block_.count; ++n) {
        const Index key = block_.begin + n;
        if (key < seen.begin || key >= seen.end) continue;
        if (p_.block_mask != nullptr && !p_.block_mask->attends(i, key)) continue;
        const auto row = static_cast<std::size_t>(n * p_.d);
        const auto at = static_cast<std::size_t>(n);
        const double P = std::exp(exact.S[at] - lse);
        const double Z = exact.Z[at];
        const double dP = dot(dOi, &V_[row], p_.d);
        add_scaled(&dV_[row], Z * P, dOi, p_.d);
        add_scaled(&dK_[row], p_.softmax_scale() * P * (Z * dP - D) * exact.slopes[at], Qi, p_.d);

        // The same with every tensor between the steps stored
        const double P_stored = store(std::exp(stored.S[at] - lse));
        const double dP_stored = store(Z * store(dot_fp32(dOi, &V_[row], p_.d)));
        add_scaled_fp32(&dV_head[row], store(Z * P_stored), dOi, p_.d);
        add_scaled_fp32(&dK_head[row], store(P_stored * (dP_stored - D) * stored.slopes[at]), Qi,
                        p_.d);
      }
    }
    for (std::size_t n = 0; n < K_.size(); ++n) {
      dV_unfused_[n] += store(dV_head[n]);
      dK_unfused_[n] += store(store(dK_head[n]) * p_.softmax_scale());
    }
  }

  void finish(GatheredGradients& gathered) {
    for (Values* sum : {&dK_unfused_, &dV_unfused_}) {
      for (double& value : *sum) value = store(value);
    }
    const auto kernel = [&](CheckedTensor tensor) {
      return fetch_(tensor, block_.b, block_.h, block_.begin, block_.count);
    };
    gathered.dK.add(kernel(CheckedTensor::dK), dK_, dK_unfused_);
    gathered.dV.add(kernel(CheckedTensor::dV), dV_, dV_unfused_);
    gathered.keys += block_.count;
  }

 private:
  /// The scores of a query and the block's keys after the score function, the soft cap's slopes and
  /// dropout's factors.
  struct Scores {
    Values S, slopes, Z;
  };

  Scores scores(const ScoreSteps& steps, Index query, const double* Q, const Values& K,
                double scale) const {
    const auto count = static_cast<std::size_t>(block_.count);
    Scores result{Values(count), Values(count, 1.0), Values(count, 1.0)};
    for (std::size_t n = 0; n < count; ++n) {
      const double* const key = &K[n * static_cast<std::size_t>(p_.d)];
      result.S[n] = scale == 1.0 ? store(dot_fp32(Q, key, p_.d)) : scale * dot(Q, key, p_.d);
    }
    if (steps.caps()) {
      result.slopes = result.S;
      steps.slopes(view_of_row(result.slopes));
    }
    steps.apply(view_of_row(result.S), query, block_.begin);
    steps.drop(view_of_row(result.Z), query, block_.begin);
    return result;
  }

  double store(double value) const { return round_to(p_.dtype, value); }

  const AttentionProblem& p_;
  const CheckedRows& block_;
  const FetchRows& fetch_;
  Values K_, V_, K_scaled_, dK_, dV_, dK_unfused_, dV_unfused_;
};

void gather_keys(const AttentionProblem& p, const CheckedRows& block, const FetchRows& fetch,
                 GatheredGradients& gathered) {
  KeyBlock keys(p, block, fetch);
  const Index group = p.heads_per_kv_head();
  for (Index h = block.h * group; h < (block.h + 1) * group; ++h) {
    keys.add_query_head(h, gathered);
  }
  keys.finish(gathered);
}

/// The largest cost of the whole reference at which all rows are still checked: a second or two.
constexpr double kSmallFlops = 4e9;

double reference_flops(const AttentionProblem& p) {
  return 14.0 * static_cast<double>(p.batch * p.heads) * static_cast<double>(p.N) *
         static_cast<double>(p.N_kv) * static_cast<double>(p.d);
}

/// The gradient's errors, or the reason why they cannot be computed. Sets `is_within` to false if
/// they exceed the tolerance.
Result<GradientError> error_of(const char* name, const AttentionProblem& problem,
                               const AttentionInputs& inputs, const GatheredGradient& gradient,
                               bool& is_within) {
  const ErrorReport report = compare(gradient.kernel, gradient.reference);
  if (report.has_nan) return failed("the kernel's {} contains NaN", name);
  if (!std::isfinite(report.max_abs_error)) {
    return failed("the kernel's {} contains an infinity", name);
  }
  const Tolerance tolerance =
      gradient_tolerance(problem, inputs, gradient.yardstick, gradient.reference);
  is_within = is_within && within(report, tolerance);
  return GradientError{report.max_abs_error, report.rel_fro_error,
                       compare(gradient.yardstick, gradient.reference).max_abs_error};
}

}  // namespace

Result<GradientAccuracy> check_gradients(const AttentionProblem& problem, Index rows,
                                         const FetchRows& fetch) {
  GatheredGradients gathered;
  AttentionProblem of_keys = problem;  // with the keys as query rows
  of_keys.heads = problem.kv_heads;
  of_keys.N = problem.N_kv;
  if (rows >= problem.batch * problem.heads * problem.N || reference_flops(problem) < kSmallFlops) {
    gather_all(problem, fetch, gathered);
  } else {
    for (const CheckedRows& block : choose_rows(problem, rows)) {
      gather_rows(problem, block, fetch, gathered);
    }
    for (const CheckedRows& block : choose_rows(of_keys, rows)) {
      gather_keys(problem, block, fetch, gathered);
    }
  }

  GradientAccuracy accuracy{.rows_checked = gathered.rows, .keys_checked = gathered.keys};
  accuracy.within_tolerance = true;
  const std::tuple<const char*, const GatheredGradient&, GradientError&> all[] = {
      {"dQ", gathered.dQ, accuracy.dQ},
      {"dK", gathered.dK, accuracy.dK},
      {"dV", gathered.dV, accuracy.dV}};
  for (const auto& [name, gradient, error] : all) {
    const auto found =
        error_of(name, problem, gathered.extremes, gradient, accuracy.within_tolerance);
    if (!found) return found.error();
    error = found.value();
  }
  return accuracy;
}

}  // namespace attnscope::kernels
