/// attnscope-cli measure: times the real kernel and reads its hardware counters.

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/comparison_report.h"
#include "app/report/report_text.h"
#include "kernels/resolve.h"
#include "reference/message_text.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

Result<Protocol> parse_protocol(const GivenOptions& given) {
  Protocol protocol;
  constexpr int kMost = 1'000'000;
  ATTNSCOPE_TRY(protocol.warm_ups, read_whole(given, "warm-ups", 0, kMost, protocol.warm_ups));
  ATTNSCOPE_TRY(protocol.repeats, read_whole(given, "repeats", 1, kMost, protocol.repeats));
  ATTNSCOPE_TRY(protocol.checked_rows,
                read_whole(given, "checked-rows", 0, kMost, protocol.checked_rows));
  ATTNSCOPE_TRY(protocol.time_budget_s, read_whole(given, "time-budget", 0, kMost,
                                                   static_cast<int>(protocol.time_budget_s)));
  ATTNSCOPE_TRY(protocol.cache, read_choice(given, "cache", parse_name<CacheState>, "cold or warm",
                                            protocol.cache));
  protocol.counters = !given.has("no-counters");
  if (!given.has("check")) return protocol;
  if (given.has("checked-rows")) {
    return invalid_request("--check and --checked-rows contradict each other; give one of them");
  }
  protocol.checked_rows = std::numeric_limits<int>::max();
  return protocol;
}

/// The user's tensors, completed by generated ones; nothing if all are generated, on the GPU.
Result<std::optional<AttentionInputs>> read_own_tensors(const RunSpec& spec) {
  if (!spec.files.any()) return std::optional<AttentionInputs>();
  if (auto error = check_host_memory(spec.problem)) return *error;
  ATTNSCOPE_TRY(auto inputs, load_inputs(spec.problem, spec.files, spec.inputs));
  return std::optional(std::move(inputs));
}

/// Measures the run, on the user's tensors if there are any. If a kernel cannot be compiled, the
/// row gives the error.
RecordingRow measured_row(Gpu& gpu, const ResolvedRun& run,
                          const std::optional<AttentionInputs>& own, const Protocol& protocol) {
  if (auto error = compile_with_progress(gpu, run, kernels::RunUse::measure)) {
    return {.run = run, .error = std::move(error)};
  }
  return own ? gpu.record_own(run, *own, protocol) : gpu.record(run, protocol);
}

}  // namespace

std::optional<Error> check_measure_options(const GivenOptions& given, MeasuringSession& session) {
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, kernels::kernel_names()));
  if (const auto protocol = parse_protocol(given); !protocol) return protocol.error();
  if (const auto gpu = gpu_of(spec); !gpu) return gpu.error();
  const auto file = given.text("out");
  if (!file && given.has("resume")) {
    return invalid_request("--resume needs --out, the recording to continue");
  }
  if (!file) return std::nullopt;
  constexpr std::string_view kAccepted =
      "a file in a writable folder, or --json - for standard output";
  if (auto error = check_writable(given, "out", kAccepted)) return error;
  if (is_stream(*file)) {
    return invalid_request("no measurement can be added to --out '{}' later; give {}",
                           printable(*file), kAccepted);
  }
  return session.check_recording(*file);
}

Result<Measured> measure_once(const GivenOptions& given, MeasuringSession& session) {
  if (auto error = check_measure_options(given, session)) return *error;
  const RunSpec spec = parse_run_of(given, kernels::kernel_names()).value();
  const Protocol protocol = parse_protocol(given).value();
  // Reject invalid requests before the GPU is used
  if (const auto runs = kernels::resolve_passes(spec); !runs) return runs.error();
  ATTNSCOPE_TRY(const auto own, read_own_tensors(spec));
  ATTNSCOPE_TRY(const auto gpu, session.gpu());
  ATTNSCOPE_TRY(auto runs, kernels::resolve_passes(spec, gpu->target()));

  // Open the file first: a recording of another GPU or build is rejected before any work
  Measured measured{gpu->empty_recording(protocol), std::nullopt};
  Recording& recording = measured.recording;
  const auto file = given.text("out");
  const RecordingWriter* opened = nullptr;
  if (file) {
    const auto writer = session.open_recording(*file, recording);
    if (!writer && writer.error().kind == Error::Kind::invalid_request) return writer.error();
    if (!writer) {
      measured.unsaved = writer.error();
      return measured;
    }
    opened = writer.value();
  }
  for (ResolvedRun& run : runs) {
    if (own) run.files_hash = hash_of_inputs(*own);
    if (given.has("resume")) {
      if (const RecordingRow* row = opened->find_measured({.run = run})) {
        recording.rows.push_back(*row);
        continue;
      }
    }
    recording.rows.push_back(measured_row(*gpu, run, own, protocol));
    // A file with a meaningless measurement could not be opened again
    if (opened != nullptr) recording.rows.back() = readable(std::move(recording.rows.back()));
    if (opened != nullptr) measured.unsaved = session.add(recording.rows.back());
    if (measured.unsaved) break;
  }
  return measured;
}

