#include "app/lessons/run_documents.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/documents/study_json.h"
#include "app/lessons/operation_results.h"
#include "kernels/recording/recording.h"
#include "sim/accuracy.h"
#include "sim/device/assets.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/row_trackers.h"

namespace attnscope::lessons {

using nlohmann::ordered_json;

ordered_json gpu_json(const GpuDescription& gpu) {
  ordered_json document = {{"name", gpu.name},
                           {"display_name", gpu.display_name},
                           {"compute_capability", gpu.compute_capability},
                           {"sm_count", gpu.sm_count},
                           {"l1_shared_bytes_per_sm", gpu.l1_shared_bytes_per_sm},
                           {"shared_bytes_per_sm", gpu.shared_bytes_per_sm},
                           {"shared_bytes_per_block", gpu.shared_bytes_per_block},
                           {"register_bytes_per_sm", gpu.register_bytes_per_sm},
                           {"max_threads_per_sm", gpu.max_threads_per_sm},
                           {"max_blocks_per_sm", gpu.max_blocks_per_sm},
                           {"l2_bytes", gpu.l2_bytes},
                           {"hbm_bytes", gpu.hbm_bytes},
                           {"dram_bytes_per_s", gpu.dram_bytes_per_s},
                           {"boost_clock_hz", gpu.boost_clock_hz},
                           {"other_flops_per_s", gpu.other_flops_per_s},
                           {"exp_per_clock_per_sm", gpu.exp_per_clock_per_sm},
                           {"exponentials_per_s", gpu.exponentials_per_s()}};
  document["matrix_flops_per_s"] = ordered_json::object();
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const auto rate = gpu.matrix_flops_per_s(dtype);
    if (rate) document["matrix_flops_per_s"][std::string(to_string(dtype))] = *rate;
  }
  return document;
}

const std::vector<Recording>& shipped_recordings() {
  static const std::vector<Recording> all = [] {
    std::vector<Recording> read;
    for (const std::string& name : list_assets("recordings")) {
      const auto path = find_asset("recordings", name);
      if (!path) continue;
      auto recording = read_recording(path.value());
      if (recording) read.push_back(std::move(recording).value());
    }
    return read;
  }();
  return all;
}

namespace {

MeasuredOn measured_on(const Recording& recording) {
  return {recording.device, recording.protocol.cache};
}

}  // namespace

Recording FoundMeasurement::alone() const {
  Recording copy{.device = recording->device,
                 .build = recording->build,
                 .date = recording->date,
                 .protocol = recording->protocol};
  copy.rows.push_back(*row);
  return copy;
}

std::optional<FoundMeasurement> find_measurement(const SimulationReport& report,
                                                 const GpuDescription& gpu,
                                                 std::span<const Recording> recordings) {
  std::optional<FoundMeasurement> found;
  for (const Recording& recording : recordings) {
    const MeasuredOn on = measured_on(recording);
    for (const RecordingRow& row : recording.rows) {
      if (!row.measurement || !difference(report, gpu, row, on).none()) continue;
      found = FoundMeasurement{&recording, &row};
    }
  }
  return found;
}

Result<ordered_json> measured_json(const FoundMeasurement& found, const GpuDescription& gpu) {
  ATTNSCOPE_TRY(const Comparison comparison,
                model_and_compare(*found.row, measured_on(*found.recording), gpu,
                                  {.most_transfers = kQuickTransfers}));
  ordered_json document = rows_json(compared_runs({comparison})).front();
  const auto recorded = ordered_json::parse(recording_text(found.alone()));
  document["time"] = recorded.at("rows").front().at("time");
  return document;
}

