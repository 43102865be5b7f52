/// Bytes with key lengths, packing and score functions, compared with sums over simpler problems
/// and closed forms.

#include <gtest/gtest.h>

#include <chrono>

#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

SimulationReport counted(const AttentionProblem& problem, std::string_view algorithm,
                         PassKind pass = PassKind::both) {
  test::ModelRequest request;
  request.problem = problem;
  request.algorithm = algorithm;
  const Algorithm& chosen = *find_algorithm(algorithm);
  request.pass = chosen.has_backward ? pass : PassKind::forward;
  if (chosen.splits_keys) request.splits = 2;  // the default follows the batch
  request.set_tiling({32, 48});
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;
  Result<SimulationReport> report = simulate(request);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return std::move(report).value();
}

const AttentionProblem kPadded{.batch = 5,
                               .heads = 4,
                               .kv_heads = 2,
                               .N = 100,
                               .N_kv = 200,
                               .d = 32,
                               .mask = Mask::none(),
                               .score = {},
                               .key_lengths = {200, 49, 49, 0, 96}};

TEST(KeyLengths, CountAsTheSumOverTheirBatchEntries) {
  for (const Algorithm& algorithm : algorithms()) {
    const SimulationReport whole = counted(kPadded, algorithm.name);
    Bytes requested;
    Index matmul = 0, other = 0, ops = 0;
    for (const Index length : kPadded.key_lengths) {
      AttentionProblem alone = kPadded;
      alone.batch = 1;
      alone.key_lengths = {length};
      const SimulationReport part = counted(alone, algorithm.name);
      requested += part.requested;
      matmul += part.matmul_flops;
      other += part.non_matmul_flops;
      ops += part.tile_ops;
    }
    EXPECT_EQ(whole.requested, requested) << algorithm.name;
    EXPECT_EQ(whole.matmul_flops, matmul) << algorithm.name;
    EXPECT_EQ(whole.non_matmul_flops, other) << algorithm.name;
    EXPECT_EQ(whole.tile_ops, ops) << algorithm.name;
  }
}

TEST(KeyLengths, Flash2ReadsTheKeysUpToTheLength) {
  const AttentionProblem& p = kPadded;
  const SimulationReport report = counted(p, "flash2", PassKind::forward);
  Index elements = p.batch * p.N * p.d;  // Q
  for (const Index length : p.key_lengths) elements += ceil_div(p.N, 32) * 2 * length * p.d;
  EXPECT_EQ(report.requested.read_bytes, p.heads * elements * size_bytes(p.dtype));
  EXPECT_EQ(report.requested.write_bytes,
            p.batch * p.heads * p.N * (p.d * size_bytes(p.dtype) + kStatisticBytes));
}

TEST(KeyLengths, SplitKvReadsTheKeysUpToTheLengthAndNoneBehind) {
  const AttentionProblem& p = kPadded;
  const SimulationReport report = counted(p, "split_kv", PassKind::forward);
  Index keys = 0;
  for (const Index length : p.key_lengths) keys += length;
  const Index row_tiles = ceil_div(p.N, 32);
  const Index read = p.heads * row_tiles * keys * p.d * size_bytes(p.dtype);
  const BytesByTensor& partial = report.launches.front().by_tensor;
  EXPECT_EQ(of(partial, Tensor::K).read_bytes, read);
  EXPECT_EQ(of(partial, Tensor::V).read_bytes, read);
}

TEST(KeyLengths, Flash1StreamsTheRowsOnceForEachKeyTileUpToTheLength) {
  const AttentionProblem& p = kPadded;
  const SimulationReport report = counted(p, "flash1", PassKind::forward);
  const Index e = size_bytes(p.dtype);
  Index reads = 0, writes = 0;
  for (const Index length : p.key_lengths) {
    const Index tiles = ceil_div(length, 48);
    reads += 2 * length * p.d * e + tiles * (2 * p.N * p.d * e + 8 * p.N);
    writes += tiles * (p.N * p.d * e + 8 * p.N);
  }
  EXPECT_EQ(report.requested, (Bytes{p.heads * reads, p.heads * writes, 0}));
}

