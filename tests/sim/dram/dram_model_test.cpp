/// The prediction of DRAM bytes in cases with a known answer: L2 caches that hold everything or
/// nothing, equal heads, data that heads share.

#include "sim/dram/dram_model.h"

#include <gtest/gtest.h>

#include "reference/fnv1a.h"
#include "sim/residency.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

constexpr Index kHoldsAll = Index{1} << 40;

test::ModelRequest request_of(std::string algorithm, PassKind pass, Index heads = 4) {
  test::ModelRequest request;
  request.algorithm = std::move(algorithm);
  request.pass = pass;
  request.problem = {
      .heads = heads, .kv_heads = heads, .N = 1024, .N_kv = 1024, .d = 64, .dtype = DType::bf16};
  request.set_tiling({64, 64});
  request.gpu_description = load_gpu("h200").value();
  return request;
}

ResolvedRun run_of(const test::ModelRequest& request) {
  return test::resolve(request).value();
}

DramPrediction predict(const test::ModelRequest& request, Index residency = 1) {
  const ResolvedRun run = run_of(request);
  const std::size_t launches = test::simulate(request).value().launches.size();
  return predict_dram(run, request.gpu_description, {std::vector<Index>(launches, residency), {}})
      .value();
}

TEST(DramModel, PredictsTheSameBytesWithoutTheInterval) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    const test::ModelRequest request = request_of(algorithm, PassKind::backward, 8);
    const ResolvedRun run = run_of(request);
    const std::size_t launches = test::simulate(request).value().launches.size();
    const BlockPlacement placement{std::vector<Index>(launches, 1), {}};
    const auto with = [&](DramInterval interval) {
      return predict_dram(run, request.gpu_description, placement, kMostTransfers, nullptr,
                          interval)
          .value();
    };
    DramPrediction whole = with(DramInterval::followed);
    const DramPrediction alone = with(DramInterval::left_out);
    EXPECT_EQ(alone.least, alone.total);
    EXPECT_EQ(alone.most, alone.total);
    whole.least = whole.most = whole.total;
    EXPECT_EQ(alone, whole) << algorithm;
  }
}

/// K and V of one head fit in this L2; those of eight heads whose blocks start in turn do not.
TEST(DramModel, ReadsKeysAgainWhereHeadsInTurnHaveMoreThanL2Holds) {
  test::ModelRequest request = request_of("flash2", PassKind::forward, 8);
  request.problem.N = request.problem.N_kv = 4096;
  request.gpu_description.sm_count = 4;  // few of a head's row tiles run at once
  request.gpu_description.l2_partitions = 1;
  request.gpu_description.l2_bytes = Index{2} << 20;
  const ResolvedRun run = run_of(request);
  const auto reads = [&](Index heads_at_once) {
    return predict_dram(run, request.gpu_description, {{1}, {}, heads_at_once})
        .value()
        .total.read_bytes;
  };
  const Index kv_bytes = 2 * 4096 * 64 * 2;
  EXPECT_LT(kv_bytes, request.gpu_description.l2_bytes);
  EXPECT_GT(reads(8), 2 * reads(1));
  request.gpu_description.l2_bytes = kHoldsAll;
  EXPECT_EQ(reads(8), reads(1));
}

class EveryPass : public testing::TestWithParam<std::pair<const char*, PassKind>> {};

TEST_P(EveryPass, ReadsTheCompulsoryBytesAndWritesNothingWhereL2HoldsEverything) {
  test::ModelRequest request = request_of(GetParam().first, GetParam().second);
  request.gpu_description.l2_bytes = kHoldsAll;
  const DramPrediction prediction = predict(request);
  EXPECT_EQ(prediction.total.read_bytes, test::simulate(request).value().compulsory.read_bytes);
  EXPECT_EQ(prediction.total.write_bytes, 0);
  EXPECT_FALSE(prediction.in_transition());
}

