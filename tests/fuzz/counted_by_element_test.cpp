/// Bytes and operations of every pass compared with sums over tiles whose elements are tested one
/// by one, following the papers' algorithms (arXiv 2205.14135, Algorithms 0 to 5; 2307.08691,
/// Algorithms 1 and 2): no code of the schedules is used. Random small problems, the same in every
/// run.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "reference/block_mask.h"
#include "sim/resolve.h"
#include "sim/simulation.h"

namespace attnscope {
namespace {

constexpr Index kFp32Bytes = 4;

/// A random problem, and the sizes of its tiles.
class RandomRun {
 public:
  RandomRun(unsigned seed, std::string_view algorithm, PassKind pass) : engine_(seed) {
    spec.algorithm = algorithm;
    spec.pass = pass;
    AttentionProblem& p = spec.problem;
    p.kv_heads = one_to(3);
    const bool may_group = algorithm == "flash2" && pass == PassKind::forward;
    p.heads = p.kv_heads * (may_group ? one_to(3) : 1);
    p.batch = one_to(3);
    p.N = p.N_kv = one_to(100);
    p.d = 8 * one_to(8);
    p.dtype = one_to(2) == 1 ? DType::bf16 : DType::fp32;
    const bool is_masked = algorithm != "standard" && algorithm != "split_kv";
    if (is_masked && one_to(2) == 1) p.mask = Mask::causal();
    if (is_masked && one_to(3) == 1) p.mask = Mask::window(one_to(20), one_to(20));
    spec.set_tiling({one_to(40), one_to(40)});
    if (find_algorithm(algorithm)->takes_block_mask) {
      const std::string pattern = "random:0.5," + std::to_string(seed);
      spec.block_mask = parse_block_pattern(pattern).value();
    }
    if (algorithm == "split_kv") spec.splits = one_to(ceil_div(p.N_kv, *spec.Bc));
    spec.allow_overflow = true;
  }
  RunSpec spec;

 private:
  Index one_to(Index count) {
    return 1 + static_cast<Index>(engine_() % static_cast<unsigned>(count));
  }
  std::mt19937 engine_;
};

struct Counts {
  Index read_bytes = 0;
  Index write_bytes = 0;
  Index matmul_flops = 0;
};

/// The sizes of one head and which of its tiles are visited.
class Head {
 public:
  Head(const RunSpec& spec, const AttentionProblem& problem)
      : N(problem.N),
        N_kv(problem.N_kv),
        d(problem.d),
        e(problem.dtype == DType::fp32 ? 4 : 2),
        Tr((problem.N + *spec.Br - 1) / *spec.Br),
        Tc((problem.N_kv + *spec.Bc - 1) / *spec.Bc),
        Br_(*spec.Br),
        Bc_(*spec.Bc),
        mask_(problem.mask),
        block_mask_(problem.block_mask) {}

  Index rows(Index i) const { return std::min(N, (i + 1) * Br_) - i * Br_; }
  Index columns(Index j) const { return std::min(N_kv, (j + 1) * Bc_) - j * Bc_; }
  /// Whether the block mask keeps the tile and the mask shows one of its elements.
  bool visits(Index i, Index j) const {
    if (block_mask_ && !block_mask_->contains(i, j)) return false;
    for (Index q = i * Br_; q < i * Br_ + rows(i); ++q) {
      for (Index k = j * Bc_; k < j * Bc_ + columns(j); ++k) {
        const Index distance = k - q;
        const bool shown = (mask_.left < 0 || -distance <= mask_.left) &&
                           (mask_.right < 0 || distance <= mask_.right);
        if (shown) return true;
      }
    }
    return false;
  }

  const Index N, N_kv, d, e, Tr, Tc;

