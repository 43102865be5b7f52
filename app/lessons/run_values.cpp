#include "app/lessons/run_values.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/lessons/json_path.h"
#include "app/lessons/operation_results.h"
#include "app/lessons/run_documents.h"
#include "app/report/compare.h"
#include "app/report/kernel_dram.h"
#include "app/report/time_words.h"

namespace attnscope::lessons {

using nlohmann::ordered_json;

/// The source of a path's value; each of the first three includes those before it.
enum class PathSource : std::uint8_t {
  counted,
  predicted,
  numbers,
  gpu,
  measured,  ///< by this machine's GPU, in this session
  recorded,  ///< in a shipped recording
  accuracy,
  schedule,
  online_softmax
};

namespace {

bool is_traffic_of_dram(const Path& path) {
  return path.parts.size() > 1 && path.parts[0].key == "traffic" && path.parts[1].key == "dram";
}

PathSource source_of(const Path& path) {
  const std::string& key = path.parts[0].key;
  if (key == "gpu" && path.parts.size() > 1) return PathSource::gpu;
  if (key == "row" || key == "softmax" || key == "errors" || key == "orders") {
    return PathSource::accuracy;
  }
  if (key == "schedule") return PathSource::schedule;
  if (key == "online_softmax") return PathSource::online_softmax;
  if (key == "accuracy" || key == "inputs") return PathSource::numbers;
  return key == "time" || is_traffic_of_dram(path) ? PathSource::predicted : PathSource::counted;
}

/// Whether the key is present only in a prediction.
bool is_prediction(const Path& path) {
  if (path.parts.size() < 2 || path.parts[0].key != "time") return is_traffic_of_dram(path);
  const std::string& key = path.parts[1].key;
  return key == "predicted_s" || key == "primitives_s" || key == "clock_hz" || key == "parts" ||
         key == "launches";
}

/// Why the run has no such prediction; nothing if it has one.
std::optional<Error> missing_prediction(const Path& path, const ordered_json& document,
                                        const SimulationAnswer& answer) {
  if (!is_prediction(path)) return std::nullopt;
  if (is_traffic_of_dram(path)) {
    if (document.at("traffic").contains("dram")) return std::nullopt;
    return unavailable("the DRAM bytes of this run take too long to predict");
  }
  const ordered_json& time = document.at("time");
  const bool from_rates = path.parts[1].key == "primitives_s";  // needs no calibrated steps
  if (time.contains("predicted_s") && (from_rates || time.value("calibrated", false))) {
    return std::nullopt;
  }
  return unavailable("not calibrated for {}: {}", answer.gpu.display_name,
                     why_not_calibrated(answer.report, answer.gpu));
}

/// Why this GPU has no such rate; nothing if it has one, or if the path is a different one.
std::optional<Error> missing_rate(const Path& path, const ordered_json& gpu) {
  if (path.parts.size() != 3 || path.parts[1].key != "matrix_flops_per_s") return std::nullopt;
  const std::string& dtype = path.parts[2].key;
  if (!parse_name<DType>(dtype) || gpu.at("matrix_flops_per_s").contains(dtype)) {
    return std::nullopt;
  }
  return unavailable("{} has no tensor cores for {}", gpu.at("display_name").get<std::string>(),
                     dtype);
}

/// That a run does not fit is a property of the GPU, not a mistake in the lesson.
Error without_fault(Error error) {
  if (error.code == ErrorCode::does_not_fit) error.kind = Error::Kind::unavailable;
  return error;
}

/// Why the run has no measurement.
Error not_measured(const SimulationReport& report, const GpuDescription& gpu) {
  const std::string no_kernel = why_no_kernel(report, gpu);
  if (!no_kernel.empty()) return unavailable("not measured: {}", no_kernel);
  return unavailable(
      "not measured: no shipped recording has this run on {}; on such a GPU, \"Run on GPU\" in "
      "the window measures it",
      gpu.display_name);
}

ordered_json schedule_json(const SimulationAnswer& answer) {
  const SimulationReport& report = answer.report;
  const AttentionProblem& problem = report.run.problem;
  const Tiling& tiling = report.run.tiling;
  const auto main = std::ranges::max_element(
      report.launches, {}, [](const LaunchReport& each) { return each.requested.total(); });
  const auto n = static_cast<std::size_t>(main - report.launches.begin());
  return {{"Tr", ceil_div(problem.N, tiling.Br)},
          {"Tc", ceil_div(problem.N_kv, tiling.Bc)},
          {"steps", report.tile_ops / (problem.batch * problem.heads)},
          {"launches", report.launches.size()},
          {"thread_blocks", main->thread_blocks},
          {"blocks_per_sm", kernel_residency(report, answer.gpu, {})[n]}};
}

}  // namespace

bool is_measured(const Path& path) {
  return path.parts.front().key == "measured";
}

struct RunValues::Documents {
  std::optional<Result<ModelRun>> model;
  std::optional<Result<SimulationAnswer>> answer;
  bool is_predicted = false;
  std::map<PathSource, Result<ordered_json>> by_source;
  std::optional<Recording> session_run;  ///< the measurement of PathSource::measured
  std::optional<Result<HeadOperations>> ops, ops_with_values;

