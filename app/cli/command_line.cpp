#include "app/cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "reference/message_text.h"

namespace attnscope::cli {

std::optional<std::string> GivenOptions::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::optional<std::string> GivenOptions::take(std::string_view name) {
  auto value = text(name);
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
  return value;
}

std::vector<std::string> GivenOptions::all(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

namespace {

/// Adds the command's options and operands to the parser.
void define_options(CLI::App& app, const CommandSpec& command) {
  app.allow_extras();
  for (const OptionSpec& spec : command.options) {
    if (spec.value_name.empty()) {
      app.add_flag("--" + spec.name);
    } else {
      app.add_option("--" + spec.name)
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  for (const std::string& name : {command.operand, command.object}) {
    if (!name.empty()) app.add_option(name)->expected(1)->allow_extra_args(false);
  }
}

/// The end of the command's own arguments: those after "--" belong to another command.
auto end_of_own(const CommandSpec& command, const std::vector<std::string>& arguments) {
  return command.takes_command ? std::find(arguments.begin(), arguments.end(), "--")
                               : arguments.end();
}

/// Whether the word, such as "--json", names an option of the command.
bool is_option_of(const CommandSpec& command, const std::string& word) {
  return word.starts_with("--") && std::ranges::find(command.options, word.substr(2),
                                                     &OptionSpec::name) != command.options.end();
}

/// The error for an argument that the command does not accept.
Error unexpected(const CommandSpec& command, std::span<const CommandSpec> commands,
                 const std::string& argument) {
  if (!argument.starts_with("--") || argument == "--") {
    return invalid_request("unexpected argument '{}'; {} takes {}, see attnscope-cli {} --help",
                           printable(argument), command.name,
                           command.operand.empty()  ? "options only"
                           : command.object.empty() ? "one word and options"
                                                    : "two words and options",
                           command.name);
  }
  const std::string name = argument.substr(2, argument.find('=') - 2);
  for (const CommandSpec& other : commands) {
    const auto is_named = [&](const OptionSpec& option) { return option.name == name; };
    if (std::any_of(other.options.begin(), other.options.end(), is_named)) {
      return invalid_request("--{} is an option of {}, not of {}; see attnscope-cli {} --help",
                             name, other.name, command.name, command.name);
    }
  }
  std::vector<std::string> known;
  for (const OptionSpec& option : command.options) known.push_back(option.name);
  const auto nearest = nearest_name(name, known);
  return invalid_request(
      "unknown option '--{}' of {}; {}see attnscope-cli {} --help", printable(name), command.name,
      nearest ? fmt::format("did you mean '--{}'? ", *nearest) : "", command.name);
}

/// The first option that takes a value and is followed by another option, or by nothing.
std::optional<std::string> option_without_value(const CommandSpec& command,
                                                std::span<const std::string> arguments) {
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const auto is_this = [&](const OptionSpec& option) {
      return !option.value_name.empty() && arguments[k] == "--" + option.name;
    };
    if (std::ranges::none_of(command.options, is_this)) continue;
    const bool has_value = k + 1 < arguments.size() && !is_option_of(command, arguments[k + 1]);
    if (!has_value) return arguments[k];
    ++k;
  }
  return std::nullopt;
}

}  // namespace

Result<GivenOptions> parse_arguments(const CommandSpec& command,
                                     std::span<const CommandSpec> commands,
                                     const std::vector<std::string>& arguments) {
  const auto own_end = end_of_own(command, arguments);
  std::vector<std::string> reversed(arguments.begin(), own_end);
  std::reverse(reversed.begin(), reversed.end());  // the order that CLI11 requires

  CLI::App app;
  define_options(app, command);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    const auto lacking = option_without_value(command, {arguments.begin(), own_end});
    return invalid_request("{}; see attnscope-cli {} --help",
                           lacking ? *lacking + " needs a value" : printable(error.what()),
                           command.name);
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    return unexpected(command, commands, extras.front());
  }

  GivenOptions given;
  if (own_end != arguments.end()) {
    given.add(std::string(kSweptWords), {own_end + 1, arguments.end()});
  }
  for (const OptionSpec& spec : command.options) {
    const std::vector<std::string>& values = app.get_option("--" + spec.name)->results();
    if (values.empty()) continue;
    if (values.size() > 1 && !spec.repeatable) {
      return invalid_request("--{} was given {} times; give it once", spec.name, values.size());
    }
    if (spec.value_name.empty() && values.front() != "true") {
      return invalid_request("--{} is a switch and takes no value", spec.name);
    }
    for (const std::string& value : values) {
      if (!is_option_of(command, value)) continue;
      return invalid_request("--{} needs a value, and {} is an option; see attnscope-cli {} --help",
                             spec.name, value, command.name);
    }
    given.add(spec.name, values);
  }
  for (const auto& [name, key] :
       {std::pair{command.operand, kOperand}, {command.object, kObject}}) {
    if (name.empty() || app.get_option(name)->count() == 0) continue;
    given.add(std::string(key), app.get_option(name)->results());
  }
  return given;
}

const CommandSpec* help_asked_of(const CommandSpec& command, std::span<const CommandSpec> commands,
                                 const std::vector<std::string>& arguments) {
  const auto own_end = end_of_own(command, arguments);
  const auto asks = [](auto begin, auto end) {
    return std::any_of(begin, end,
                       [](const auto& word) { return word == "--help" || word == "-h"; });
  };
  if (asks(arguments.begin(), own_end)) return &command;
  if (!asks(own_end, arguments.end())) return nullptr;
  const auto inner = std::ranges::find(commands, *(own_end + 1), &CommandSpec::name);
  return inner == commands.end() ? &command : &*inner;
}

std::string help_text(const CommandSpec& command) {
  std::string text =
      fmt::format("{}\n\nUsage: attnscope-cli {}{}{} [options]{}\n\nOptions:\n", command.summary,
                  command.name, command.operand.empty() ? "" : " " + command.operand,
                  command.object.empty() ? "" : " " + command.object,
                  command.takes_command ? " -- COMMAND [its options]" : "");
  for (const OptionSpec& option : command.options) {
    const std::string left = fmt::format("--{}{}{}", option.name,
                                         option.value_name.empty() ? "" : " ", option.value_name);
    text += fmt::format("  {:<28} {}\n", left, option.help);
  }
  return text;
}

Error not_accepted(std::string_view option, std::string_view text, std::string_view accepted) {
  return invalid_request("--{} is '{}'; it must be {}", option, printable(text), accepted);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace attnscope::cli