Result<ordered_json> accuracy_of(const ModelRun& model) {
  const RunSpec& spec = model.run.asked;
  const AccuracyRequest request{
      .problem = spec.problem,
      .lengths = {spec.problem.N},
      .dtypes = {spec.problem.dtype},
      .carries = {spec.variant.carry},
      .pass = spec.pass == PassKind::forward ? PassKind::forward : PassKind::backward,
      .inputs = spec.inputs,
      .tiling = model.run.tiling,
      .gpu = model.gpu};
  ATTNSCOPE_TRY(const AccuracyReport report, compare_accuracy(request, [](const auto&) {}));
  return study_json(accuracy_study(request, report));
}

namespace {

/// Follows every row of a head, and keeps its state after each column tile.
class RowKeeper : public Observer {
 public:
  RowKeeper(Index rows, NumericExecutor& executor) : executor_(executor) {
    for (Index query = 0; query < rows; ++query) trackers_.emplace_back(query, 0);
  }

  void begin_launch(std::string_view name, const TileGrid& grid) override {
    grid_ = &grid;
    executor_.begin_launch(name, grid);
  }
  void begin_block(const BlockId& block) override { executor_.begin_block(block); }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      for (SoftmaxTracker& tracker : trackers_) tracker.before(op, *grid_, executor_);
      executor_.execute(op);
      for (std::size_t query = 0; query < trackers_.size(); ++query) {
        trackers_[query].after(op, *grid_, executor_);
        const SoftmaxRow& row = trackers_[query].row();
        const bool is_own = row.known && row.query == static_cast<Index>(query);
        if (is_own && row.j >= 0) kept[{row.query, row.j}] = row;
      }
    }
  }

  std::map<std::pair<Index, std::int32_t>, SoftmaxRow> kept;  ///< states by query and column tile

 private:
  NumericExecutor& executor_;
  const TileGrid* grid_ = nullptr;
  std::vector<SoftmaxTracker> trackers_;
};

ordered_json row_json(const SoftmaxRow& row) {
  ordered_json document = {{"query", row.query}, {"i", row.i}, {"j", row.j}};
  const std::optional<double> undivided = row.undivided ? row.undivided : row.O;
  const std::pair<const char*, const std::optional<double>&> values[] = {{"m_prev", row.m_prev},
                                                                         {"row_max", row.row_max},
                                                                         {"m", row.m},
                                                                         {"alpha", row.alpha},
                                                                         {"beta", row.beta},
                                                                         {"l_prev", row.l_prev},
                                                                         {"row_sum", row.row_sum},
                                                                         {"l", row.l},
                                                                         {"O", undivided}};
  for (const auto& [name, value] : values) {
    if (value) document[name] = *value;
  }
  return document;
}

}  // namespace

Result<ordered_json> online_softmax_json(const ModelRun& model) {
  const AttentionProblem& problem = model.run.problem;
  if (problem.N > kMostRows || problem.N_kv > kMostFollowedScores / kMostRows) {
    return unavailable("the rows of {} queries are too many to follow; use at most {}", problem.N,
                       kMostRows);
  }
  if (model.run.splits > 1) return unavailable("the keys of this run are split");
  // A break in the backward pass does not affect the forward pass before it
  const bool is_whole = model.run.pass() == PassKind::backward;
  ScheduleOptions options = schedule_options(model.run, model.gpu);
  NumericRules rules = numeric_rules(model.run.asked);
  if (is_whole) options = without_break(options);
  if (is_whole) rules = without_break(rules);
  const Pass pass =
      make_head_pass(*find_algorithm(model.run.algorithm()), PassKind::forward, options);
  ATTNSCOPE_TRY(const auto inputs, inputs_of(model));
  NumericExecutor executor(problem, inputs, rules);
  executor.begin_head(0, 0, pass.initial_values);
  RowKeeper keeper(problem.N, executor);
  Observer* const observers[] = {&keeper};
  run_head(pass, {problem, model.run.tiling, options}, 0, 0, observers);
  ordered_json rows = ordered_json::array();
  for (const auto& [place, row] : keeper.kept) rows.push_back(row_json(row));
  if (rows.empty()) return unavailable("{} has no online softmax", model.run.algorithm());
  return rows;
}

}  // namespace attnscope::lessons
