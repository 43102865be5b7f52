#include "app/cli/commands.h"

#include <fmt/format.h>

#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/interruption.h"
#include "kernels/recording/build_info.h"
#include "reference/message_text.h"

namespace attnscope::cli {

namespace {

std::string overview(const std::vector<CommandSpec>& commands) {
  std::string text =
      "attnscope-cli: attention kernels on a modelled and a real GPU\n\n"
      "Usage: attnscope-cli COMMAND [options]\n\nCommands:\n";
  for (const CommandSpec& command : commands) {
    text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  }
  return text +
         "\nattnscope-cli COMMAND --help lists the options of a command.\n"
         "Traffic, tensors and HBM are printed in powers of 1000 (kB, MB, GB), shared memory,\n"
         "registers and L2 in powers of 1024 (KiB, MiB).\n";
}

/// Prints the error in exactly one line; returns its exit status.
int report(const Error& error) {
  clear_progress();
  const char* kind = error.kind == Error::Kind::unavailable ? "unavailable" : "error";
  print_to_stderr(fmt::format("{}: {}\n", kind, words(error, Reader::command_line)));
  return error.kind == Error::Kind::invalid_request ? 2 : 1;
}

/// Prints the text; returns the exit status.
int answer(const std::string& text) {
  const auto error = print_output(text);
  return error ? report(*error) : 0;
}

int run_command(std::vector<std::string> arguments) {
  const std::vector<CommandSpec>& commands = all_commands();
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandSpec& command : commands) names.push_back(command.name);

  // Without a command, print the help
  if (arguments.empty()) {
    return report(
        invalid_request("no command; known: {}; see attnscope-cli --help", fmt::join(names, ", ")));
  }
  if (arguments[0] == "help" && arguments.size() == 2) arguments = {arguments[1], "--help"};
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    return answer(overview(commands));
  }
  if (arguments[0] == "--version") {
    return answer(
        fmt::format("attnscope-cli {} ({})\n", build_info().version, build_info().commit));
  }

  for (const CommandSpec& command : commands) {
    if (command.name != arguments[0]) continue;
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (const CommandSpec* asked = help_asked_of(command, commands, rest)) {
      return answer(help_text(*asked));
    }
    const auto given = parse_arguments(command, commands, rest);
    if (!given) return report(given.error());
    if (auto clash = check_apart({{&command, &given.value()}})) return report(*clash);
    const auto error = command.run(given.value());
    return error ? report(*error) : 0;
  }
  return report(invalid_request(unknown_name_message("command", arguments[0], names)));
}

}  // namespace

int run_program(std::vector<std::string> arguments) {
  return exit_status_of([&] { return run_command(std::move(arguments)); }, report);
}

}  // namespace attnscope::cli
