/// The reference compared with a second implementation of attention: scalar loops over queries and
/// keys in long double, masks by their inequality, gradients by the chain rule. Random problems,
/// the same in every run.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "reference/inputs.h"
#include "reference/naive_attention.h"

namespace attnscope {
namespace {

using Wide = long double;

class RandomProblem {
 public:
  explicit RandomProblem(unsigned seed) : engine_(seed) {
    problem.kv_heads = below(3) + 1;
    problem.heads = problem.kv_heads * (below(3) + 1);
    problem.batch = below(3) + 1;
    problem.N = below(24) + 1;
    problem.N_kv = one_in(2) ? problem.N : below(24) + 1;
    problem.d = below(16) + 1;
    problem.dtype = DType::fp32;
    const auto side = [&] { return one_in(3) ? Index{-1} : below(12); };
    if (one_in(3)) problem.mask = Mask::causal();
    if (one_in(3)) problem.mask = Mask::window(side(), side());
    if (one_in(2)) problem.mask.alignment = Mask::Alignment::top_left;
    if (one_in(3)) problem.score.soft_cap = 0.5 + static_cast<double>(below(40));
    if (one_in(3)) {
      for (Index h = 0; h < problem.heads; ++h) {
        problem.score.alibi_slopes.push_back(static_cast<double>(below(100)) / 64.0);
      }
    }
    if (one_in(3)) {
      for (Index b = 0; b < problem.batch; ++b) {
        problem.key_lengths.push_back(1 + below(problem.N_kv));
      }
    }
  }

  AttentionProblem problem;

