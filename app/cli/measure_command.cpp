#include "app/cli/measure_command.h"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "app/cli/kernel_request.h"
#include "app/cli/memory_check.h"
#include "app/cli/modelled_beside.h"
#include "app/cli/outputs.h"
#include "app/cli/recording_file.h"
#include "app/cli/table.h"
#include "app/report/comparison_report.h"
#include "app/report/number_text.h"
#include "reference/nearest_name.h"
#include "reference/one_line.h"
#include "sim/accuracy.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

std::vector<OptionSpec> protocol_options() {
  return {
      {"warm-ups", "COUNT", "passes before the timed ones [3]"},
      {"repeats", "COUNT", "timed passes [20]"},
      {"time-budget", "SECONDS", "end the timed passes after this long, but not before three [2]"},
      {"cache", "STATE", "cold or warm: the L2 cache when a pass begins [cold]"},
      {"no-counters", "", "only time it: no hardware counters"},
      {"checked-rows", "COUNT", "rows compared with the reference, 0 for none [64]"},
      {"check", "", "compare every row with the reference"},
  };
}

/// Sets `target` from a whole number option when it was given.
std::optional<Error> read_count(const GivenOptions& given, std::string_view option, int min,
                                int& target) {
  const auto text = given.text(option);
  if (!text) return std::nullopt;
  const auto value = parse_whole(option, *text, min, 1'000'000);
  if (!value) return value.error();
  target = static_cast<int>(value.value());
  return std::nullopt;
}

Result<Protocol> parse_protocol(const GivenOptions& given) {
  Protocol protocol;
  if (auto error = read_count(given, "warm-ups", 0, protocol.warm_ups)) return *error;
  if (auto error = read_count(given, "repeats", 1, protocol.repeats)) return *error;
  if (auto error = read_count(given, "checked-rows", 0, protocol.checked_rows)) return *error;
  auto time_budget_s = static_cast<int>(protocol.time_budget_s);
  if (auto error = read_count(given, "time-budget", 0, time_budget_s)) return *error;
  protocol.time_budget_s = time_budget_s;
  if (const auto text = given.text("cache")) {
    const auto state = parse_cache_state(*text);
    if (!state) {
      return invalid_request(
          fmt::format("--cache is '{}'; it must be cold or warm", printable(*text)));
    }
    protocol.cache = *state;
  }
  protocol.counters = !given.has("no-counters");
  if (given.has("check")) {
    if (given.has("checked-rows")) {
      return invalid_request("--check and --checked-rows contradict each other; give one of them");
    }
    protocol.checked_rows = std::numeric_limits<int>::max();
  }
  return protocol;
}

/// Whether a tensor comes from a file.
bool has_own_tensors(const InputPaths& files) {
  return !(files.Q.empty() && files.K.empty() && files.V.empty() && files.dO.empty());
}

/// The user's tensors, missing ones drawn; nothing when all are drawn, on the GPU.
Result<std::optional<AttentionInputs>> read_own_tensors(const ProblemRequest& request) {
  if (!has_own_tensors(request.input_files)) return std::optional<AttentionInputs>();
  if (auto error = check_host_memory(request.problem)) return *error;
  auto inputs = load_inputs(request.problem, request.input_files, request.inputs);
  if (!inputs) return inputs.error();
  return std::optional(std::move(inputs).value());
}

/// One GPU session for all measurements of this process: opening it takes longer than most of them.
Result<std::shared_ptr<KernelLibrary>> shared_library() {
  static std::shared_ptr<KernelLibrary> opened;
  if (opened) return opened;
  auto library = KernelLibrary::load();
  if (library) opened = library.value();
  return library;
}

}  // namespace

std::optional<Error> check_measure_options(const GivenOptions& given) {
  const auto request = parse_kernel_problem(given);
  if (!request) return request.error();
  if (const auto protocol = parse_protocol(given); !protocol) return protocol.error();
  if (const auto gpu = parse_gpu(given); !gpu) return gpu.error();
  const auto file = given.text("out");
  if (!file && given.has("resume")) {
    return invalid_request("--resume needs --out, the recording to go on with");
  }
  if (given.has("resume") && has_own_tensors(request.value().input_files)) {
    return invalid_request(
        "--resume is for drawn inputs; a recording does not tell one .npy file from another");
  }
  if (!file) return std::nullopt;
  constexpr std::string_view kAccepted =
      "a file in a writable folder, or --json - for standard output";
  if (*file != "-") {
    if (auto error = check_writable("out", *file, kAccepted)) return error;
  }
  if (is_stream(*file)) {
    return invalid_request(
        fmt::format("--out is '{}', to which no measurement can be added later; give {}",
                    printable(*file), kAccepted));
  }

  return check_recording_file(*file);
}

