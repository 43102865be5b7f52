/// attnscope-cli knobs KERNEL: the switches of a kernel.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/report/report_text.h"
#include "kernels/catalog.h"
#include "kernels/knobs.h"
#include "reference/algorithm.h"
#include "reference/field_rules.h"
#include "reference/message_text.h"

namespace attnscope::cli {

namespace {

ordered_json knob_json(const kernels::Knob& knob, const kernels::KernelInfo& kernel) {
  ordered_json values = ordered_json::array(), passes = ordered_json::array();
  for (const kernels::KnobValue& value : knob.values) values.push_back(value.name);
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    if (kernel.has_knob(knob.name, pass)) passes.push_back(to_string(pass));
  }
  return {{"name", knob.name},
          {"default", knob.values.front().name},
          {"values", values},
          {"passes", passes},
          {"idea", knob.idea}};
}

std::string joined(const ordered_json& names) {
  return fmt::format("{}", fmt::join(names.get<std::vector<std::string>>(), ", "));
}

/// The options that choose how the kernel works, as its switches do. The model accepts --carry and
/// --visit-hidden too, because they change the schedule.
std::string choices_text(const kernels::KernelInfo& kernel) {
  std::string text;
  for (const std::string_view key : {"carry", "visit_hidden", "deterministic"}) {
    const RunField& field = run_field(key);
    if (!field.scope.has(*find_algorithm(kernel.name))) continue;
    text += fmt::format("\n--{}: {}\n", field.option, field.help);
  }
  return text;
}

/// Each row's values and passes are text already.
std::string knobs_text(const ordered_json& rows, const kernels::KernelInfo& kernel) {
  if (rows.empty())
    return fmt::format("kernel {} has no switches\n", kernel.name) + choices_text(kernel);
  Lines lines = {{"switch", "values, the default first", "pass"}};
  for (const ordered_json& row : rows) {
    lines.push_back({row["name"], row["values"], row["passes"]});
  }
  std::string text = table_text(lines);
  for (const ordered_json& row : rows) {
    text += fmt::format("\n{}: {}\n", row.at("name").get<std::string>(),
                        row.at("idea").get<std::string>());
  }
  return text + choices_text(kernel);
}

Result<Answer> answer_knobs(const GivenOptions& given) {
  const std::string name = given.text(kOperand).value_or("");
  const kernels::KernelInfo* const kernel = kernels::find_kernel(name);
  if (kernel == nullptr) {
    return invalid_request(unknown_name_message("kernel", name, kernels::kernel_names()));
  }
  ordered_json rows = ordered_json::array();
  for (const kernels::Knob* const knob : kernel->knobs(PassKind::both)) {
    rows.push_back(knob_json(*knob, *kernel));
  }
  const ordered_json document = {
      {"schema", "attnscope.knobs/1"}, {"kernel", kernel->name}, {"knobs", rows}};
  for (ordered_json& row : rows) {
    for (const char* const list : {"values", "passes"}) row[list] = joined(row[list]);
  }
  return Answer{json_text(document), csv_text(rows), knobs_text(rows, *kernel)};
}

}  // namespace

CommandSpec knobs_command() {
  return answering({"knobs", "Lists a kernel's switches, which --knob changes.", "KERNEL", {}, {}},
                   answer_knobs);
}

}  // namespace attnscope::cli
