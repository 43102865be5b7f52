/// Bytes equal the papers' closed forms (arXiv 2205.14135 Algorithms 0 and 1, 2307.08691
/// Algorithm 1), to the byte.

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/schedule/algorithm.h"
#include "tests/sim/schedule/schedule_cases.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

struct TrafficShape {
  Index batch, heads, kv_heads, N, N_kv, d;
  Tiling tiling;
  DType dtype;
};

const TrafficShape kTrafficShapes[] = {
    {1, 1, 1, 64, 64, 16, {16, 16}, DType::fp16},
    {2, 4, 2, 100, 100, 32, {16, 48}, DType::bf16},
    {1, 3, 3, 257, 129, 64, {64, 32}, DType::fp32},
    {4, 8, 1, 33, 500, 128, {128, 128}, DType::bf16},
    {16, 16, 16, 1024, 1024, 64, {64, 256}, DType::fp16},
};

test::ModelRequest request_for(const TrafficShape& s, std::string_view algorithm) {
  return test::request_for({s.N, s.N_kv, s.d, s.tiling, Mask::none(), s.heads, s.kv_heads},
                           algorithm, s.dtype, s.batch);
}

SimulationReport simulate_shape(const TrafficShape& s, std::string_view algorithm,
                                const Mask& mask = Mask::none(), Carry carry = Carry::problem) {
  test::ModelRequest request = request_for(s, algorithm);
  request.problem.mask = mask;
  request.variant.carry = carry;
  Result<SimulationReport> report = simulate(request);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return std::move(report).value();
}

TEST(Traffic, StandardPaperBytesAreFourPassesOverTheScores) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "standard");
    const Index e = size_bytes(s.dtype);
    const Index heads = s.batch * s.heads;
    // Reads Q, K, S, P, V; writes S, P, O
    EXPECT_EQ(report.paper.read_bytes,
              heads * e * (s.N * s.d + 2 * s.N_kv * s.d + 2 * s.N * s.N_kv));
    EXPECT_EQ(report.paper.write_bytes, heads * e * (2 * s.N * s.N_kv + s.N * s.d));
  }
}

TEST(Traffic, StandardRequestedBytesAddThePanelReReads) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "standard");
    const Index e = size_bytes(s.dtype);
    const Index heads = s.batch * s.heads;
    const Index Tr = ceil_div(s.N, s.tiling.Br);
    const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
    // Q once for each column tile, K and V once for each row tile, S and P once
    EXPECT_EQ(report.requested.read_bytes,
              heads * e * (Tc * s.N * s.d + 2 * Tr * s.N_kv * s.d + 2 * s.N * s.N_kv));
    EXPECT_EQ(report.requested.write_bytes, report.paper.write_bytes);
  }
}

TEST(Traffic, Flash1StreamsQAndOOnceForEachColumnTile) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "flash1");
    const Index e = size_bytes(s.dtype);
    const Index heads = s.batch * s.heads;
    const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
    const Index reads = heads * (2 * s.N_kv * s.d * e + Tc * (2 * s.N * s.d * e + 8 * s.N));
    const Index writes = heads * Tc * (s.N * s.d * e + 8 * s.N);
    EXPECT_EQ(report.requested, (Bytes{reads, writes, 0}));
    EXPECT_EQ(report.paper, report.requested);
  }
}

TEST(Traffic, Flash1WithTheFp32CarryMovesOInFourBytesAndConvertsItOnce) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "flash1", Mask::none(), Carry::fp32);
    const Index e = size_bytes(s.dtype);
    const Index heads = s.batch * s.heads;
    const Index Tc = ceil_div(s.N_kv, s.tiling.Bc);
    const Index Nd = s.N * s.d;
    EXPECT_EQ(report.requested.read_bytes,
              heads * (2 * s.N_kv * s.d * e + Tc * (Nd * e + Nd * 4 + 8 * s.N) + Nd * 4));
    EXPECT_EQ(report.requested.write_bytes, heads * (Tc * (Nd * 4 + 8 * s.N) + Nd * e));
  }
}

TEST(Traffic, StandardReadsVOnceForEachTileOfItsOutputProduct) {
  for (const TrafficShape& s : kTrafficShapes) {
    test::ModelRequest request = request_for(s, "standard");
    const SimulationReport as_scores = simulate(request).value();
    request.variant.product_tiles.O.rows = 4 * s.tiling.Br;
    const SimulationReport own = simulate(request).value();
    const Index V_bytes = s.batch * s.heads * s.N_kv * s.d * size_bytes(s.dtype);
    EXPECT_EQ(of(as_scores.by_tensor, Tensor::V).read_bytes, ceil_div(s.N, s.tiling.Br) * V_bytes);
    EXPECT_EQ(of(own.by_tensor, Tensor::V).read_bytes, ceil_div(s.N, 4 * s.tiling.Br) * V_bytes);
    for (const Tensor tensor : {Tensor::Q, Tensor::K, Tensor::S, Tensor::P, Tensor::O}) {
      EXPECT_EQ(of(own.by_tensor, tensor), of(as_scores.by_tensor, tensor));
    }
    EXPECT_EQ(own.paper, as_scores.paper);
  }
}

