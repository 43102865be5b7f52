/// Predictions on disk: equal to newly computed ones, never those of a different run or model.
#include "app/report/dram_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <set>

#include "app/report/kernel_dram.h"
#include "reference/block_mask.h"
#include "tests/app/report/recorded_run.h"
#include "tests/support/temp_dir.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

class DramPredictions : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  SimulationReport report() const { return model_of(recorded_run("flash1", 16), gpu_); }
  BlockPlacement placement(const SimulationReport& report) const {
    return kernel_placement(report, gpu_);
  }
  std::string key(const SimulationReport& report) const {
    return prediction_key(report.run, gpu_, placement(report), kMostTransfers);
  }
  DramPrediction computed(const SimulationReport& report) const {
    return predict_dram(report.run, gpu_, placement(report)).value();
  }
  /// The result of predict_kernel_dram(), which uses the cache.
  std::optional<DramPrediction> predicted(const PredictionLimits& limits = {}) const {
    SimulationReport report = this->report();
    predict_kernel_dram(report, gpu_, {}, limits);
    return report.dram;
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_)) return files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    return files;
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
  const fs::path folder_ = user_cache_folder("predictions");  // see tests/support/own_cache.cpp
};

TEST_F(DramPredictions, AreThoseOfTheModelAndThenReadFromTheDisk) {
  const SimulationReport run = report();
  const DramPrediction computed = this->computed(run);
  EXPECT_EQ(predicted(), computed);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(DramCache().find(key(run), computed.launches.size()), computed);
  EXPECT_EQ(predicted(), computed);

  DramPrediction marked = computed;
  marked.most.write_bytes += 1;
  DramCache().keep(key(run), marked);
  EXPECT_EQ(predicted(), marked) << "not read from the disk";
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(DramPredictions, WithoutTheIntervalNeverStandForThoseWithIt) {
  const PredictionLimits left_out{.interval = DramInterval::left_out};
  DramPrediction alone = this->computed(report());
  alone.least = alone.most = alone.total;
  EXPECT_EQ(predicted(left_out), alone);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(predicted(left_out), alone);
  const DramPrediction whole = this->computed(report());
  EXPECT_EQ(predicted(), whole);
  EXPECT_EQ(entries().size(), 2u);

  // In the opposite order, the first prediction's entry serves both
  fs::remove_all(folder_);
  EXPECT_EQ(predicted(), whole);
  EXPECT_EQ(predicted(left_out), alone);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(DramPredictions, DoNotDependOnWhatRanBefore) {
  const PredictionLimits too_few{.most_transfers = 10};
  EXPECT_FALSE(predicted(too_few));
  EXPECT_EQ(entries().size(), 0u) << "that there is no prediction is not kept";
  EXPECT_TRUE(predicted());
  EXPECT_FALSE(predicted(too_few)) << "although there is one for a larger limit";
}

TEST_F(DramPredictions, AreMadeAgainIfTheEntryIsDamagedOrForeign) {
  const SimulationReport run = report();
  const DramPrediction computed = *predicted();
  const std::size_t launches = computed.launches.size();
  const fs::path entry = entries().front();
  std::ifstream stream(entry, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  std::string changed = whole;
  changed[whole.size() - 20] = static_cast<char>(changed[whole.size() - 20] ^ 1);
  for (const std::string& bytes : {std::string(), std::string("garbage"), changed,
                                   whole.substr(0, whole.size() / 2), whole + whole}) {
    std::ofstream(entry, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_FALSE(DramCache().find(key(run), launches));
    EXPECT_EQ(predicted(), computed);
    EXPECT_EQ(DramCache().find(key(run), launches), computed) << "kept again";
  }

  // An entry of another run is ignored, even if its file has the name of this run's
  DramCache().keep("another run", computed);
  for (const fs::path& file : entries()) {
    if (file != entry) fs::rename(file, entry);
  }
  EXPECT_FALSE(DramCache().find(key(run), launches));
  EXPECT_EQ(predicted(), computed);

  // An entry with one launch more than the pass is ignored
  DramPrediction longer = computed;
  longer.launches.emplace_back();
  DramCache().keep(key(run), longer);
  EXPECT_EQ(predicted(), computed);
  EXPECT_EQ(DramCache().find(key(run), launches), computed);
}

TEST_F(DramPredictions, AreMadeEvenIfTheFolderCannotBeWritten) {
  const DramPrediction computed = this->computed(report());
  fs::create_directories(folder_.parent_path());
  std::ofstream(folder_) << "a file in the folder's place";
  EXPECT_EQ(predicted(), computed);
  EXPECT_EQ(predicted(), computed);
  fs::remove(folder_);
  for (const char* none : {"", "/proc/none", "/dev/full"}) {
    const DramCache cache(none);
    cache.keep("key", computed);
    EXPECT_FALSE(cache.find("key", computed.launches.size())) << none;
  }
}

TEST_F(DramPredictions, AreTheSameInSeveralThreads) {
  const DramPrediction computed = this->computed(report());
  const auto predict_often = [&] {
    int same = 0;
    for (int n = 0; n < 20; ++n) {
      std::error_code another_run_wrote;  // set if it has written into the folder in the meantime
      if (n % 5 == 0) fs::remove_all(folder_, another_run_wrote);
      same += predicted() == computed ? 1 : 0;
    }
    return same;
  };
  std::future<int> other = std::async(std::launch::async, predict_often);
  EXPECT_EQ(predict_often(), 20);
  EXPECT_EQ(other.get(), 20);
}

/// Changes the values that a prediction depends on, one at a time.
TEST_F(DramPredictions, AreOfOneRunGpuAndPlacement) {
  struct Inputs {
    ResolvedRun run;
    GpuDescription gpu;
    BlockPlacement placement;
    double most_transfers = kMostTransfers;
  };
  const Inputs first{report().run, gpu_, {{1, 2}, {}}};
  const auto mask_of = [](std::vector<Index> offsets, std::vector<std::int32_t> columns) {
    return std::make_shared<const BlockMask>(Tiling{64, 64}, 2, std::move(offsets),
                                             std::move(columns), "");
  };
  const std::vector<std::function<void(Inputs&)>> changes = {
      [](Inputs& in) { in.run.asked.algorithm = "flash2"; },
      [](Inputs& in) { in.run.asked.pass = PassKind::backward; },
      [](Inputs& in) { in.run.tiling.Br = 64; },
      [](Inputs& in) { in.run.tiling.Bc = 128; },
      [](Inputs& in) { in.run.splits = 2; },
      [](Inputs& in) { in.run.query_heads_per_tile = 2; },
      [](Inputs& in) { in.run.asked.variant.carry = Carry::fp32; },
      [](Inputs& in) { in.run.asked.variant.fusion = Fusion::pairs; },
      [](Inputs& in) { in.run.asked.variant.checkpoint = true; },
      [](Inputs& in) { in.run.asked.variant.product_tiles.O.rows = 64; },
      [](Inputs& in) { in.run.asked.variant.skip_first_reads = true; },
      [](Inputs& in) { in.run.asked.variant.d_once = true; },
      [](Inputs& in) { in.run.asked.variant.skip_unused_kv = true; },
      [](Inputs& in) { in.run.asked.variant.stages = 2; },
      [](Inputs& in) { in.run.asked.variant.visit_hidden = true; },
      [](Inputs& in) { in.run.problem.batch = 2; },
      [](Inputs& in) { in.run.problem.heads = 32; },
      [](Inputs& in) { in.run.problem.kv_heads = 8; },
      [](Inputs& in) { in.run.problem.N = 512; },
      [](Inputs& in) { in.run.problem.N_kv = 512; },
      [](Inputs& in) { in.run.problem.d = 128; },
      [](Inputs& in) { in.run.problem.dtype = DType::fp32; },
      [](Inputs& in) { in.run.problem.mask = Mask::causal(); },
      [](Inputs& in) { in.run.problem.mask = Mask::causal(Mask::Alignment::top_left); },
      [](Inputs& in) { in.run.problem.mask = Mask::window(0, 64); },
      [](Inputs& in) { in.run.problem.mask = Mask::window(64, 0); },
      [](Inputs& in) { in.run.problem.score.soft_cap = 30; },
      [](Inputs& in) { in.run.problem.score.alibi_slopes = {1}; },
      [](Inputs& in) { in.run.problem.score.dropout.probability = 0.1; },
      [](Inputs& in) { in.run.problem.key_lengths = {512}; },
      [](Inputs& in) { in.run.problem.cu_seqlens_q = {512}; },
      [](Inputs& in) { in.run.problem.cu_seqlens_k = {512}; },
      [&](Inputs& in) {
        in.run.problem.block_mask = mask_of({0, 1, 2}, {0, 1});
      },
      [&](Inputs& in) {
        in.run.problem.block_mask = mask_of({0, 1, 2}, {0, 0});
      },
      [&](Inputs& in) {
        in.run.problem.block_mask = mask_of({0, 0, 2}, {0, 1});
      },
      [](Inputs& in) { in.gpu.sm_count -= 1; },
      [](Inputs& in) { in.gpu.l2_bytes /= 2; },
      [](Inputs& in) { in.gpu.l2_partitions = 1; },
      [](Inputs& in) { in.gpu.register_bytes_per_sm /= 2; },
      [](Inputs& in) {
        in.placement.residency = {2, 2};
      },
      [](Inputs& in) {
        in.placement.residency = {1, 3};
      },
      [](Inputs& in) { in.placement.residency = {1}; },
      [](Inputs& in) { in.placement.order.kind = BlockOrder::Kind::descending; },
      [](Inputs& in) { in.placement.order.seed = 1; },
      [](Inputs& in) { in.most_transfers = kQuickTransfers; },
  };
  const auto key_of = [](const Inputs& in) {
    return prediction_key(in.run, in.gpu, in.placement, in.most_transfers);
  };
  std::set<std::string> keys = {key_of(first)};
  for (const auto& change : changes) {
    Inputs changed = first;
    change(changed);
    EXPECT_EQ(key_of(changed), key_of(changed));
    keys.insert(key_of(changed));
  }
  EXPECT_EQ(keys.size(), changes.size() + 1) << "two of them have one key";

  Inputs renamed = first;  // values that no prediction depends on
  renamed.gpu.name = "mine";
  renamed.run.asked.inputs.seed += 1;
  EXPECT_EQ(key_of(renamed), key_of(first));
}

}  // namespace
}  // namespace attnscope