 private:
  Index Br_, Bc_;
  Mask mask_;
  SharedBlockMask block_mask_;
};

/// The counts of Algorithm 0: each tile of a product reads a row of tiles and a column of tiles.
Counts standard_forward(const Head& h) {
  const Index S = h.N * h.N_kv * h.e;
  const Index Q = h.N * h.d * h.e, K = h.N_kv * h.d * h.e;
  Counts counts;
  counts.read_bytes += h.Tc * Q + h.Tr * K;  // S = Q K^T
  counts.read_bytes += S;                    // P = softmax(S)
  counts.read_bytes += S + h.Tr * K;         // O = P V
  counts.write_bytes = S + S + Q;
  counts.matmul_flops = 2 * 2 * h.d * h.N * h.N_kv;
  return counts;
}

/// Algorithm 3.
Counts standard_backward(const Head& h) {
  const Index S = h.N * h.N_kv * h.e;
  const Index Q = h.N * h.d * h.e, K = h.N_kv * h.d * h.e;
  Counts counts;
  counts.read_bytes += S + h.Tc * Q;         // dV = P^T dO
  counts.read_bytes += h.Tc * Q + h.Tr * K;  // dP = dO V^T
  counts.read_bytes += S + S;                // dS from P and dP
  counts.read_bytes += S + h.Tr * K;         // dQ = dS K
  counts.read_bytes += S + h.Tc * Q;         // dK = dS^T Q
  counts.write_bytes = K + S + S + Q + K;
  counts.matmul_flops = 4 * 2 * h.d * h.N * h.N_kv;
  return counts;
}

/// The counts of Algorithm 1, without line 2, which writes the initial O, m and l.
Counts flash1_forward(const Head& h) {
  Counts counts;
  for (Index j = 0; j < h.Tc; ++j) {
    counts.read_bytes += 2 * h.columns(j) * h.d * h.e;  // Kj, Vj
    for (Index i = 0; i < h.Tr; ++i) {
      if (!h.visits(i, j)) continue;
      const Index tile = h.rows(i) * h.d * h.e, statistics = 2 * h.rows(i) * kFp32Bytes;
      counts.read_bytes += 2 * tile + statistics;  // Qi, Oi; m, l
      counts.write_bytes += tile + statistics;     // Oi; m, l
      counts.matmul_flops += 2 * 2 * h.d * h.rows(i) * h.columns(j);
    }
  }
  return counts;
}

/// The counts of Algorithm 4, without the first dQ.
Counts flash1_backward(const Head& h) {
  Counts counts;
  for (Index j = 0; j < h.Tc; ++j) {
    const Index keys = 2 * h.columns(j) * h.d * h.e;
    counts.read_bytes += keys;   // Kj, Vj
    counts.write_bytes += keys;  // dKj, dVj
    for (Index i = 0; i < h.Tr; ++i) {
      if (!h.visits(i, j)) continue;
      const Index tile = h.rows(i) * h.d * h.e;
      counts.read_bytes += 4 * tile + 2 * h.rows(i) * kFp32Bytes;  // Qi, Oi, dOi, dQi; m, l
      counts.write_bytes += tile;                                  // dQi
      counts.matmul_flops += 5 * 2 * h.d * h.rows(i) * h.columns(j);
    }
  }
  return counts;
}

/// The counts of FlashAttention-2, Algorithm 1.
Counts flash2_forward(const Head& h) {
  Counts counts;
  for (Index i = 0; i < h.Tr; ++i) {
    counts.read_bytes += h.rows(i) * h.d * h.e;                  // Qi
    counts.write_bytes += h.rows(i) * (h.d * h.e + kFp32Bytes);  // Oi, LSE
    for (Index j = 0; j < h.Tc; ++j) {
      if (!h.visits(i, j)) continue;
      counts.read_bytes += 2 * h.columns(j) * h.d * h.e;  // Kj, Vj
      counts.matmul_flops += 2 * 2 * h.d * h.rows(i) * h.columns(j);
    }
  }
  return counts;
}

/// The counts of FlashAttention-2, Algorithm 2: D before, dQ summed in fp32 and converted after.
Counts flash2_backward(const Head& h) {
  const Index Q = h.N * h.d * h.e, sums = h.N * h.d * kFp32Bytes, D = h.N * kFp32Bytes;
  Counts counts;
  counts.read_bytes = 2 * Q + sums;   // O, dO; the sums of dQ
  counts.write_bytes = D + sums + Q;  // D, zeros, dQ
  for (Index j = 0; j < h.Tc; ++j) {
    const Index keys = 2 * h.columns(j) * h.d * h.e;
    counts.read_bytes += keys;   // Kj, Vj
    counts.write_bytes += keys;  // dKj, dVj
    for (Index i = 0; i < h.Tr; ++i) {
      if (!h.visits(i, j)) continue;
      counts.read_bytes += h.rows(i) * 2 * (h.d * h.e + kFp32Bytes);  // Qi, dOi; LSE, D
      counts.write_bytes += h.rows(i) * h.d * kFp32Bytes;             // adds to dQi
      counts.matmul_flops += 5 * 2 * h.d * h.rows(i) * h.columns(j);
    }
  }
  return counts;
}

/// The counts of split_kv: every split reads Q and writes O and LSE in fp32, which the second
/// launch merges.
Counts split_kv_forward(const Head& h, Index splits) {
  const Index Q = h.N * h.d * h.e, LSE = h.N * kFp32Bytes;
  const Index parts = splits * (h.N * h.d * kFp32Bytes + LSE);
  return {.read_bytes = splits * Q + h.Tr * 2 * h.N_kv * h.d * h.e + parts,
          .write_bytes = parts + Q + LSE,
          .matmul_flops = 2 * 2 * h.d * h.N * h.N_kv};
}

Counts count_head(const RunSpec& spec, const Head& head) {
  const bool is_forward = spec.pass == PassKind::forward;
  if (spec.algorithm == "standard") {
    return is_forward ? standard_forward(head) : standard_backward(head);
  }
  if (spec.algorithm == "split_kv") return split_kv_forward(head, *spec.splits);
  if (spec.algorithm == "flash1" || spec.algorithm == "block_sparse") {
    return is_forward ? flash1_forward(head) : flash1_backward(head);
  }
  return is_forward ? flash2_forward(head) : flash2_backward(head);
}

class CountedByElement : public testing::TestWithParam<std::tuple<const char*, PassKind>> {};

TEST_P(CountedByElement, ThePassMovesAndComputesThis) {
  const auto [algorithm, pass] = GetParam();
  const auto gpu = load_gpu("h200");
  ASSERT_TRUE(gpu.ok());
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RunSpec spec = RandomRun(seed, algorithm, pass).spec;
    const auto run = resolve(spec, gpu.value());
    ASSERT_TRUE(run.ok()) << seed << ": " << run.error().message;
    const auto report = resolve_and_simulate(spec, gpu.value());
    ASSERT_TRUE(report.ok()) << seed << ": " << report.error().message;
    const Counts head = count_head(spec, Head(spec, run.value().problem));
    const Index heads = spec.problem.batch * spec.problem.heads;
    EXPECT_EQ(report.value().requested.read_bytes, heads * head.read_bytes) << seed;
    EXPECT_EQ(report.value().requested.write_bytes, heads * head.write_bytes) << seed;
    EXPECT_EQ(report.value().matmul_flops, heads * head.matmul_flops) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, CountedByElement,
                         testing::Values(std::tuple("standard", PassKind::forward),
                                         std::tuple("standard", PassKind::backward),
                                         std::tuple("flash1", PassKind::forward),
                                         std::tuple("flash1", PassKind::backward),
                                         std::tuple("flash2", PassKind::forward),
                                         std::tuple("flash2", PassKind::backward),
                                         std::tuple("block_sparse", PassKind::forward),
                                         std::tuple("block_sparse", PassKind::backward),
                                         std::tuple("block_sparse2", PassKind::forward),
                                         std::tuple("block_sparse2", PassKind::backward),
                                         std::tuple("split_kv", PassKind::forward)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(to_string(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace attnscope