TEST(Traffic, Flash2ReadsKAndVOnceForEachRowTile) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "flash2");
    const Index e = size_bytes(s.dtype);
    const Index heads = s.batch * s.heads;
    const Index Tr = ceil_div(s.N, s.tiling.Br);
    EXPECT_EQ(report.requested.read_bytes, heads * e * (s.N * s.d + Tr * 2 * s.N_kv * s.d));
    EXPECT_EQ(report.requested.write_bytes, heads * (s.N * s.d * e + 4 * s.N));
    EXPECT_EQ(report.paper, report.requested);
  }
}

TEST(Traffic, CausalFlash2VisitsOnlyTheTilesThatARowSees) {
  for (const TrafficShape& s : kTrafficShapes) {
    const SimulationReport report = simulate_shape(s, "flash2", Mask::causal());
    Index keys_visited = 0;
    for (Index row = 0; row < s.N; row += s.tiling.Br) {
      // Valid keys that the row tile visits: min(N_kv, Bc ceil(min(N_kv, last row's keys) / Bc))
      const Index last = std::min(row + s.tiling.Br, s.N) - 1;
      const Index seen = std::clamp<Index>(last + 1 + s.N_kv - s.N, 0, s.N_kv);
      keys_visited += std::min(s.N_kv, s.tiling.Bc * ceil_div(seen, s.tiling.Bc));
    }
    const Index heads = s.batch * s.heads;
    EXPECT_EQ(report.requested.read_bytes,
              heads * size_bytes(s.dtype) * s.d * (s.N + 2 * keys_visited));
  }
}

TEST(Traffic, PaperBytesAreNeverMoreThanTheRequestedOnes) {
  const ScoreFunction scores[] = {
      {}, {30.0, {}, {}}, {{}, standard_alibi_slopes(4), {}}, {{}, {}, {0.1, 1}}};
  int counted = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      if (pass != PassKind::forward && !algorithm.has_backward) continue;
      for (const Index kv_heads : {4, 2, 1}) {
        for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(20, 5)}) {
          for (const ScoreFunction& score : scores) {
            test::ModelRequest request = test::request_for(
                {50, 70, 16, {16, 16}, mask, 4, kv_heads}, algorithm.name, DType::fp16);
            request.pass = pass;
            request.problem.score = score;
            const auto report = simulate(request);
            ASSERT_TRUE(report.ok()) << algorithm.name << ": " << report.error().message;
            ++counted;
            for (const LaunchReport& launch : report.value().launches) {
              EXPECT_LE(launch.paper.read_bytes, launch.requested.read_bytes)
                  << algorithm.name << " " << launch.name << ", KV heads " << kv_heads;
              EXPECT_LE(launch.paper.write_bytes, launch.requested.write_bytes)
                  << algorithm.name << " " << launch.name << ", KV heads " << kv_heads;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(counted, 0);
}

TEST(Traffic, ByTensorAddsUpToTheTotalAndToTheLaunches) {
  for (const TrafficShape& s : kTrafficShapes) {
    for (const Algorithm& algorithm : algorithms()) {
      const SimulationReport report = simulate_shape(s, algorithm.name, Mask::causal());
      EXPECT_EQ(sum(report.by_tensor), report.requested);
      Bytes launches;
      for (const LaunchReport& launch : report.launches) launches += launch.requested;
      EXPECT_EQ(launches, report.requested);
    }
  }
}

TEST(Flops, MatrixProductsAreFourNNd) {
  for (const TrafficShape& s : kTrafficShapes) {
    for (const Algorithm& algorithm : algorithms()) {
      EXPECT_EQ(simulate_shape(s, algorithm.name).matmul_flops,
                4 * s.batch * s.heads * s.N * s.N_kv * s.d)
          << algorithm.name;
    }
  }
}

TEST(Flops, Flash1DoesMoreOtherWorkThanFlash2) {
  for (const TrafficShape& s : kTrafficShapes) {
    EXPECT_GT(simulate_shape(s, "flash1").non_matmul_flops,
              simulate_shape(s, "flash2").non_matmul_flops);
  }
}

TEST(Memory, StandardKeepsTheScoresAndFlashDoesNot) {
  const TrafficShape s{2, 4, 2, 512, 512, 64, {64, 64}, DType::bf16};
  const Index io = Index{2} * (4 * 2 * 512 * 64 + 2 * 2 * 512 * 64) * 2;  // Q, O; K, V
  EXPECT_EQ(simulate_shape(s, "standard").peak_hbm_bytes, io + Index{2} * 2 * 4 * 512 * 512 * 2);
  EXPECT_EQ(simulate_shape(s, "flash2").peak_hbm_bytes, io + Index{2} * 4 * 512 * 4);
  EXPECT_EQ(simulate_shape(s, "flash1").peak_hbm_bytes, io + Index{2} * 2 * 4 * 512 * 4);
}

}  // namespace
}  // namespace attnscope
