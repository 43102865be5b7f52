#include "app/panels/ledger/traffic_formulas.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/schedule/algorithm.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

/// Expects the same bytes of every tensor of a head from the schedule and from the closed form.
void expect_equal(const SampleRequest& request) {
  const auto run = test::sample_run(request);
  const RunInfo& info = *run->info();
  BytesByTensor closed{};
  for (const TrafficFormula& formula : traffic_formulas({info.resolved(), info.options})) {
    EXPECT_FALSE(formula.text.empty());
    Bytes& bytes = of(closed, formula.tensor);
    (formula.write ? bytes.write_bytes : bytes.read_bytes) += formula.bytes;
  }
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    const std::string run_text =
        fmt::format("{} {} {} N {} N_kv {} mask {}", request.algorithm, to_string(request.pass),
                    to_string(tensor), request.problem.N, request.problem.N_kv,
                    to_string(request.problem.mask));
    const Bytes& counted = of(info.head_bytes, tensor);
    EXPECT_EQ(of(closed, tensor).read_bytes, counted.read_bytes) << run_text;
    EXPECT_EQ(of(closed, tensor).write_bytes, counted.write_bytes) << run_text;
  }
}

TEST(TrafficFormulas, EqualTheSchedulesOverShapesAndMasks) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                             Mask::window(10, 3)}) {
      for (const auto& [N, N_kv] :
           {std::pair<Index, Index>{64, 64}, {100, 75}, {33, 120}, {1, 1}}) {
        for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
          SampleRequest request;
          request.algorithm = algorithm;
          request.problem.N = N;
          request.problem.N_kv = N_kv;
          request.problem.mask = mask;
          request.set_tiling({16, 32});
          request.pass = pass;
          expect_equal(request);
        }
      }
    }
  }
}

TEST(TrafficFormulas, EqualTheSchedulesOfScoreFunctions) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      for (const bool drops : {false, true}) {
        SampleRequest request;
        request.algorithm = algorithm;
        request.pass = pass;
        request.problem.score.soft_cap = 5.0;
        request.problem.score.alibi_slopes = {0.5};
        if (drops) request.problem.score.dropout.probability = 0.25;
        expect_equal(request);
      }
    }
  }
}

TEST(TrafficFormulas, EqualTheSchedulesOfPaddedAndPackedSequences) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      SampleRequest request;
      request.algorithm = algorithm;
      request.pass = pass;
      request.problem.N = request.problem.N_kv = 96;
      request.problem.mask = Mask::causal();
      request.problem.key_lengths = {50};
      expect_equal(request);
      request.problem.key_lengths.clear();
      request.problem.cu_seqlens_q = request.problem.cu_seqlens_k = {0, 10, 60, 96};
      expect_equal(request);
    }
  }
}

TEST(TrafficFormulas, EqualTheScheduleOfSplitKeys) {
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    SampleRequest request;
    request.algorithm = "split_kv";
    request.problem.N = 20;
    request.problem.N_kv = 300;
    request.problem.mask = mask;
    request.set_tiling({16, 32});
    expect_equal(request);
    request.problem.key_lengths = {205};
    expect_equal(request);
  }
}

TEST(TrafficFormulas, EqualTheSchedulesUnderBlockMasks) {
  for (const char* algorithm : {"block_sparse", "block_sparse2"}) {
    for (const char* pattern : {"butterfly", "local-global:1,1", "random:0.3", "uniform:0.3"}) {
      for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
        for (const Mask& mask : {Mask::none(), Mask::causal()}) {
          SampleRequest request;
          request.algorithm = algorithm;
          request.problem.N = 100;
          request.problem.N_kv = 75;
          request.problem.mask = mask;
          request.set_tiling({16, 8});
          request.pass = pass;
          request.block_mask = parse_block_pattern(pattern).value();
          expect_equal(request);
        }
      }
    }
  }
}

TEST(TrafficFormulas, IncludeTheFp32CarryOfFlash1) {
  SampleRequest request;
  request.algorithm = "flash1";
  request.variant.carry = Carry::fp32;
  for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
    request.pass = pass;
    request.problem.mask = Mask::none();
    expect_equal(request);
    request.problem.mask = Mask::causal();
    expect_equal(request);
  }
}

TEST(TrafficFormulas, EqualTheSchedulesOfEveryAlgorithmOfTheCatalog) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (pass == PassKind::backward && !algorithm.has_backward) continue;
      SampleRequest request;
      request.algorithm = algorithm.name;
      request.pass = pass;
      request.set_tiling({16, 16});
      if (algorithm.takes_block_mask) request.block_mask = parse_block_pattern("butterfly").value();
      expect_equal(request);
    }
  }
}

/// The ledger lists reads and writes in the order of the formulas.
TEST(TrafficFormulas, FollowTheKernelsOfStandardAttention) {
  SampleRequest request;
  request.algorithm = "standard";
  const auto moves_of = [&](PassKind pass) {
    request.pass = pass;
    const auto run = test::sample_run(request);
    std::vector<std::string> moves;
    for (const auto& formula : traffic_formulas({run->info()->resolved(), run->info()->options})) {
      moves.push_back(
          fmt::format("{} {}", to_string(formula.tensor), formula.write ? "written" : "read"));
    }
    return moves;
  };
  EXPECT_EQ(moves_of(PassKind::forward),
            (std::vector<std::string>{"Q read", "K read", "S written", "S read", "P written",
                                      "P read", "V read", "O written"}));
  const auto backward = moves_of(PassKind::backward);
  EXPECT_LT(std::ranges::find(backward, "P read"), std::ranges::find(backward, "dP written"));
}

TEST(TrafficFormulas, AreNoneForAnUnknownAlgorithm) {
  EXPECT_TRUE(traffic_formulas({.run = {.asked = {.algorithm = "another"}}}).empty());
}

}  // namespace
}  // namespace attnscope::app
