/// Options and commands as data, and one parser for all of them. It accepts every option at most
/// once, and reports every mistake in one line: what is wrong, why, and what would be accepted.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/parse_number.h"
#include "reference/result.h"

namespace attnscope::cli {

/// The files that an option's value names, and how the command uses them (option_files.h).
struct OptionFiles {
  enum class Use : std::uint8_t { none, read, written };
  Use use = Use::none;
  std::function<std::vector<std::filesystem::path>(const std::string& value)> named_by = {};
  std::string_view may_replace = {};  ///< the kind of shipped files that it may replace: "a
                                      ///< recording"
  bool may_be_stdout = false;         ///< whether a written file may be standard output
};

/// One option of a command.
struct OptionSpec {
  std::string name;        ///< "seq-len", without dashes
  std::string value_name;  ///< "N"; empty for a switch
  std::string help;        ///< the option's meaning; its default in brackets, "[64]"
  bool repeatable = false;
  OptionFiles files = {};
};

/// The options that were given, as text. Commands turn text into values.
class GivenOptions {
 public:
  void add(const std::string& name, std::vector<std::string> values) {
    values_[name] = std::move(values);
  }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// The option's value, or nothing when it was not given.
  std::optional<std::string> text(std::string_view name) const;
  /// Like text(), but also removes the option.
  std::optional<std::string> take(std::string_view name);
  /// Every value of a repeatable option.
  std::vector<std::string> all(std::string_view name) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// The function of a command; returns nothing on success.
using CommandFunction = std::function<std::optional<Error>(const GivenOptions&)>;

struct CommandSpec {
  std::string name;
  std::string summary;  ///< one sentence
  std::string operand;  ///< name of the first positional argument, empty when there is none
  std::vector<OptionSpec> options;
  CommandFunction run;
  bool takes_command = false;  ///< true: another command line follows "--" (sweep)
  std::string object = {};     ///< name of the second positional argument, empty for none
};

/// Names under which GivenOptions holds the positional arguments.
inline constexpr std::string_view kOperand = "(operand)";
inline constexpr std::string_view kObject = "(object)";
/// Name under which GivenOptions holds the words after "--", if the command takes them.
inline constexpr std::string_view kSweptWords = "(swept)";

/// The options in `arguments` (without program and command name), or invalid_request. `commands`
/// are all commands, so that the message can name the command of a misplaced option.
Result<GivenOptions> parse_arguments(const CommandSpec& command,
                                     std::span<const CommandSpec> commands,
                                     const std::vector<std::string>& arguments);

/// The command whose help the arguments of `command` request with --help or -h: `command` itself,
/// or the one after "--" if the option follows it. nullptr if they request no help.
const CommandSpec* help_asked_of(const CommandSpec& command, std::span<const CommandSpec> commands,
                                 const std::vector<std::string>& arguments);

/// The text of `attnscope-cli COMMAND --help`.
std::string help_text(const CommandSpec& command);

/// The error "--mode is 'x'; it must be training or inference".
Error not_accepted(std::string_view option, std::string_view text, std::string_view accepted);

/// The option's parsed value, or `by_default` when it was not given.
template <typename Value, typename Parse>
Result<Value> read_choice(const GivenOptions& given, std::string_view option, const Parse& parse,
                          std::string_view accepted, const Value& by_default) {
  const auto text = given.text(option);
  if (!text) return by_default;
  const std::optional<Value> value = parse(*text);
  return value ? Result<Value>(*value) : not_accepted(option, *text, accepted);
}

/// Like read_choice(), for a whole number in digits, from `min` to `max`.
template <std::integral Whole>
Result<Whole> read_whole(const GivenOptions& given, std::string_view option,
                         std::type_identity_t<Whole> min, std::type_identity_t<Whole> max,
                         Whole by_default) {
  const auto parse = [&](const std::string& text) -> std::optional<Whole> {
    const auto value = parse_number<Whole>(text);
    return value && *value >= min && *value <= max ? value : std::nullopt;
  };
  return read_choice(given, option, parse, fmt::format("a whole number from {} to {}", min, max),
                     by_default);
}

/// Splits a list into its parts.
std::vector<std::string> split(std::string_view text, char separator = ',');

}  // namespace attnscope::cli
