/// Predicted times on disk: equal to newly computed ones, never those of a different run,
/// calibration or model.
#include "app/report/time_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// What a prediction depends on.
struct Inputs {
  SimulationReport report;
  GpuDescription gpu;
  MachineRates rates;
  KernelCosts costs;

  std::string key() const { return time_key(report, gpu, rates, costs); }
};

using Change = std::function<void(Inputs&)>;

/// Changes of the run, its bytes and the GPU; those of a run's fields are changed in
/// tests/app/report/dram_cache_test.cpp.
std::vector<Change> changes_of_report() {
  return {[](Inputs& in) { in.report.run.problem.N += 1; },
          [](Inputs& in) { in.report.run.asked.warp_partition = WarpPartition::sliced_k; },
          [](Inputs& in) { in.report.launches.front().name = "another"; },
          [](Inputs& in) { in.report.launches.front().requested.read_bytes += 1; },
          [](Inputs& in) { in.report.launches.front().requested.write_bytes += 1; },
          [](Inputs& in) { in.report.launches.front().requested.atomic_bytes += 1; },
          [](Inputs& in) { in.report.launches.front().flops.matmul += 1; },
          [](Inputs& in) { in.report.launches.front().flops.non_matmul += 1; },
          [](Inputs& in) { in.report.launches.front().flops.exponentials += 1; },
          [](Inputs& in) { in.report.dram->launches.front().read_bytes += 1; },
          [](Inputs& in) { in.report.dram.reset(); },
          [](Inputs& in) { in.gpu.sm_count -= 1; },
          [](Inputs& in) { in.gpu.l2_bytes /= 2; },
          [](Inputs& in) { in.gpu.register_bytes_per_sm /= 2; }};
}

std::vector<Change> changes_of_costs() {
  std::vector<Change> changes = {
      [](Inputs& in) { in.costs.steps.reset(); },
      [](Inputs& in) { in.costs.steps->cycles.front() += 1; },
      [](Inputs& in) { in.costs.steps->cycles.push_back(1); },
      [](Inputs& in) { in.costs.steps->rows_of_warp += 1; },
      [](Inputs& in) {
        in.costs.steps->waits_for_column_tiles = !in.costs.steps->waits_for_column_tiles;
      },
      [](Inputs& in) { in.costs.steps->are_calibrated = !in.costs.steps->are_calibrated; },
      [](Inputs& in) { in.costs.uncalibrated += "for another reason"; },
      [](Inputs& in) { in.costs.measured_rates = in.rates; },
      [](Inputs& in) { in.costs.residency.front() += 1; },
      [](Inputs& in) { in.costs.thread_blocks.push_back(1); },
      [](Inputs& in) {
        in.costs.order = {BlockOrder::Kind::shuffled, 1};
      },
      [](Inputs& in) {
        in.costs.order = {BlockOrder::Kind::shuffled, 2};
      },
      [](Inputs& in) { in.costs.heads_at_once += 1; },
      [](Inputs& in) { in.costs.flow.loads_ahead = !in.costs.flow.loads_ahead; },
      [](Inputs& in) { in.costs.flow.stores_beside_next = !in.costs.flow.stores_beside_next; },
      [](Inputs& in) { in.costs.flow.overlaps_softmax = !in.costs.flow.overlaps_softmax; },
      [](Inputs& in) { in.costs.flow.last_product_flops += 1; },
      [](Inputs& in) { in.costs.flow.consumers += 1; },
      [](Inputs& in) { in.costs.flow.trims = !in.costs.flow.trims; },
      [](Inputs& in) { in.costs.flow.reads_maps = !in.costs.flow.reads_maps; },
      [](Inputs& in) { in.costs.flow.reads_lists = !in.costs.flow.reads_lists; },
      [](Inputs& in) { in.costs.warps += 1; },
      [](Inputs& in) { in.costs.has_wgmma_products = !in.costs.has_wgmma_products; },
      [](Inputs& in) { in.costs.has_library_products = !in.costs.has_library_products; },
      [](Inputs& in) {
        in.costs.further = {{"lse", 1}};
      },
      [](Inputs& in) {
        in.costs.further = {{"lse", 2}};
      },
      [](Inputs& in) {
        in.costs.further = {{"initialise", 1}};
      },
      [](Inputs& in) {
        in.costs.further = {{"lse", 0, 1}};
      }};
  changes.emplace_back([](Inputs& in) { in.costs.steps->residency += 1; });
  for (double StepCosts::*const cost :
       {&StepCosts::masked_cycles, &StepCosts::rescaled_cycles, &StepCosts::from_dram_cycles,
        &StepCosts::one_consumer_cycles, &StepCosts::clock_hz, &StepCosts::first_step_s,
        &StepCosts::lone_first_step_s}) {
    changes.push_back([cost](Inputs& in) { (*in.costs.steps).*cost += 1; });
  }
  return changes;
}