  const Result<ModelRun>& model_of(const RunSpec& spec) {
    if (!model) model = model_run(spec);
    return *model;
  }

  /// The simulation, with the parts that the source needs.
  Result<const SimulationAnswer*> answer_with(PathSource source, const RunSpec& spec) {
    ATTNSCOPE_TRY(const ModelRun run, model_of(spec));
    if (!answer) answer = count_run(run);
    if (!*answer) return answer->error();
    SimulationAnswer& counted = answer->value();
    if (source != PathSource::counted && !is_predicted) {
      predict_run(counted);
      is_predicted = true;
    }
    if (source == PathSource::numbers && !counted.numbers) {
      ATTNSCOPE_TRY(counted.numbers, run_numbers(run));
    }
    return &counted;
  }

  /// The run's measurement, from this session or from a shipped recording.
  Result<ordered_json> compute_measured(PathSource source, const SimulationReport& report,
                                        const GpuDescription& gpu, const SessionRuns& session) {
    const bool is_shipped = source == PathSource::recorded;
    if (!is_shipped && !session) return not_measured(report, gpu);
    const auto found = find_measurement(report, gpu, is_shipped ? shipped_recordings() : *session);
    if (!found) return not_measured(report, gpu);
    if (!is_shipped) session_run = found->alone();
    return measured_json(*found, gpu);
  }

  Result<ordered_json> compute(PathSource source, const RunSpec& spec, const SessionRuns& session) {
    ATTNSCOPE_TRY(const ModelRun run, model_of(spec));
    if (source == PathSource::gpu) return gpu_json(run.gpu);
    if (source == PathSource::accuracy) return accuracy_of(run);
    if (source == PathSource::online_softmax) {
      ATTNSCOPE_TRY(ordered_json rows, online_softmax_json(run));
      return ordered_json{{"online_softmax", std::move(rows)}};
    }
    const bool is_of_gpu = source == PathSource::measured || source == PathSource::recorded;
    const bool counts_only = source == PathSource::schedule || is_of_gpu;
    ATTNSCOPE_TRY(const auto* const simulated,
                  answer_with(counts_only ? PathSource::counted : source, spec));
    if (is_of_gpu) return compute_measured(source, simulated->report, run.gpu, session);
    if (source == PathSource::schedule) return schedule_json(*simulated);
    return simulation_json(*simulated);
  }

  const Result<ordered_json>& find(PathSource source, const RunSpec& spec,
                                   const SessionRuns& session = nullptr) {
    const auto known = by_source.find(source);
    if (known != by_source.end()) return known->second;
    return by_source.emplace(source, compute(source, spec, session)).first->second;
  }

