/// attnscope-cli guide: the reference of all fields of a run, from their table.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

ordered_json field_json(const RunField& field) {
  ordered_json row = {{"option", ""}, {"screen", field.label}, {"json", ""}};
  if (!field.option.empty()) {
    const bool has_value = !field.value_name.empty();
    row["option"] = fmt::format("--{}{}{}", field.option, has_value ? " " : "", field.value_name);
  }
  if (!field.json_key.empty()) {
    row["json"] = fmt::format("{}{}{}", field.json, field.json.empty() ? "" : "/", field.json_key);
  }
  row["help"] = field.help;
  const bool is_flag = field.kind == FieldKind::flag;
  row["accepts"] = is_flag ? "on or off" : accepted_text(field);
  row["default"] = is_flag ? "off" : default_text(field);
  row["of"] = to_string(field.target);
  return row;
}

/// A cell of Markdown: a bar in it would end it.
std::string cell_text(const ordered_json& cell) {
  std::string text;
  for (const char c : cell.get<std::string>()) text += c == '|' ? "\\|" : std::string(1, c);
  return text;
}

std::string guide_text(const std::vector<ordered_json>& rows) {
  std::string text =
      "# Fields of a run\n\n"
      "A command takes those that it has a use for; `attnscope-cli COMMAND --help` lists them.\n\n"
      "| option | screen | JSON | what it is | accepts | default | of |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ordered_json& row : rows) {
    for (const auto& [key, cell] : row.items()) {
      const std::string shown = cell_text(cell);
      const bool is_code = (key == "option" || key == "json") && !shown.empty();
      text += fmt::format("| {0}{1}{0} ", is_code ? "`" : "", shown);
    }
    text += "|\n";
  }
  return text;
}

std::optional<Error> run_guide(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  std::vector<ordered_json> rows;
  for (const RunField& field : run_fields()) rows.push_back(field_json(field));
  const ordered_json document = {{"schema", "attnscope.guide/1"}, {"fields", rows}};
  return write_outputs(outputs.value(), document, rows, guide_text(rows));
}

}  // namespace

CommandSpec guide_command() {
  return {.name = "guide",
          .summary = "The reference of all fields of a run, as Markdown.",
          .operand = "",
          .options = output_options(),
          .run = run_guide};
}

}  // namespace attnscope::cli
