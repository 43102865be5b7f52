/// attnscope-cli guide: the reference of all fields of a run, from their table.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "reference/field_rules.h"

namespace attnscope::cli {

namespace {

ordered_json field_json(const RunField& field) {
  const bool is_flag = field.kind == FieldKind::flag;
  const std::string_view before_value = field.value_name.empty() ? "" : " ";
  const std::string_view before_key = field.json.empty() ? "" : "/";
  const std::string option = fmt::format("--{}{}{}", field.option, before_value, field.value_name);
  const std::string json = fmt::format("{}{}{}", field.json, before_key, field.json_key);
  return {{"option", field.option.empty() ? "" : option},
          {"screen", field.label},
          {"json", field.json_key.empty() ? "" : json},
          {"help", field.help},
          {"accepts", is_flag ? "on or off" : accepted_text(field)},
          {"default", is_flag ? "off" : default_text(field)},
          {"of", to_string(field.target)}};
}

/// A cell of Markdown, with bars escaped, because a bar would end the cell.
std::string cell_text(const ordered_json& cell) {
  std::string text;
  for (const char c : cell.get<std::string>()) text += c == '|' ? "\\|" : std::string(1, c);
  return text;
}

std::string guide_text(const ordered_json& rows) {
  std::string text =
      "# Fields of a run\n\n"
      "Each command accepts the fields that it uses; `attnscope-cli COMMAND --help` lists them.\n\n"
      "| option | screen | JSON | what it is | accepts | default | applies to |\n"
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

Result<Answer> answer_guide(const GivenOptions&) {
  ordered_json rows = ordered_json::array();
  for (const RunField& field : run_fields()) rows.push_back(field_json(field));
  const ordered_json document = {{"schema", "attnscope.guide/1"}, {"fields", rows}};
  return Answer{json_text(document), csv_text(rows), guide_text(rows)};
}

}  // namespace

CommandSpec guide_command() {
  return answering(
      {.name = "guide", .summary = "Prints the reference of all fields of a run, as Markdown."},
      answer_guide);
}

}  // namespace attnscope::cli