 private:
  Index below(Index count) { return static_cast<Index>(engine_() % static_cast<unsigned>(count)); }
  bool one_in(Index count) { return below(count) == 0; }
  std::mt19937 engine_;
};

/// Row q of head h: its probabilities, and the derivative of each score with respect to Q K^T.
struct Row {
  std::vector<Wide> P;
  std::vector<Wide> slope;
  Wide lse = -std::numeric_limits<Wide>::infinity();
};

bool is_visible(const AttentionProblem& p, Index b, Index q, Index k) {
  const Index last = p.key_lengths.empty() ? p.N_kv : p.key_lengths[static_cast<std::size_t>(b)];
  const Index offset = p.mask.alignment == Mask::Alignment::top_left ? 0 : p.N_kv - p.N;
  const Index distance = k - q - offset;
  return k < last && (p.mask.left < 0 || -distance <= p.mask.left) &&
         (p.mask.right < 0 || distance <= p.mask.right);
}

Row attention_row(const AttentionProblem& p, const AttentionInputs& x, Index b, Index h, Index q) {
  const Index group = p.heads / p.kv_heads;
  Row row{std::vector<Wide>(static_cast<std::size_t>(p.N_kv), 0),
          std::vector<Wide>(static_cast<std::size_t>(p.N_kv), 0)};
  std::vector<Wide> S(static_cast<std::size_t>(p.N_kv), 0);
  Wide sum = 0;
  Wide greatest = -std::numeric_limits<Wide>::infinity();
  for (Index k = 0; k < p.N_kv; ++k) {
    if (!is_visible(p, b, q, k)) continue;
    Wide dot = 0;
    for (Index c = 0; c < p.d; ++c) {
      dot += static_cast<Wide>(x.Q.at(b, h, q, c)) * x.K.at(b, h / group, k, c);
    }
    const Wide scale = 1 / std::sqrt(static_cast<Wide>(p.d));
    Wide score = dot * scale;
    Wide slope = scale;
    if (p.score.soft_cap) {
      const Wide t = std::tanh(score / *p.score.soft_cap);
      slope *= 1 - t * t;
      score = *p.score.soft_cap * t;
    }
    if (!p.score.alibi_slopes.empty()) {
      score -= static_cast<Wide>(p.score.alibi_slopes[static_cast<std::size_t>(h)]) *
               static_cast<Wide>(std::abs(k - q - (p.N_kv - p.N)));
    }
    S[static_cast<std::size_t>(k)] = score;
    row.slope[static_cast<std::size_t>(k)] = slope;
    greatest = std::max(greatest, score);
  }
  for (Index k = 0; k < p.N_kv; ++k) {
    if (!is_visible(p, b, q, k)) continue;
    const auto n = static_cast<std::size_t>(k);
    sum += row.P[n] = std::exp(S[n] - greatest);
  }
  for (Wide& P : row.P) P = sum > 0 ? P / sum : 0;
  if (sum > 0) row.lse = greatest + std::log(sum);
  return row;
}

struct Tensors {
  ForwardResult forward;
  Gradients gradients;
};

Tensors second_implementation(const AttentionProblem& p, const AttentionInputs& x) {
  const HeadTensor queries(p.batch, p.heads, p.N, p.d);
  const HeadTensor keys(p.batch, p.kv_heads, p.N_kv, p.d);
  Tensors result{{queries, HeadTensor(p.batch, p.heads, p.N, 1)}, {queries, keys, keys}};
  const Index group = p.heads / p.kv_heads;
  for (Index b = 0; b < p.batch; ++b) {
    for (Index h = 0; h < p.heads; ++h) {
      for (Index q = 0; q < p.N; ++q) {
        const Row row = attention_row(p, x, b, h, q);
        result.forward.LSE.at(b, h, q, 0) = static_cast<double>(row.lse);
        std::vector<Wide> dP(static_cast<std::size_t>(p.N_kv), 0);
        Wide mean = 0;
        for (Index k = 0; k < p.N_kv; ++k) {
          const auto n = static_cast<std::size_t>(k);
          for (Index c = 0; c < p.d; ++c) {
            const Wide V = x.V.at(b, h / group, k, c);
            const Wide dO = x.dO.at(b, h, q, c);
            result.forward.O.at(b, h, q, c) += static_cast<double>(row.P[n] * V);
            result.gradients.dV.at(b, h / group, k, c) += static_cast<double>(row.P[n] * dO);
            dP[n] += dO * V;
          }
          mean += row.P[n] * dP[n];
        }
        for (Index k = 0; k < p.N_kv; ++k) {
          const auto n = static_cast<std::size_t>(k);
          const Wide dot_gradient = row.P[n] * (dP[n] - mean) * row.slope[n];
          for (Index c = 0; c < p.d; ++c) {
            result.gradients.dQ.at(b, h, q, c) +=
                static_cast<double>(dot_gradient * x.K.at(b, h / group, k, c));
            result.gradients.dK.at(b, h / group, k, c) +=
                static_cast<double>(dot_gradient * x.Q.at(b, h, q, c));
          }
        }
      }
    }
  }
  return result;
}

/// The largest difference, relative to the larger of the largest value and 1; infinities must be
/// equal.
double difference(const HeadTensor& a, const HeadTensor& b) {
  double largest = 1.0;
  double most = 0.0;
  for (std::size_t n = 0; n < a.data.size(); ++n) {
    if (a.data[n] == b.data[n]) continue;
    if (!std::isfinite(a.data[n] - b.data[n])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(b.data[n]));
    most = std::max(most, std::abs(a.data[n] - b.data[n]));
  }
  return most / largest;
}

TEST(RandomAttention, ReferenceAgreesWithASecondImplementation) {
  constexpr double kTolerance = 4e-15;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const AttentionProblem problem = RandomProblem(seed).problem;
    ASSERT_FALSE(validate(problem)) << seed;
    const AttentionInputs inputs = make_inputs(problem, {.seed = seed});
    const Tensors expected = second_implementation(problem, inputs);
    const ForwardResult forward = naive_forward(problem, inputs);
    const Gradients gradients = naive_backward(problem, inputs, forward);
    EXPECT_LE(difference(forward.O, expected.forward.O), kTolerance) << seed;
    EXPECT_LE(difference(forward.LSE, expected.forward.LSE), kTolerance) << seed;
    EXPECT_LE(difference(gradients.dQ, expected.gradients.dQ), kTolerance) << seed;
    EXPECT_LE(difference(gradients.dK, expected.gradients.dK), kTolerance) << seed;
    EXPECT_LE(difference(gradients.dV, expected.gradients.dV), kTolerance) << seed;
  }
}

}  // namespace
}  // namespace attnscope
