#include "tests/fuzz/command_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/cli/commands.h"
#include "reference/parse_number.h"

namespace attnscope::fuzz {

namespace {

/// Whether the argument is --option or --option=value.
bool names_option(std::string_view argument, std::string_view option) {
  return argument.starts_with(option) &&
         (argument.size() == option.size() || argument[option.size()] == '=');
}

/// Gives the study a problem that takes milliseconds instead of ten seconds.
void pin_accuracy(std::vector<std::string>& arguments) {
  constexpr std::pair<std::string_view, std::string_view> kPinned[] = {
      {"--seq-len", "16"}, {"--head-dim", "8"}, {"--heads", "1"}, {"--orders", "2"}};
  for (const auto& [name, value] : kPinned) {
    const std::string_view option = name;
    const auto has_value = [option](const std::string& argument) {
      return argument.size() > option.size() && names_option(argument, option);
    };
    std::erase_if(arguments, has_value);
    for (auto at = std::ranges::find(arguments, option); at != arguments.end();
         at = std::ranges::find(arguments, option)) {
      arguments.erase(at, at + std::min<std::ptrdiff_t>(arguments.end() - at, 2));
    }
    arguments.insert(arguments.begin() + 1, {std::string(option), std::string(value)});
  }
}

bool asks_for_numbers(const std::vector<std::string>& arguments) {
  constexpr std::string_view kNumbers[] = {"--check", "--out", "--q", "--k", "--v", "--do"};
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(
        kNumbers, [&](std::string_view option) { return names_option(argument, option); });
  });
}

/// The values, with the limit in place of those above it.
std::string at_most(std::string_view values, Index limit) {
  std::vector<std::string> texts = cli::split(values, ',');
  for (std::string& text : texts) {
    const auto number = parse_number<Index>(text);
    if (number && *number > limit) text = fmt::format("{}", limit);
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

/// Limits the sizes in `--size VALUE`, `--size=VALUE` and `--over size=VALUES`.
void limit_sizes(std::vector<std::string>& arguments) {
  constexpr std::pair<std::string_view, Index> kSizes[] = {{"--seq-len", 256}, {"--kv-len", 256},
                                                           {"--head-dim", 16}, {"--heads", 8},
                                                           {"--kv-heads", 8},  {"--batch", 8}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view dashes = i > 0 && arguments[i - 1] == "--over" ? "--" : "";
    const std::string option = fmt::format("{}{}", dashes, arguments[i]);
    for (const auto& [size, limit] : kSizes) {
      if (!names_option(option, size)) continue;
      if (option.size() > size.size()) {
        const std::size_t value = size.size() + 1 - dashes.size();
        arguments[i] = arguments[i].substr(0, value) + at_most(arguments[i].substr(value), limit);
      } else if (i + 1 < arguments.size()) {
        arguments[i + 1] = at_most(arguments[i + 1], limit);
      }
    }
  }
}

}  // namespace

std::vector<std::string> command_arguments(std::string_view lines) {
  constexpr std::size_t kLongestArgument = (std::size_t{1} << 17U) - 1;
  std::vector<std::string> arguments;
  lines = lines.substr(0, std::size_t{1} << 20U);
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string argument(lines.substr(0, std::min(end, kLongestArgument)));
    const std::size_t name = argument.starts_with("inputs/") ? 7 : 0;
    std::replace(argument.begin() + static_cast<std::ptrdiff_t>(name), argument.end(), '/', '_');
    std::ranges::replace(argument, '\0', '?');  // ends an argument of a real program
    arguments.push_back(std::move(argument));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  if (!arguments.empty() && arguments[0] == "accuracy") pin_accuracy(arguments);
  if (asks_for_numbers(arguments)) limit_sizes(arguments);
  return arguments;
}

}  // namespace attnscope::fuzz
