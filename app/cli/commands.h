/// Every command of attnscope-cli, functions that several of them share, and the program that runs
/// them. COMMAND_command() is in COMMAND_command.cpp, which the build finds by name.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "kernels/measure/gpu.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/simulation.h"

namespace attnscope::cli {

CommandSpec accuracy_command();
CommandSpec compare_command();
CommandSpec compile_command();
CommandSpec fits_command();
CommandSpec flops_command();
CommandSpec fusion_command();
CommandSpec guide_command();
CommandSpec io_command();
CommandSpec knobs_command();
CommandSpec list_command();
CommandSpec measure_command();
CommandSpec run_command();
CommandSpec simulate_command();
CommandSpec sweep_command();
CommandSpec trace_command();

/// All commands, in the order of the help text.
inline const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> commands = {
      simulate_command(), run_command(),   measure_command(),  compare_command(),
      compile_command(),  sweep_command(), accuracy_command(), fusion_command(),
      io_command(),       flops_command(), fits_command(),     trace_command(),
      knobs_command(),    list_command(),  guide_command()};
  return commands;
}

/// Executes the command line, given without the program's name: results go to standard output,
/// an error is one line on standard error. Returns the exit status: 0 done, 1 the work failed or
/// something is unavailable, 2 the request was invalid. Does not throw.
int run_program(std::vector<std::string> arguments);

// Runs of the model, and the parts that documents of kernels' runs share.

struct ModelRun {
  ResolvedRun run;
  GpuDescription gpu;
};
/// The run that the options of the model's fields request (simulate, trace); invalid_request for
/// options that cannot be understood or combined.
Result<ModelRun> parse_model_run(const GivenOptions& given);

/// The results of simulate; a part that was not requested is absent.
struct SimulationAnswer {
  SimulationReport report;
  GpuDescription gpu;
  std::optional<WarpReport> warps = {};
  std::optional<NumericResult> numbers = {};
  std::optional<Error> unsaved = {};  ///< why --out could not be written
};

/// Nothing when simulate's options can be understood; simulate_once() reports options that
/// cannot be combined.
std::optional<Error> check_simulate_options(const GivenOptions& given);
/// Runs the model; with --out it also writes the numbers.
Result<SimulationAnswer> simulate_once(const GivenOptions& given);

/// Whether an output of the pass holds a NaN.
bool has_nan(const NumericResult& numbers, PassKind pass);

/// The results as JSON (schema attnscope.simulation/1): "accuracy" and "inputs" are absent unless
/// there are numbers, "warps" unless there are; "memory.reason" unless it does not fit;
/// "capacities" unless the user gave some; "carry" and "variant" unless they are not the default.
/// The errors of "accuracy" are the largest of those of its "tensors", the pass's outputs: O
/// forward; dQ, dK, dV backward; all of both.
nlohmann::ordered_json simulation_json(const SimulationAnswer& answer);

/// {"problem", "algorithm", "kernel", "pass", "tiling", "carry", "inputs"} of a kernel's run, as in
/// a recording.
nlohmann::ordered_json run_identity(const ResolvedRun& run);

/// "bound_s", the lower bound of the time, with its kind, its basis and the unit that sets it.
nlohmann::ordered_json time_bound_json(const SimulationReport& report);

/// The results as tables. Every number in them is modelled.
std::string simulation_text(const SimulationAnswer& answer);

// Measurements of kernels.

/// State shared by the measurements of one command. A sweep has hundreds of them: the GPU is opened
/// once, since that takes longer than most measurements, and the recording is read once, and again
/// only if another program has written it.
class MeasuringSession {
 public:
  /// `given` are the options of the command line that measures; its --json and --csv are outputs.
  explicit MeasuringSession(GivenOptions given) : given_(std::move(given)) {}

  /// Errors as in Gpu::open().
  Result<std::shared_ptr<Gpu>> gpu();

  /// An existing file must be a recording, and no output may replace one of its mask files.
  std::optional<Error> check_recording(const std::filesystem::path& path);
  /// The recording's writer, valid until the next call; errors as in RecordingWriter::open().
  Result<RecordingWriter*> open_recording(const std::filesystem::path& path,
                                          const Recording& header);
  /// Adds a row to the recording that was opened last; errors as in RecordingWriter::add(). A
  /// signal that ends the program then says how many rows were added, and how to resume.
  std::optional<Error> add(const RecordingRow& row);

 private:
  GivenOptions given_;
  std::shared_ptr<Gpu> gpu_;
  std::filesystem::path checked_path_;
  FileStamp checked_;  ///< the file that was last found to be a recording
  std::filesystem::path written_path_;
  std::optional<RecordingWriter> writer_;  ///< of written_path_
  int added_ = 0;
};

/// Nothing when measure's options can be understood; measure_once() reports sizes that cannot be
/// combined.
std::optional<Error> check_measure_options(const GivenOptions& given, MeasuringSession& session);
/// The measurements of one command line.
struct Measured {
  Recording recording;           ///< one row, two for --pass both: a measurement, or an error
  std::optional<Error> unsaved;  ///< why rows could not be added to the file of --out
};
/// Measures; with --out each row is also added to that file.
Result<Measured> measure_once(const GivenOptions& given, MeasuringSession& session);

/// Calls Gpu::compile(); "compiling 2 of 3" appears after the progress line once this has taken
/// 100 ms, so that cached kernels show nothing.
std::optional<Error> compile_with_progress(Gpu& gpu, const ResolvedRun& run, kernels::RunUse use);

}  // namespace attnscope::cli
