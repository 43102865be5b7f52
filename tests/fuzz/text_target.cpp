/// The grammars of options: every field, masks, block masks, lists, sizes and the axes of sweeps.
/// An input has the name of its grammar in the first line, and the text after it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/sweep_axes.h"
#include "reference/block_mask.h"
#include "reference/block_pattern.h"
#include "reference/field_rules.h"
#include "reference/message_text.h"
#include "reference/run_fields.h"
#include "tests/fuzz/fuzz_target.h"

namespace attnscope::fuzz {

namespace {

/// Requires that a field reads back the text that it prints as the same value.
void run_field_text(const RunField& field, std::string_view text) {
  RunSpec spec;
  if (const auto error = set_field(field, text, spec)) {
    return require_good_message(words(*error, Reader::command_line));
  }
  if (const auto error = check_range(field, spec)) {
    return require_good_message(words(*error, Reader::command_line));
  }
  const std::string printed = field.print(spec);
  RunSpec again;
  require(!set_field(field, printed, again),
          fmt::format("{}: '{}' is not read back", field.key, printed));
  require(field.print(again) == printed, fmt::format("{}: '{}' changes", field.key, printed));
  if (const auto error = validate(spec)) require_good_message(words(*error, Reader::screen));
}

void run_mask(std::string_view text) {
  const auto mask = parse_mask(text);
  if (!mask) return;
  require(parse_mask(to_string(*mask)) == mask, "a mask changes");
  AttentionProblem problem{.N = 5, .N_kv = 7, .mask = *mask};
  if (validate(problem)) return;
  for (Index query = 0; query < problem.N; ++query) {
    const KeyRange keys = problem.keys_of(query);
    require(keys.size() == 0 || (keys.begin >= 0 && keys.end <= problem.N_kv),
            "keys outside [0, N_kv)");
  }
}

void run_block_mask(std::string_view text) {
  const auto pattern = parse_block_pattern(text);
  if (!pattern) return require_good_message(pattern.error());
  if (pattern.value().kind == BlockPattern::Kind::file) return;
  const auto again = parse_block_pattern(to_string(pattern.value()));
  require(again.ok(), "a block mask is not read back");
  const auto mask = make_block_mask(pattern.value(), 37, 53, {4, 8});
  require(mask.ok() && mask.value()->Tr() == 10 && mask.value()->Tc() == 7, "no mask");
}

void run_axes(std::string_view text) {
  static const cli::CommandSpec swept = cli::simulate_command();
  const auto axes = cli::parse_axes(cli::split(text, '\n'), swept);
  if (!axes) return require_good_message(axes.error());
  const auto points = cli::all_points(axes.value());
  if (!points) return require_good_message(points.error());
  require(!points.value().empty(), "a sweep without points");
}

void run_one_line(std::string_view text) {
  require(one_line(text).find('\n') == std::string::npos, "more than one line");
}

/// A grammar that belongs to no field.
struct Grammar {
  std::string_view name;
  void (*run)(std::string_view text);
};
constexpr Grammar kGrammars[] = {{"masks", run_mask},
                                 {"block masks", run_block_mask},
                                 {"axes", run_axes},
                                 {"one line", run_one_line}};

/// The input's first line, which names the grammar, and the rest.
std::pair<std::string_view, std::string_view> split_name(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  return {input.substr(0, end), input.substr(std::min(end + 1, input.size()))};
}

}  // namespace

void run_text(std::string_view input) {
  const auto [name, text] = split_name(input);
  for (const Grammar& grammar : kGrammars) {
    if (grammar.name == name) return grammar.run(text);
  }
  if (const RunField* field = find_field(name)) return run_field_text(*field, text);
}

std::string mutate_named_text(std::string_view input, Random& random) {
  const auto [name, text] = split_name(input);
  if (!random.one_in(4)) return fmt::format("{}\n{}", name, mutate_text(text, random));
  const std::size_t chosen = random.below(std::size(kGrammars) + run_fields().size());
  const bool is_field = chosen >= std::size(kGrammars);
  return fmt::format(
      "{}\n{}", is_field ? run_fields()[chosen - std::size(kGrammars)].key : kGrammars[chosen].name,
      text);
}

}  // namespace attnscope::fuzz