namespace {

/// The model of the run beside its measurement, or why there is none.
std::string modelled_text(const GivenOptions& given, const MeasuredOn& on,
                          const RecordingRow& row) {
  const auto unavailable_text = [](const Error& error) {
    return fmt::format("modelled: unavailable: {}\n", words(error, Reader::command_line));
  };
  const auto gpu = gpu_beside(given, row.run.asked, on.device);
  if (!gpu) return unavailable_text(gpu.error());
  const auto comparison = model_and_compare(row, on, gpu.value());
  if (!comparison) return unavailable_text(comparison.error());
  const std::string text = to_text(comparison_table(comparison.value(), "measured"));
  if (!comparison.value().stands_alone.empty()) return text;
  return fmt::format("modelled on {}\n{}", gpu.value().display_name, text);
}

std::string measurement_text(const Recording& recording, const RecordingRow& row) {
  const Measurement& measured = *row.measurement;
  Lines lines = {{"quantity", "measured"}};
  lines.push_back({"time, median", seconds_text(measured.time.median_s)});
  lines.push_back({"time, min", seconds_text(measured.time.min_s)});
  lines.push_back({"time, max", seconds_text(measured.time.max_s)});
  lines.push_back({"timed passes", fmt::format("{}", measured.time.n)});
  if (measured.time.sm_clock_hz) {
    lines.push_back({"SM clock", clock_text(*measured.time.sm_clock_hz)});
  }
  for (const auto& [name, value] : measured.counters) {
    lines.push_back({name, fmt::format("{:.15g}", value)});
  }
  for (const auto& [name, reason] : measured.unavailable_counters) {
    lines.push_back({name, fmt::format("unavailable: {}", reason)});
  }
  if (measured.accuracy) {
    const Accuracy& accuracy = *measured.accuracy;
    lines.push_back({"max abs error of O", fmt::format("{:.3g}", accuracy.max_abs_error)});
    lines.push_back({"within tolerance", accuracy.within_tolerance ? "yes" : "NO"});
  }
  if (measured.gradients) {
    const GradientAccuracy& gradients = *measured.gradients;
    for (const auto& [name, error] : {std::pair{"dQ", gradients.dQ}, std::pair{"dK", gradients.dK},
                                      std::pair{"dV", gradients.dV}}) {
      lines.push_back(
          {fmt::format("max abs error of {}", name), fmt::format("{:.3g}", error.max_abs_error)});
    }
    lines.push_back({"within tolerance", gradients.within_tolerance ? "yes" : "NO"});
  }
  const std::string text =
      fmt::format("{}\non {} (measured), driver {}, {} L2\n\n{}", run_title(row),
                  one_line(recording.device.name), one_line(recording.device.driver),
                  to_string(recording.protocol.cache), table_text(lines));
  const auto note = rounding_note(row.run);
  return note.empty() ? text : fmt::format("{}\n{}\n", text, note);
}

Result<Answer> answer_measure(const GivenOptions& given) {
  show_progress("measuring");
  MeasuringSession session(given);
  ATTNSCOPE_TRY(const auto measured, measure_once(given, session));
  const Recording& recording = measured.recording;
  if (recording.rows.empty()) return *measured.unsaved;
  // A failed pass does not hide the results of the other
  const MeasuredOn on{recording.device, recording.protocol.cache};
  Answer answer{.failure = measured.unsaved};
  for (const RecordingRow& row : recording.rows) {
    if (row.error) {
      if (!answer.failure) answer.failure = row.error;
      continue;
    }
    answer.text += fmt::format("{}{}\n{}", answer.text.empty() ? "" : "\n",
                               measurement_text(recording, row), modelled_text(given, on, row));
  }
  if (answer.text.empty() && answer.failure) return *answer.failure;

  const ordered_json document = ordered_json::parse(recording_text(recording));
  answer.json = json_text(document);
  answer.csv = csv_text(document.at("rows"));
  if (measured.unsaved) answer.text = recording_text(recording);
  return answer;
}

}  // namespace

CommandSpec measure_command() {
  return answering(
      {.name = "measure",
       .summary = "Times the real kernel and reads its hardware counters.",
       .options =
           joined({run_options(FieldTarget::kernel),
                   modelled_gpu_options(),
                   {{"out", "FILE", "add the measurement to a recording (JSON)", false,
                     adds_to_recording()},
                    {"resume", "", "skip runs that the recording already has"},
                    {"warm-ups", "COUNT", "untimed passes before the timed ones [3]"},
                    {"repeats", "COUNT", "timed passes [20]"},
                    {"time-budget", "SECONDS",
                     "stop after this time, but not before three timed passes [2]"},
                    {"cache", "STATE", "cold or warm: the L2 cache when a pass begins [cold]"},
                    {"no-counters", "", "time the kernel without hardware counters"},
                    {"checked-rows", "COUNT", "rows compared with the reference, 0 for none [64]"},
                    {"check", "", "compare every row with the reference"}}})},
      answer_measure);
}

}  // namespace attnscope::cli