Result<Recording> measure_once(const GivenOptions& given) {
  if (auto error = check_measure_options(given)) return *error;
  const ProblemRequest request = parse_kernel_problem(given).value();
  const Protocol protocol = parse_protocol(given).value();
  const auto choices = choose_kernels(request, given.has("deterministic"));
  if (!choices) return choices.error();
  const auto own = read_own_tensors(request);
  if (!own) return own.error();
  const auto library = shared_library();
  if (!library) return library.error();

  // Open the file first: a recording of another GPU or build is refused before any work
  Recording recording = library.value()->empty_recording(protocol);
  const RecordingWriter* writer = nullptr;
  if (const auto file = given.text("out")) {
    const auto opened = open_recording_file(*file, recording);
    if (!opened) return opened.error();
    writer = opened.value();
  }
  for (const KernelChoice& choice : choices.value()) {
    if (writer != nullptr && given.has("resume")) {
      const RecordingRow run = describe_run(request.problem, choice, request.inputs);
      if (const RecordingRow* measured = writer->find_measured(run)) {
        recording.rows.push_back(*measured);
        continue;
      }
    }
    RecordingRow row =
        own.value() ? library.value()->record_own(request.problem, choice, *own.value(), protocol)
                    : library.value()->record(request.problem, choice, request.inputs, protocol);
    if (writer != nullptr) {
      if (auto error = add_to_recording_file(row)) return *error;
    }
    recording.rows.push_back(std::move(row));
  }
  return recording;
}

namespace {

/// The model of the run beside its measurement, or why there is none.
std::string modelled_text(const GivenOptions& given, const MeasuredOn& on,
                          const RecordingRow& row) {
  const auto gpu = gpu_beside(given, on.device);
  if (!gpu) return fmt::format("modelled: unavailable: {}\n", one_line(gpu.error().message));
  const auto comparison = model_and_compare(row, on, gpu.value());
  if (!comparison) {
    return fmt::format("modelled: unavailable: {}\n", one_line(comparison.error().message));
  }
  std::string text = comparison_table(comparison.value(), "measured");
  if (!comparison.value().stands_alone.empty()) return text;
  return fmt::format("modelled on {}\n{}", gpu.value().display_name, text);
}

std::string measurement_text(const Recording& recording, const RecordingRow& row) {
  const Measurement& measured = *row.measurement;
  std::vector<std::vector<std::string>> lines = {{"quantity", "measured"}};
  lines.push_back({"time, median", seconds_text(measured.time.median_s)});
  lines.push_back({"time, min", seconds_text(measured.time.min_s)});
  lines.push_back({"time, max", seconds_text(measured.time.max_s)});
  lines.push_back({"timed passes", fmt::format("{}", measured.time.n)});
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
  std::string text = fmt::format("{}\non {} (measured), driver {}, {} L2\n\n{}", run_title(row),
                                 one_line(recording.device.name), one_line(recording.device.driver),
                                 to_string(recording.protocol.cache), table_text(lines));
  const auto note = rounded_output_note(row.algorithm, row.carry, row.problem.dtype);
  return note.empty() ? text : fmt::format("{}\n{}\n", text, note);
}

std::optional<Error> measure(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  show_progress("measuring");
  const auto recording = measure_once(given);
  clear_progress();
  if (!recording) return recording.error();
  // A pass that failed hides no other one
  const MeasuredOn on{recording.value().device, recording.value().protocol.cache};
  std::string text;
  std::optional<Error> first_error;
  for (const RecordingRow& row : recording.value().rows) {
    if (row.error) {
      if (!first_error) first_error = row.error;
      continue;
    }
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n",
                        measurement_text(recording.value(), row), modelled_text(given, on, row));
  }
  if (text.empty() && first_error) return first_error;

  const ordered_json document = ordered_json::parse(recording_text(recording.value()));
  if (auto error = write_outputs(outputs.value(), document, document.at("rows"))) return error;
  if (!outputs.value().owns_standard_output()) {
    if (auto error = write_text("-", text)) return error;
  }
  return first_error;
}

}  // namespace

CommandSpec measure_command() {
  return {.name = "measure",
          .summary = "Times the real kernel and reads its hardware counters.",
          .operand = "",
          .options = joined({problem_options(),
                             block_mask_option(),
                             model_options(),
                             input_options(),
                             {{"out", "FILE", "add the measurement to a recording (JSON)"},
                              {"deterministic", "", "backward: add up dQ in a fixed order"},
                              {"resume", "", "leave out what the recording holds already"}},
                             protocol_options(),
                             output_options()}),
          .run = measure};
}

}  // namespace attnscope::cli
