/// Bytes and operations of the flash forward passes against loops over single elements, by the
/// papers' algorithms (arXiv 2205.14135, Algorithm 1; 2307.08691, Algorithm 1): nothing of the
/// schedules is used. Random small problems, the same in every run.
#include <gtest/gtest.h>

#include <random>

#include "sim/resolve.h"
#include "sim/simulation.h"

namespace attnscope {
namespace {

class RandomRun {
 public:
  explicit RandomRun(unsigned seed, const char* algorithm) : engine_(seed) {
    spec.algorithm = algorithm;
    AttentionProblem& p = spec.problem;
    p.kv_heads = one_to(3);
    p.heads = p.kv_heads * one_to(3);
    p.batch = one_to(3);
    p.N = p.N_kv = one_to(100);
    p.d = 8 * one_to(8);
    p.dtype = one_to(2) == 1 ? DType::bf16 : DType::fp32;
    if (one_to(2) == 1) p.mask = Mask::causal();
    if (one_to(3) == 1) p.mask = Mask::window(one_to(20), one_to(20));
    spec.set_tiling({one_to(40), one_to(40)});
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

/// Whether the mask shows an element of the tile.
bool is_visited(const RunSpec& spec, Index i, Index j) {
  const AttentionProblem& p = spec.problem;
  for (Index q = i * *spec.Br; q < std::min(p.N, (i + 1) * *spec.Br); ++q) {
    for (Index k = j * *spec.Bc; k < std::min(p.N_kv, (j + 1) * *spec.Bc); ++k) {
      const Index distance = k - q;
      const bool shown = (p.mask.left < 0 || -distance <= p.mask.left) &&
                         (p.mask.right < 0 || distance <= p.mask.right);
      if (shown) return true;
    }
  }
  return false;
}

/// One head: every multiplication of Q K^T and P V, and in FlashAttention-2 every element that is
/// loaded or stored.
Counts count_head(const RunSpec& spec) {
  const AttentionProblem& p = spec.problem;
  const Index e = p.dtype == DType::fp32 ? 4 : 2;
  Counts counts;
  for (Index i = 0; i * *spec.Br < p.N; ++i) {
    const Index rows = std::min(p.N, (i + 1) * *spec.Br) - i * *spec.Br;
    for (Index row = 0; row < rows; ++row) {
      for (Index c = 0; c < p.d; ++c) counts.read_bytes += e;   // Qi
      for (Index c = 0; c < p.d; ++c) counts.write_bytes += e;  // Oi
      counts.write_bytes += 4;                                  // LSE
    }
    for (Index j = 0; j * *spec.Bc < p.N_kv; ++j) {
      if (!is_visited(spec, i, j)) continue;
      const Index columns = std::min(p.N_kv, (j + 1) * *spec.Bc) - j * *spec.Bc;
      for (Index key = 0; key < columns; ++key) {
        for (Index c = 0; c < p.d; ++c) counts.read_bytes += 2 * e;                 // Kj, Vj
        for (Index row = 0; row < rows; ++row) counts.matmul_flops += 2 * 2 * p.d;  // S, O
      }
    }
  }
  return counts;
}

TEST(CountedByElement, Flash2ForwardMovesAndComputesThis) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RunSpec spec = RandomRun(seed, "flash2").spec;
    const auto gpu = load_gpu("h200");
    ASSERT_TRUE(gpu.ok());
    const auto report = resolve_and_simulate(spec, gpu.value());
    ASSERT_TRUE(report.ok()) << seed << report.error().message;
    const Counts head = count_head(spec);
    const Index heads = spec.problem.batch * spec.problem.heads;
    EXPECT_EQ(report.value().requested.read_bytes, heads * head.read_bytes) << seed;
    EXPECT_EQ(report.value().requested.write_bytes, heads * head.write_bytes) << seed;
    EXPECT_EQ(report.value().matmul_flops, heads * head.matmul_flops) << seed;
  }
}

TEST(CountedByElement, Flash1ForwardComputesThis) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RunSpec spec = RandomRun(seed, "flash1").spec;
    const auto gpu = load_gpu("h200");
    ASSERT_TRUE(gpu.ok());
    const auto report = resolve_and_simulate(spec, gpu.value());
    ASSERT_TRUE(report.ok()) << seed << report.error().message;
    const Index heads = spec.problem.batch * spec.problem.heads;
    EXPECT_EQ(report.value().matmul_flops, heads * count_head(spec).matmul_flops) << seed;
  }
}

}  // namespace
}  // namespace attnscope