std::vector<Change> changes_of_rates() {
  std::vector<Change> changes;
  for (double MachineRates::*const rate : {&MachineRates::sm_count,
                                           &MachineRates::boost_clock_hz,
                                           &MachineRates::matrix_clock_hz,
                                           &MachineRates::dram_read_bytes_per_s,
                                           &MachineRates::dram_write_bytes_per_s,
                                           &MachineRates::dram_copy_bytes_per_s,
                                           &MachineRates::l2_read_bytes_per_s,
                                           &MachineRates::l2_write_bytes_per_s,
                                           &MachineRates::added_bytes_per_s,
                                           &MachineRates::l2_read_one_sm_bytes_per_cycle,
                                           &MachineRates::l1_latency_cycles,
                                           &MachineRates::l2_latency_cycles,
                                           &MachineRates::dram_latency_cycles,
                                           &MachineRates::block_launch_cycles,
                                           &MachineRates::launch_overhead_s,
                                           &MachineRates::launch_gap_one_block_s,
                                           &MachineRates::launch_gap_full_grid_s,
                                           &MachineRates::matrix_flops_per_cycle,
                                           &MachineRates::sync_matrix_flops_per_cycle,
                                           &MachineRates::multiply_adds_per_cycle,
                                           &MachineRates::exponentials_per_cycle,
                                           &MachineRates::shared_bytes_per_cycle,
                                           &MachineRates::barrier_cycles}) {
    changes.push_back([rate](Inputs& in) { in.rates.*rate += 1; });
  }
  return changes;
}

class TimePredictions : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  Inputs inputs() const {
    RecordingRow row = recorded_run("flash2", 264);
    row.run.tiling = {128, 128};
    SimulationReport report = model_of(row, gpu_);
    predict_kernel_dram(report, gpu_);
    const Calibration calibration = *load_calibration(gpu_.name).value();
    KernelCosts costs = kernel_costs(report, gpu_, calibration);
    return {std::move(report), gpu_, calibrated_rates(gpu_).value(), std::move(costs)};
  }
  static TimePrediction computed(const Inputs& in) {
    return predict_time(in.report, in.gpu, in.rates, in.costs).value();
  }
  /// The result of predict_kernel_time(), which uses the cache.
  TimePrediction predicted(const Inputs& in) const {
    SimulationReport report = in.report;
    predict_kernel_time(report, gpu_);
    return report.time.value();
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".time") files.push_back(entry.path());
    }
    return files;
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
  const fs::path folder_ = user_cache_folder("predictions");  // see tests/support/own_cache.cpp
};

TEST_F(TimePredictions, AreThoseOfTheModelAndThenReadFromTheDisk) {
  const Inputs in = inputs();
  const TimePrediction computed = this->computed(in);
  EXPECT_EQ(predicted(in), computed);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(TimeCache().find(in.key()), computed);

  TimePrediction marked = computed;
  marked.launches.back().parts.back() += 1;
  marked.uncalibrated = "marked";
  TimeCache().keep(in.key(), marked);
  EXPECT_EQ(predicted(in), marked) << "not read from the disk";
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(TimePredictions, AreMadeAgainIfTheEntryIsDamaged) {
  const Inputs in = inputs();
  const TimePrediction computed = predicted(in);
  const fs::path entry = entries().front();
  std::ifstream stream(entry, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  std::string changed = whole;
  changed[whole.size() - 20] = static_cast<char>(changed[whole.size() - 20] ^ 1);
  for (const std::string& bytes :
       {std::string(), changed, whole.substr(0, whole.size() / 2), whole + whole}) {
    std::ofstream(entry, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_FALSE(TimeCache().find(in.key()));
    EXPECT_EQ(predicted(in), computed);
  }
}

/// Changes the values that a prediction depends on, one at a time.
TEST_F(TimePredictions, AreOfOneRunGpuAndCalibration) {
  const Inputs first = inputs();
  ASSERT_TRUE(first.costs.steps);
  std::vector<Change> changes = changes_of_report();
  for (const auto& further : {changes_of_costs(), changes_of_rates()}) {
    changes.insert(changes.end(), further.begin(), further.end());
  }
  std::set<std::string> keys = {first.key()};
  for (const auto& change : changes) {
    Inputs changed = first;
    change(changed);
    EXPECT_EQ(changed.key(), changed.key());
    keys.insert(changed.key());
  }
  EXPECT_EQ(keys.size(), changes.size() + 1) << "two of them have one key";

  Inputs renamed = first;  // values that no prediction depends on
  renamed.gpu.name = "mine";
  renamed.report.run.asked.inputs.seed += 1;
  EXPECT_EQ(renamed.key(), first.key());
}

}  // namespace
}  // namespace attnscope
