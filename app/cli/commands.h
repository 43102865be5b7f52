/// Every command of attnscope-cli, functions that several of them share, and the program that runs
/// them. COMMAND_command() is in COMMAND_command.cpp, which the build finds by name.
#pragma once

#include <vector>

#include "app/cli/command_line.h"
#include "app/cli/measuring_session.h"
#include "app/documents/simulated_run.h"
#include "app/documents/simulation_json.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope::cli {

CommandSpec accuracy_command();
CommandSpec break_command();
CommandSpec calibrate_command();
CommandSpec compare_command();
CommandSpec compile_command();
CommandSpec fits_command();
CommandSpec flops_command();
CommandSpec fusion_command();
CommandSpec guide_command();
CommandSpec io_command();
CommandSpec knobs_command();
CommandSpec lesson_command();
CommandSpec list_command();
CommandSpec measure_command();
CommandSpec run_command();
CommandSpec simulate_command();
CommandSpec sweep_command();
CommandSpec trace_command();

/// All commands, in the order of the help text.
inline const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> commands = {
      simulate_command(), run_command(),   measure_command(),   compare_command(),
      compile_command(),  sweep_command(), accuracy_command(),  fusion_command(),
      io_command(),       flops_command(), fits_command(),      trace_command(),
      break_command(),    knobs_command(), calibrate_command(), list_command(),
      guide_command(),    lesson_command()};
  return commands;
}

/// Plays the lesson in the terminal: questions on standard output, answers from standard input.
/// Errors as in load_lesson(), and for an option that cannot be understood.
std::optional<Error> play_lesson(const GivenOptions& given);

/// Executes the command line, given without the program's name: results go to standard output,
/// an error is one line on standard error. Returns the exit status: 0 done, 1 the work failed or
/// something is unavailable, 2 the request was invalid. Does not throw.
int run_program(std::vector<std::string> arguments);

/// The run that the options of the model's fields request (simulate, trace); invalid_request for
/// options that cannot be understood or combined.
Result<ModelRun> parse_model_run(const GivenOptions& given);

/// An error if simulate's options cannot be parsed; simulate_once() reports options that cannot be
/// combined.
std::optional<Error> check_simulate_options(const GivenOptions& given);
/// Runs the model; with --out it also writes the numbers.
Result<SimulationAnswer> simulate_once(const GivenOptions& given);

/// An error if measure's options cannot be parsed; measure_once() reports sizes that cannot be
/// combined.
std::optional<Error> check_measure_options(const GivenOptions& given, MeasuringSession& session);
/// The measurements of one command line.
struct Measured {
  Recording recording;           ///< one row, two for --pass both: a measurement, or an error
  std::optional<Error> unsaved;  ///< why rows could not be added to the file of --out
};
/// Measures; with --out each row is also added to that file.
Result<Measured> measure_once(const GivenOptions& given, MeasuringSession& session);

}  // namespace attnscope::cli
