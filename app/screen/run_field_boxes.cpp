#include "app/screen/run_field_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/app.h"
#include "app/jobs/step_simulator.h"
#include "app/scene/choice_rules.h"
#include "reference/field_rules.h"
#include "sim/device/assets.h"
#include "sim/schedule/breaks.h"

namespace attnscope::app {

namespace {

/// The text in the box: the value's label if it has one; for a file, the name without its folder.
std::string preview_of(const RunField& field, const std::string& value) {
  for (const FieldValue& each : field.values) {
    if (each.name == value && !each.label.empty()) return std::string(each.label);
  }
  if (value.empty()) return unset_word(field);
  return value.find('/') == value.npos ? value : std::filesystem::path(value).filename().string();
}

/// Adds the operations of the run on the screen, each of which can be dropped.
void add_breaks(const App& app, const RunSpec& edited, std::vector<FieldOption>& options) {
  const bool is_rival = app.view.race && &edited == &app.view.race->rival;
  const auto snapshot = is_rival ? app.rival_snapshot() : app.snapshot();
  if (!snapshot) return;
  const RunInfo& run = *snapshot->run;
  const auto operations = operations_of(run.pass, {run.problem(), run.tiling(), run.options, {}});
  for (const PassOperation& each : operations) {
    const Launch& launch = run.pass.launches[each.launch];
    const RunBreak broken = break_of(each, run.pass, operations);
    const std::string text = to_string(broken);
    options.push_back({text, fmt::format("{}##{}", break_words(broken), text),
                       fmt::format("{}: {}", launch.name, launch.pseudo_code[each.line].text)});
  }
}

/// The options of the list, with algorithms and GPUs as names to choose from.
std::vector<FieldOption> all_options_of(const App& app, const RunSpec& run, const RunField& field) {
  std::vector<FieldOption> options = options_of(field, run);
  if (field.key == "algorithm") {
    for (const Algorithm& algorithm : algorithms()) {
      const std::string name(algorithm.name);
      options.push_back({name, name, std::string(algorithm.summary)});
    }
  }
  if (field.key == "break") add_breaks(app, run, options);
  if (field.key == "gpu") {
    for (const std::string& name : app.listed.gpus) options.push_back({name, name, ""});
  }
  return options;
}

}  // namespace

const RunSpec& RunFieldBoxes::edited(const Frame& frame) const {
  return edits_ == EditedRun::rival ? frame.app.view.race->rival : frame.app.shown_choice();
}

void RunFieldBoxes::request(const Frame& frame, const RunSpec& run) const {
  if (edits_ == EditedRun::chosen) return frame.app.commands.push(Choose{run});
  frame.app.commands.push(ChooseRace{Race{run, frame.app.view.race->clock}});
}

/// Requests the run with a different value of the field. If the text cannot be parsed, shows the
/// error at the field, or, for a rival, as a notice.
void RunFieldBoxes::change(const Frame& frame, const RunField& field,
                           const std::string& text) const {
  const auto changed = field.kind != FieldKind::flag && text.empty() && !can_be_unset(field)
                           ? not_understood(field, text)
                           : change_field(edited(frame), field.key, text);
  CommandSink& commands = frame.app.commands;
  if (changed) return request(frame, changed.value());
  if (edits_ == EditedRun::chosen) return commands.push(RefuseText{changed.error()});
  commands.push(ShowNotice{words(changed.error(), Reader::screen)});
}

std::string RunFieldBoxes::name_of(std::string_view key) const {
  return fmt::format("{}{}", edits_ == EditedRun::rival ? "rival." : "", key);
}

void RunFieldBoxes::collect() {
  files_.collect();
  tilings_.collect();
}

void RunFieldBoxes::draw(const Frame& frame, const Rect& box, const RunField& field) {
  const bool has_names = !field.values.empty() || field.key == "algorithm" || field.key == "gpu";
  if (field.key == "tiling_rule") {
    draw_tilings(frame, box, field);
  } else if (has_names) {
    const std::string value = field.print(edited(frame));
    const ComboBox combo(frame, name_of(field.key), box, preview_of(field, value));
    if (const auto clicked = clicked_option(frame, combo, field)) change(frame, field, *clicked);
  } else {
    draw_text(frame, box, field);
  }
}

std::optional<std::string> RunFieldBoxes::clicked_option(const Frame& frame, const DropList& list,
                                                         const RunField& field) {
  std::optional<std::string> clicked;
  if (!list.open()) return clicked;
  std::vector<FieldOption>& options = states_[field.key].options;
  if (ImGui::IsWindowAppearing()) options = all_options_of(frame.app, edited(frame), field);
  const std::string value = field.print(edited(frame));
  const auto show = [&](const FieldOption& option) {
    const std::string& name = option.text.empty() ? option.label : option.text;
    if (list.option(option.label, option.text == value, name, option.help)) clicked = option.text;
  };
  std::ranges::for_each(options, show);
  if (!takes_npy_files(field)) return clicked;

  FilesAsked& asked = files_asked_;
  if (ImGui::IsWindowAppearing())
    asked = {names_path(field, value) ? value : "", asked.opening + 1};
  if (files_.wants(asked)) {
    files_.start(asked,
                 [file = asked.file](WorkControl&) { return Result(npy_files_beside(file)); });
  }
  const auto* files = files_.latest();
  if (files == nullptr || !(*files_.latest_key() == asked)) {
    ImGui::TextDisabled("…");
  } else {
    std::ranges::for_each(*files, show);
  }
  return clicked;
}

void RunFieldBoxes::draw_text(const Frame& frame, const Rect& box, const RunField& field) {
  const auto& refused = frame.app.refused;
  const bool wrong = edits_ == EditedRun::chosen && refused && refused->field == field.key;
  const bool is_text = wrong && !refused->typed.empty();
  const std::string value = is_text ? refused->typed : field.print(edited(frame));
  const std::string preview = is_text ? value : preview_of(field, value);
  const std::string path = preview == value || value.empty() ? "" : value + "\n\n";
  const bool only_numbers = field.kind == FieldKind::whole && !can_be_unset(field);
  const std::string help =
      wrong ? "" : fmt::format("{}{}", path, field.help);  // help would cover the reason
  const TextBox text(frame, name_of(field.key), box, states_[field.key].draft,
                     {value, preview, help, only_numbers});
  if (const auto& typed = text.typed()) {
    const bool is_unset = can_be_unset(field) && *typed == unset_word(field);
    change(frame, field, is_unset ? "" : *typed);
  }
  if (const auto clicked = clicked_option(frame, text, field)) change(frame, field, *clicked);
}

void RunFieldBoxes::draw_tilings(const Frame& frame, const Rect& box, const RunField& field) {
  RunSpec choice = edited(frame);
  const auto shown = choice.tiling();
  const auto words = [](const std::optional<Tiling>& tiling) {
    return tiling ? fmt::format("{} x {}", tiling->Br, tiling->Bc) : "none";
  };
  const ComboBox combo(frame, name_of(field.key), box, words(shown));
  if (!combo.open()) return;

  // The tiles in the choice do not affect the tiles that a rule chooses
  RunSpec key = choice;
  key.Br.reset();
  key.Bc.reset();
  if (tilings_.wants(key)) {
    tilings_.start(key, [key, &field, gpus = frame.app.gpus](WorkControl&) {
      std::vector<std::optional<Tiling>> tilings;
      for (const FieldValue& value : field.values) {
        tilings.push_back(tiling_of_rule(key, *parse_name<TilingRule>(value.name), *gpus));
      }
      return Result(std::move(tilings));
    });
  }
  const auto* tilings = tilings_.latest();
  if (tilings == nullptr || !(*tilings_.latest_key() == key)) {
    ImGui::TextDisabled("…");
    return;
  }
  for (std::size_t k = 0; k < tilings->size(); ++k) {
    const FieldValue& value = field.values[k];
    const std::optional<Tiling>& tiling = (*tilings)[k];
    const bool clicked =
        combo.option(fmt::format("{}: {}", value.name, words(tiling)), tiling == shown,
                     std::string(value.name), std::string(value.help));
    if (!clicked || !tiling) continue;
    choice.set_tiling(*tiling);
    request(frame, choice);
  }
}

void RunFieldBoxes::draw_switch(const Frame& frame, const Rect& box,
                                const kernels::Knob& knob) const {
  RunSpec choice = edited(frame);
  const std::string name(knob.name);
  const std::string own(knob.values.front().name);
  const auto given = choice.switches.find(name);
  const std::string shown = given != choice.switches.end() ? given->second : own;
  const ComboBox combo(frame, name_of("switches." + name), box, shown);
  if (!combo.open()) return;
  for (const kernels::KnobValue& each : knob.values) {
    const std::string value(each.name);
    const std::string text = value == own ? fmt::format("{} (default)", value) : value;
    if (!combo.option(text, value == shown, value, std::string(knob.idea))) continue;
    choice.switches.erase(name);
    if (value != own) choice.switches.emplace(name, value);
    request(frame, choice);
  }
}

}  // namespace attnscope::app
