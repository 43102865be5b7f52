#include "app/lessons/run_values.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/lessons/operation_results.h"
#include "app/lessons/run_documents.h"
#include "app/report/kernel_dram.h"
#include "reference/message_text.h"
#include "sim/ops/tensor_info.h"

namespace attnscope::lessons {

using nlohmann::ordered_json;

namespace {

/// What a path needs; each of the first three includes those before it.
enum class Source : std::uint8_t {
  counted,
  predicted,
  numbers,
  gpu,
  recorded,
  accuracy,
  schedule,
  online_softmax
};

bool is_traffic_of_dram(const Path& path) {
  return path.parts.size() > 1 && path.parts[0].key == "traffic" && path.parts[1].key == "dram";
}

Source source_of(const Path& path) {
  const std::string& key = path.parts[0].key;
  if (key == "gpu" && path.parts.size() > 1) return Source::gpu;
  if (key == "recorded") return Source::recorded;
  if (key == "row" || key == "softmax" || key == "errors" || key == "orders") {
    return Source::accuracy;
  }
  if (key == "schedule") return Source::schedule;
  if (key == "online_softmax") return Source::online_softmax;
  if (key == "accuracy" || key == "inputs") return Source::numbers;
  return key == "time" || is_traffic_of_dram(path) ? Source::predicted : Source::counted;
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
                                        const GpuDescription& gpu) {
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
  return unavailable("not calibrated for {}: {}", gpu.display_name,
                     time.value("calibration_reason", "the time of this run is not predicted"));
}

/// Why this GPU has no such rate; nothing if it has one, or if the path is a different one.
std::optional<Error> missing_rate(const Path& path, const ordered_json& gpu) {
  if (path.parts.size() != 3 || path.parts[1].key != "matrix_flops_per_s") return std::nullopt;
  const std::string& dtype = path.parts[2].key;
  if (!parse_name<DType>(dtype) || gpu.at("matrix_flops_per_s").contains(dtype)) {
    return std::nullopt;
  }
  return unavailable("{} has no matrix units for {}", gpu.at("display_name").get<std::string>(),
                     dtype);
}

/// That a run does not fit is a property of the GPU, not a mistake in the lesson.
Error without_fault(Error error) {
  if (error.code == ErrorCode::does_not_fit) error.kind = Error::Kind::unavailable;
  return error;
}

/// The text of a value in the spelling of a selection.
std::string plain_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_selected(const ordered_json& element, const PathPart& part) {
  return std::ranges::all_of(part.selects, [&](const auto& select) {
    const auto& [key, wanted] = select;
    if (!element.is_object()) return false;
    if (!element.contains(key)) return wanted.empty();
    return plain_text(element.at(key)) == wanted;
  });
}

/// Follows one path through a JSON document.
class Walk {
 public:
  explicit Walk(const Path& path) : path_(path), walked_(path.run) {}

  /// The part's member or element of `at`.
  Result<const ordered_json*> enter(const ordered_json& at, const PathPart& part) {
    if (part.key.empty()) return element(at, part);
    if (!at.is_object()) return invalid_request("{}: {} has no keys", path_.text, walked_);
    if (!at.contains(part.key)) {
      // A tensor that is not listed moved no bytes
      static const ordered_json nothing = {
          {"read_bytes", 0}, {"write_bytes", 0}, {"atomic_bytes", 0}};
      if (walked_.ends_with(".by_tensor") && parse_name<Tensor>(part.key)) {
        walked_ += "." + part.key;
        return &nothing;
      }
      std::vector<std::string> known;
      for (const auto& [key, unused] : at.items()) known.push_back(key);
      return invalid_request("{}: {}", path_.text, unknown_name_message("key", part.key, known));
    }
    walked_ += "." + part.key;
    return &at.at(part.key);
  }

 private:
  Result<const ordered_json*> element(const ordered_json& at, const PathPart& part) {
    if (!at.is_array()) return invalid_request("{}: {} is not a list", path_.text, walked_);
    if (part.selects.empty()) {
      if (part.index < at.size()) return &at[part.index];
      return invalid_request("{}: {} has {} elements", path_.text, walked_, at.size());
    }
    const ordered_json* found = nullptr;
    for (const ordered_json& each : at) {
      if (!is_selected(each, part)) continue;
      if (found != nullptr) {
        return invalid_request("{}: the selection matches several elements of {}", path_.text,
                               walked_);
      }
      found = &each;
    }
    if (found != nullptr) return found;
    return invalid_request("{}: the selection matches no element of {}", path_.text, walked_);
  }