  const Result<HeadOperations>& operations(bool with_values, const RunSpec& spec) {
    auto& kept = with_values ? ops_with_values : ops;
    if (kept) return *kept;
    const auto& run = model_of(spec);
    kept = run ? head_operations(run.value(), with_values) : Result<HeadOperations>(run.error());
    return *kept;
  }
};

RunValues::RunValues(RunSpec spec, SessionRuns session)
    : spec_(std::move(spec)),
      session_(std::move(session)),
      documents_(std::make_unique<Documents>()) {}
RunValues::~RunValues() = default;

void RunValues::set_session(SessionRuns session) {
  session_ = std::move(session);
  documents_->by_source.erase(PathSource::measured);
  documents_->session_run.reset();
}

/// A value that a GPU measured.
struct RunValues::FoundValue {
  Value value;
  PathSource source = PathSource::recorded;
};

/// The value in the session's measurement or, if that lacks it, in the shipped recording. If both
/// lack it, the error from the session's, which is newer.
Result<RunValues::FoundValue> RunValues::measured_value(const Path& path) {
  std::optional<Error> missing;
  for (const PathSource source : {PathSource::measured, PathSource::recorded}) {
    const auto& document = documents_->find(source, spec_, session_);
    const auto value = document ? value_in(document.value(), path, 1) : document.error();
    if (value) return FoundValue{value.value(), source};
    const bool is_told = document.ok() || source == PathSource::recorded;
    if (is_told && !missing) missing = value.error();
  }
  return without_fault(*missing);
}

Result<std::optional<Recording>> RunValues::measurement_of(const Path& path) {
  ATTNSCOPE_TRY(const FoundValue found, measured_value(path));
  return found.source == PathSource::measured ? documents_->session_run : std::nullopt;
}

Result<Value> RunValues::value(const Path& path) {
  if (is_measured(path)) {
    ATTNSCOPE_TRY(FoundValue found, measured_value(path));
    return std::move(found.value);
  }
  const PathSource source = source_of(path);
  const auto& document = documents_->find(source, spec_);
  if (!document) return without_fault(document.error());
  if (source == PathSource::gpu) {
    if (auto missing = missing_rate(path, document.value())) return *missing;
  }
  if (source == PathSource::predicted) {
    if (auto missing = missing_prediction(path, document.value(), documents_->answer->value()))
      return *missing;
  }
  // These documents are separate from the simulation's: the path's first key has chosen the
  // document
  const bool is_apart = source == PathSource::gpu || source == PathSource::schedule;
  return value_in(document.value(), path, is_apart ? 1 : 0);
}

Result<Index> RunValues::visit(Index n) {
  const auto& operations = documents_->operations(false, spec_);
  if (!operations) return without_fault(operations.error());
  const std::vector<TileOp>& ops = operations.value().ops;
  Index count = 0;
  for (std::size_t step = 0; step < ops.size(); ++step) {
    if (ops[step].kind == OpKind::scores && count++ == n) return static_cast<Index>(step);
  }
  return invalid_request("visit {}: the run computes {} tiles of scores; use 0 to {}", n, count,
                         count - 1);
}

Result<Index> RunValues::launch(Index n) {
  const auto& operations = documents_->operations(false, spec_);
  if (!operations) return without_fault(operations.error());
  const std::vector<Index>& launches = operations.value().launches;
  if (n >= 0 && n < std::ssize(launches)) return launches[static_cast<std::size_t>(n)];
  return invalid_request("launch {}: the run has {} launches; use 0 to {}", n, launches.size(),
                         std::ssize(launches) - 1);
}

Result<TilePlace> RunValues::tile(Index step) {
  const auto& operations = documents_->operations(false, spec_);
  if (!operations) return without_fault(operations.error());
  const std::vector<TileOp>& ops = operations.value().ops;
  const auto count = static_cast<Index>(ops.size());
  if (step < 0 || step >= count) {
    return invalid_request("step {}: the run has {} operations; use 0 to {}", step, count,
                           count - 1);
  }
  // An operation on rows belongs to the last tile before it
  const auto is_score_tile = [](const Tile& tile) {
    return is_score(tile.tensor) && tile.j != kAllColumns;
  };
  for (Index n = step; n >= 0; --n) {
    const TileOp& op = ops[static_cast<std::size_t>(n)];
    for (const auto tiles : {op.dests(), op.sources()}) {
      const auto found = std::ranges::find_if(tiles, is_score_tile);
      if (found != tiles.end()) return TilePlace{found->i, found->j};
    }
  }
  return invalid_request("step {}: no tile of scores has been computed yet", step);
}

Result<Index> RunValues::first_difference(RunValues& other) {
  const auto& own = documents_->operations(true, spec_);
  if (!own) return own.error();
  const auto& theirs = other.documents_->operations(true, other.spec_);
  if (!theirs) return theirs.error();
  const auto& [ops, results, launches] = own.value();
  const auto& [other_ops, other_results, other_launches] = theirs.value();
  if (ops.size() != other_ops.size()) {
    return invalid_request("first_difference: one run has {} operations and the other {}",
                           ops.size(), other_ops.size());
  }
  for (std::size_t step = 0; step < ops.size(); ++step) {
    if (ops[step].kind != other_ops[step].kind) {
      return invalid_request("first_difference: the operations differ from step {} on", step);
    }
    if (results[step] != other_results[step]) return static_cast<Index>(step);
  }
  return unavailable("no result differs");
}

}  // namespace attnscope::lessons