TEST_P(EveryPass, ReadsNoLessThanTheInputsAndNoMoreThanIsRequested) {
  test::ModelRequest request = request_of(GetParam().first, GetParam().second, 32);
  request.gpu_description.l2_bytes = kHoldsAll;
  const Index inputs = test::simulate(request).value().compulsory.read_bytes;
  for (const Index l2_bytes : {Index{1} << 22, Index{1} << 24, Index{1} << 26}) {
    request.gpu_description.l2_bytes = l2_bytes;
    const SimulationReport report = test::simulate(request).value();
    Index requested = report.requested.read_bytes;
    requested += report.requested.atomic_bytes;  // an add may have to fetch its operand
    const DramPrediction prediction = predict(request);
    EXPECT_GE(prediction.total.read_bytes, inputs) << l2_bytes;
    EXPECT_LE(prediction.total.read_bytes, requested) << l2_bytes;
    EXPECT_LE(prediction.least.read_bytes, prediction.total.read_bytes);
    EXPECT_GE(prediction.most.read_bytes, prediction.total.read_bytes);
  }
}

std::string name_of(const testing::TestParamInfo<EveryPass::ParamType>& info) {
  return std::string(info.param.first) + "_" + std::string(to_string(info.param.second));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryPass,
                         testing::Values(std::pair("standard", PassKind::forward),
                                         std::pair("standard", PassKind::backward),
                                         std::pair("flash1", PassKind::forward),
                                         std::pair("flash1", PassKind::backward),
                                         std::pair("flash2", PassKind::forward),
                                         std::pair("flash2", PassKind::backward),
                                         std::pair("block_sparse2", PassKind::forward),
                                         std::pair("split_kv", PassKind::forward)),
                         name_of);

/// The bytes of small runs through a small L2, as a hash: most changes to the model change it.
TEST(DramModel, ThatPredictsOtherBytesHasAnotherVersion) {
  Fnv1a hash;
  const auto add = [&](const Bytes& bytes) {
    for (const Index count : {bytes.read_bytes, bytes.write_bytes, bytes.atomic_bytes}) {
      hash.add(static_cast<std::uint64_t>(count));
    }
  };
  for (const Algorithm& algorithm : algorithms()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (pass == PassKind::backward && !algorithm.has_backward) continue;
      test::ModelRequest request = request_of(std::string(algorithm.name), pass, 32);
      request.problem.mask = Mask::causal();
      if (algorithm.takes_block_mask) request.block_mask = BlockPattern{};
      request.gpu_description.l2_bytes = 2'000'000;
      request.gpu_description.sm_count = 8;
      const DramPrediction prediction = predict(request, 2);
      for (const Bytes& launch : prediction.launches) add(launch);
      hash.add(static_cast<std::uint64_t>(prediction.total_missed_bytes()));
      for (const Bytes& total : {prediction.least, prediction.most}) add(total);
    }
  }
  EXPECT_EQ(hash_text(hash.value()), "5d37627747ee850c")
      << "predictions have changed: raise kDramModelVersion, then correct this hash";
  EXPECT_EQ(kDramModelVersion, 5U) << "correct the version with the hash";
}

TEST(DramModel, MovesWhatABlockRequestsWhereL2HoldsNothing) {
  test::ModelRequest request = request_of("flash2", PassKind::forward);
  request.gpu_description.sm_count = 1;
  request.gpu_description.l2_bytes = 1024;
  const SimulationReport report = test::simulate(request).value();
  const DramPrediction prediction = predict(request);
  EXPECT_EQ(prediction.total.read_bytes, report.requested.read_bytes);
  // The last piece of O, or of LSE, is still in L2 at the end
  EXPECT_LE(prediction.total.write_bytes, report.requested.write_bytes);
  EXPECT_GE(prediction.total.write_bytes, report.requested.write_bytes * 9 / 10);
}

TEST(DramModel, ReadsTheKeysOnceForAllHeadsOfAGroup) {
  test::ModelRequest request = request_of("flash2", PassKind::forward, 8);
  const Index separate = predict(request).total.read_bytes;
  request.problem.kv_heads = 2;
  const Index nd = request.problem.N * request.problem.d * 2;
  EXPECT_EQ(separate, 3 * 8 * nd);
  EXPECT_EQ(predict(request).total.read_bytes, (8 + 2 * 2) * nd);
}