  const Path& path_;
  std::string walked_;
};

Result<Value> value_of(const ordered_json& value, const Path& path) {
  if (value.is_boolean()) return Value(value.get<bool>());
  if (value.is_number()) return Value(value.get<double>());
  if (value.is_string()) return Value(value.get<std::string>());
  return invalid_request("{} is {}, not a value; extend the path", path.text,
                         value.is_array() ? "a list" : "an object");
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

struct RunValues::Documents {
  std::optional<Result<ModelRun>> model;
  std::optional<Result<SimulationAnswer>> answer;
  bool is_predicted = false;
  std::map<Source, Result<ordered_json>> by_source;
  std::optional<Result<HeadOperations>> ops, ops_with_values;

  const Result<ModelRun>& model_of(const RunSpec& spec) {
    if (!model) model = model_run(spec);
    return *model;
  }

  /// The simulation, with the parts that the source needs.
  Result<const SimulationAnswer*> answer_with(Source source, const RunSpec& spec) {
    ATTNSCOPE_TRY(const ModelRun run, model_of(spec));
    if (!answer) answer = count_run(run);
    if (!*answer) return answer->error();
    SimulationAnswer& counted = answer->value();
    if (source != Source::counted && !is_predicted) {
      predict_run(counted);
      is_predicted = true;
    }
    if (source == Source::numbers && !counted.numbers) {
      ATTNSCOPE_TRY(counted.numbers, run_numbers(run));
    }
    return &counted;
  }

  Result<ordered_json> compute(Source source, const RunSpec& spec) {
    ATTNSCOPE_TRY(const ModelRun run, model_of(spec));
    if (source == Source::gpu) return gpu_json(run.gpu);
    if (source == Source::accuracy) return accuracy_of(run);
    if (source == Source::online_softmax) {
      ATTNSCOPE_TRY(ordered_json rows, online_softmax_json(run));
      return ordered_json{{"online_softmax", std::move(rows)}};
    }
    const bool counts_only = source == Source::schedule || source == Source::recorded;
    ATTNSCOPE_TRY(const auto* const simulated,
                  answer_with(counts_only ? Source::counted : source, spec));
    if (source == Source::recorded) return recorded_json(simulated->report, run.gpu);
    if (source == Source::schedule) return schedule_json(*simulated);
    return simulation_json(*simulated);
  }

  const Result<ordered_json>& find(Source source, const RunSpec& spec) {
    const auto known = by_source.find(source);
    if (known != by_source.end()) return known->second;
    return by_source.emplace(source, compute(source, spec)).first->second;
  }

  const Result<HeadOperations>& operations(bool with_values, const RunSpec& spec) {
    auto& kept = with_values ? ops_with_values : ops;
    if (kept) return *kept;
    const auto& run = model_of(spec);
    kept = run ? head_operations(run.value(), with_values) : Result<HeadOperations>(run.error());
    return *kept;
  }
};

RunValues::RunValues(RunSpec spec)
    : spec_(std::move(spec)), documents_(std::make_unique<Documents>()) {}
RunValues::~RunValues() = default;

Result<Value> RunValues::value(const Path& path) {
  const Source source = source_of(path);
  const auto& document = documents_->find(source, spec_);
  if (!document) return without_fault(document.error());
  if (source == Source::gpu) {
    if (auto missing = missing_rate(path, document.value())) return *missing;
  }
  if (source == Source::predicted) {
    if (auto missing = missing_prediction(path, document.value(), documents_->model->value().gpu))
      return *missing;
  }
  // These documents are separate from the simulation's: the path's first key has chosen the
  // document
  const bool is_apart =
      source == Source::gpu || source == Source::recorded || source == Source::schedule;
  const ordered_json* at = &document.value();
  Walk walk(path);
  for (std::size_t n = is_apart ? 1 : 0; n < path.parts.size(); ++n) {
    ATTNSCOPE_TRY(at, walk.enter(*at, path.parts[n]));
  }
  return value_of(*at, path);
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