TEST(PackedSequences, OnTileBordersCountAsTheSumOfTheirSequences) {
  AttentionProblem packed{.heads = 3, .kv_heads = 3, .N = 320, .N_kv = 480, .d = 16};
  packed.mask = Mask::causal();
  packed.cu_seqlens_q = {0, 64, 96, 320};
  packed.cu_seqlens_k = {0, 96, 240, 480};
  for (const std::string_view algorithm : {"flash1", "flash2"}) {
    const SimulationReport whole = counted(packed, algorithm);
    Bytes requested;
    Index matmul = 0;
    for (Index s = 0; s < packed.sequence_count(); ++s) {
      const Sequence own = packed.sequence(s);
      AttentionProblem alone = packed;
      alone.N = own.queries();
      alone.N_kv = own.keys.size();
      alone.cu_seqlens_q.clear();
      alone.cu_seqlens_k.clear();
      const SimulationReport part = counted(alone, algorithm);
      requested += part.requested;
      matmul += part.matmul_flops;
    }
    EXPECT_EQ(whole.requested, requested) << algorithm;
    EXPECT_EQ(whole.matmul_flops, matmul) << algorithm;
  }
}

TEST(PackedSequences, OfOneTokenAreCountedWithoutComparingEachWithEveryOther) {
  // Checking each pair of sequences and tiles would take minutes
  constexpr Index kCount = 20'000;
  AttentionProblem problem{.N = kCount, .N_kv = kCount, .d = 64};
  for (Index s = 0; s <= kCount; ++s) problem.cu_seqlens_q.push_back(s);
  problem.cu_seqlens_k = problem.cu_seqlens_q;
  const auto start = std::chrono::steady_clock::now();
  for (const Tiling& tiling : {Tiling{kCount, 1}, Tiling{1, kCount}, Tiling{64, 64}}) {
    test::ModelRequest request;
    request.problem = problem;
    request.algorithm = "flash2";
    request.pass = PassKind::both;
    request.set_tiling(tiling);
    request.gpu_description = load_gpu("h200").value();
    request.allow_overflow = true;
    const auto report = simulate(request);
    ASSERT_TRUE(report.ok()) << report.error().message;
    const Index key_bytes = kCount * 64 * 2;
    const Index visits = of(report.value().by_tensor, Tensor::O).write_bytes / key_bytes;
    EXPECT_EQ(visits, 1);
    const Bytes& keys = of(report.value().by_tensor, Tensor::K);
    // Both passes; a tile of one query reads the whole tile of keys
    const Index reads = tiling.Br == 1 ? kCount + 1 : 2;
    EXPECT_EQ(keys.read_bytes, reads * key_bytes) << tiling.Br;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ScoreFunctions, MoveNoBytesInFlashAttention) {
  AttentionProblem plain{.heads = 2, .kv_heads = 2, .N = 100, .N_kv = 130, .d = 16};
  AttentionProblem shaped = plain;
  shaped.score = {30.0, standard_alibi_slopes(2), {0.1, 1}};
  for (const std::string_view algorithm : {"flash1", "flash2"}) {
    const SimulationReport a = counted(plain, algorithm);
    const SimulationReport b = counted(shaped, algorithm);
    EXPECT_EQ(a.requested, b.requested) << algorithm;
    EXPECT_EQ(a.matmul_flops, b.matmul_flops) << algorithm;
    // Forward: cap 3, bias 2, dropout 1 per element; backward: cap 6, bias 2, dropout 2, dS o T 1
    EXPECT_EQ(b.non_matmul_flops - a.non_matmul_flops, Index{2} * 17 * plain.N * plain.N_kv)
        << algorithm;
  }
}

TEST(ScoreFunctions, StandardStoresDroppedProbabilitiesAndReadsScoresAgain) {
  const AttentionProblem plain{.heads = 2, .kv_heads = 2, .N = 96, .N_kv = 144, .d = 16};
  const Index pass_bytes = 2 * plain.N * plain.N_kv * size_bytes(plain.dtype);
  const Bytes before = counted(plain, "standard").paper;
  AttentionProblem dropped = plain;
  dropped.score.dropout = {0.1, 1};
  const Bytes with_dropout = counted(dropped, "standard").paper;
  EXPECT_EQ(with_dropout.write_bytes - before.write_bytes, pass_bytes);  // P~
  EXPECT_EQ(with_dropout.read_bytes, before.read_bytes);                 // P~ in place of P
  AttentionProblem capped = plain;
  capped.score.soft_cap = 30;
  const Bytes with_cap = counted(capped, "standard").paper;
  EXPECT_EQ(with_cap.read_bytes - before.read_bytes, pass_bytes);  // S, for the cap's derivative
  EXPECT_EQ(with_cap.write_bytes, before.write_bytes);
}

}  // namespace
}  // namespace attnscope