/// The prediction for equal heads, of which only a few are followed, equals that for all of them.
void expect_few_heads_stand_for_all(test::ModelRequest request) {
  const DramPrediction few = predict(request);

  // One key fewer in one entry: all heads are followed
  request.problem.key_lengths.assign(static_cast<std::size_t>(request.problem.batch),
                                     request.problem.N_kv);
  request.problem.key_lengths.back() -= 1;
  const DramPrediction all = predict(request);
  EXPECT_NEAR(static_cast<double>(few.total.read_bytes) / static_cast<double>(all.total.read_bytes),
              1.0, 0.01);
  EXPECT_NEAR(
      static_cast<double>(few.total.write_bytes) / static_cast<double>(all.total.write_bytes), 1.0,
      0.01);
}

TEST(DramModel, FollowsAFewHeadsInPlaceOfAllEqualOnes) {
  test::ModelRequest request = request_of("flash1", PassKind::forward, 1);
  request.gpu_description.sm_count = 16;
  request.gpu_description.l2_bytes = Index{1} << 21;
  request.problem.batch = 256;
  expect_few_heads_stand_for_all(request);
}

TEST(DramModel, FollowsPartsOfRoundsWhereHeadsDoNotFillTheGpu) {
  // The row tiles of a head fill a part of the SMs, so that half of the followed heads are not a
  // whole number of rounds of thread blocks
  test::ModelRequest request = request_of("standard", PassKind::forward, 1);
  request.gpu_description.sm_count = 66;
  request.gpu_description.l2_bytes = Index{1} << 18;
  request.problem.batch = 256;
  expect_few_heads_stand_for_all(request);
}

TEST(DramModel, IsInTransitionWhereTheSizeOfL2Decides) {
  // Q, O, m and l of a head are read again for each of 16 column tiles
  test::ModelRequest request = request_of("flash1", PassKind::forward, 1);
  request.gpu_description.sm_count = 1;
  const Index reused = 2 * request.problem.N * request.problem.d * 2;
  request.gpu_description.l2_bytes = 4 * reused;
  EXPECT_FALSE(predict(request).in_transition());
  request.gpu_description.l2_bytes = reused * 3 / 2;
  EXPECT_TRUE(predict(request).in_transition());
}

TEST(DramModel, BlocksThatShareAnSmReadTheKeysApart) {
  // K and V are many times as large as L2, so only blocks that read them at the same time share a
  // read
  test::ModelRequest request = request_of("flash2", PassKind::forward, 1);
  request.problem.N = request.problem.N_kv = 8192;
  request.gpu_description.sm_count = 16;
  request.gpu_description.l2_bytes = Index{1} << 18;
  const Index keys = 2 * request.problem.N_kv * request.problem.d * 2;
  const Index queries = keys / 2;
  const Index blocks = request.problem.N / 64;
  EXPECT_EQ(predict(request, 1).total.read_bytes, queries + blocks / 16 * keys);
  const Index apart = predict(request, 2).total.read_bytes;
  EXPECT_GE(apart, queries + blocks / 16 * keys);
}

TEST(DramModel, RefusesARunWithTooManyTilesAndObeysACancellation) {
  test::ModelRequest request = request_of("flash2", PassKind::forward, 1);
  request.problem.N = request.problem.N_kv = Index{1} << 21;
  request.set_tiling({16, 16});
  const ResolvedRun run = run_of(request);
  const auto refused = predict_dram(run, request.gpu_description, {{1}, {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::too_many);
  const std::atomic<bool> cancel = true;
  const auto stopped =
      predict_dram(run, request.gpu_description, {{1}, {}}, kMostTransfers, &cancel);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

TEST(DramModel, CountsTheBlocksThatAnSmHoldsByItsMemories) {
  test::ModelRequest request = request_of("flash2", PassKind::forward);
  const Index of_small_tiles = model_residency(run_of(request), request.gpu_description).at(0);
  request.set_tiling({128, 128});
  const Index of_large_tiles = model_residency(run_of(request), request.gpu_description).at(0);
  EXPECT_GT(of_small_tiles, of_large_tiles);
  EXPECT_GE(of_large_tiles, 1);
}

}  // namespace
}  // namespace attnscope
