#include "app/screen/top_bar.h"

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/scene/choice_rules.h"
#include "app/screen/field_box.h"
#include "app/screen/scene_dialog.h"
#include "kernels/resolve.h"
#include "reference/algorithm.h"
#include "reference/field_rules.h"

namespace attnscope::app {

namespace {

using Field = TopBar::Field;
using Section = TopBar::Section;

constexpr Field kBar[] = {{"scene", 180},      {"algorithm", 112}, {"pass", 98},  {"seq_len", 74},
                          {"head_dim", 58, 1}, {"Br", 62, 3},      {"Bc", 62, 4}, {"mask", 84, 2},
                          {"dtype", 66, 5},    {"gpu", 100, 6}};

/// The sections with fields that apply to the choice.
std::vector<Section> more_sections(const RunSpec& choice, EditedRun edits) {
  const auto section = [](std::string title, std::size_t column, float width,
                          std::initializer_list<std::string_view> keys) {
    Section result{std::move(title), column, {}};
    for (const std::string_view key : keys) result.fields.push_back({key, width});
    return result;
  };
  std::vector<Section> sections = {
      section("Problem", 0, 140,
              {"kv_len", "batch", "heads", "kv_heads", "key_lengths", "cu_seqlens_q"}),
      section("Scores", 1, 130, {"softcap", "alibi", "dropout"}),
      section("Inputs: drawn at random, or your own files", 1, 130,
              {"inputs", "seed", "q", "k", "v", "do"}),
      section("How " + choice.algorithm + " runs", 2, 150,
              {"tiling_rule", "allow_overflow", "round_to_storage", "fp32_accumulators", "break",
               "stale_memory"}),
      section("What if the GPU were different?", 1, 130, {})};
  for (const RunField& field : what_if_fields()) sections.back().fields.push_back({field.key, 130});
  if (edits == EditedRun::chosen) {
    sections.push_back(section("Race", 2, 150, {"race", "race_clock"}));
  }
  if (choice.problem.is_packed()) sections[0].fields.push_back({"cu_seqlens_k", 140});
  if (choice.problem.score.has_dropout()) sections[1].fields.push_back({"dropout_seed", 130});

  // The algorithm's own choices, without warps: the screen shows the paper's number in both
  // partitions
  const Algorithm* algorithm = find_algorithm(choice.algorithm);
  for (const RunField& field : run_fields()) {
    const bool is_its_own = algorithm != nullptr && field.scope.holds != nullptr &&
                            field.key != "pass" && !field.key.starts_with("warp");
    if (is_its_own && field.scope.has(*algorithm)) sections[3].fields.push_back({field.key, 150});
  }

  if (const auto knobs = kernels::available_knobs(choice); !knobs.empty()) {
    Section switches{"Switches of the kernel", 0, {}};
    for (const kernels::Knob* const knob : knobs) {
      switches.fields.push_back({.key = knob->name, .width = 140, .knob = knob});
    }
    sections.push_back(std::move(switches));
  }
  return sections;
}

/// Draws the boxes that start a race against another algorithm, and choose its clock.
void draw_race_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const auto& race = app.view.race;
  const std::string shown = race ? race->rival.algorithm : "off";
  const ComboBox combo(frame, "race", box, shown);
  if (!combo.open()) return;
  if (combo.option("off", !race, "off")) app.commands.push(ChooseRace{});
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    const bool has_pass = app.view.choice.pass == PassKind::forward || algorithm.has_backward;
    const std::string text = has_pass ? name : name + " (no backward pass)";
    if (!combo.option(text, name == shown, name, std::string(algorithm.summary))) continue;
    if (!has_pass) {
      app.commands.push(ShowNotice{name + " has no backward pass to race with"});
    } else {
      app.commands.push(
          ChooseRace{Race{rival_of(app.view.choice, name), race ? race->clock : RaceClock{}}});
    }
  }
}

void draw_race_clock_field(const Frame& frame, const Rect& box) {
  App& app = frame.app;
  const RaceClock shown = app.view.race ? app.view.race->clock : RaceClock::requested_bytes;
  const auto words = [](RaceClock clock) {
    return clock == RaceClock::tiles ? "tile visits" : "requested bytes";
  };
  const ComboBox combo(frame, "race_clock", box, words(shown));
  if (!combo.open()) return;
  for (const RaceClock clock : {RaceClock::requested_bytes, RaceClock::tiles}) {
    const std::string help = clock == RaceClock::tiles
                                 ? "how many tiles of S, P, dP or dS each may have visited; an "
                                   "algorithm with several launches visits each tile several "
                                   "times"
                                 : "how many bytes each may have requested";
    if (!combo.option(words(clock), clock == shown, std::string(to_string(clock)), help)) continue;
    if (app.view.race) app.commands.push(ChooseRace{Race{app.view.race->rival, clock}});
    if (!app.view.race) app.commands.push(ShowNotice{"choose an algorithm to race against first"});
  }
}

}  // namespace

void TopBar::draw_field(const Frame& frame, float x, const Rect& box, const Field& field) {
  const FontRef& font = frame.fonts.ui;
  font.draw(ImGui::GetWindowDrawList(), {x, std::round(box.center().y - font.size * 0.5f)},
            frame.theme.text_dim, field.label());
  if (field.knob != nullptr) {
    boxes_.draw_switch(frame, box, *field.knob);
  } else if (field.key == "scene") {
    draw_scene_field(frame, box);
  } else if (field.key == "race") {
    draw_race_field(frame, box);
  } else if (field.key == "race_clock") {
    draw_race_clock_field(frame, box);
  } else {
    boxes_.draw(frame, box, run_field(field.key));
  }
}

void TopBar::draw(const Frame& frame, const Rect& rect) {
  ImGui::PushID(edits_ == EditedRun::rival ? "rival" : "chosen");
  draw_fields(frame, rect);
  ImGui::PopID();
}

void TopBar::draw_fields(const Frame& frame, const Rect& rect) {
  const bool is_rival = edits_ == EditedRun::rival;
  const BarPlan plan(frame, {std::begin(kBar) + (is_rival ? 1 : 0), std::end(kBar)}, rect.width());
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(rect.center().y - height * 0.5f);
  for (const BarPlan::Place& place : plan.shown()) {
    const Rect box{{rect.min.x + place.box_left, y}, {rect.min.x + place.box_right, y + height}};
    draw_field(frame, rect.min.x + place.left, box, place.field);
  }

  // The "more" button opens the hidden fields
  const float x = rect.min.x + plan.end();
  const Rect more{{x, y}, {x + BarPlan::more_width(frame), y + height}};
  constexpr std::string_view kHelp =
      "More fields: heads, sequences, score functions, inputs and your own files, options of the "
      "algorithm and its kernel, a race";
  const std::string_view name = is_rival ? "field.rival.more" : "field.more";
  if (ui::draw_button(frame, {name, more, "…", kHelp})) ImGui::OpenPopup("more fields");
  draw_more(frame, more, plan.hidden());
}

/// The columns behind the "more" button: each is as wide as its labels and boxes.
struct TopBar::Columns {
  static constexpr int kCount = 3;
  float gap = 0.0f;
  std::array<float, kCount> labels{}, boxes{}, ends{};

  Columns(const Frame& frame, const std::vector<Section>& sections) : gap(frame.px(14.0f)) {
    for (const Section& section : sections) {
      const std::size_t column = section.column;
      for (const Field& field : section.fields) {
        labels[column] = std::max(labels[column], frame.fonts.ui.measure(field.label()).x);
        boxes[column] = std::max(boxes[column], frame.text_px(field.width));
      }
    }
  }
  float width() const {
    float sum = 2.0f * gap * (kCount - 1);
    for (std::size_t k = 0; k < kCount; ++k) sum += labels[k] + gap + boxes[k];
    return sum;
  }
  /// The left edge of the column, relative to the first one.
  float begin(std::size_t column) const {
    float x = 0.0f;
    for (std::size_t k = 0; k < column; ++k) x += labels[k] + boxes[k] + 3.0f * gap;
    return x;
  }
};

void TopBar::draw_section(const Frame& frame, ImVec2 origin, const Section& section,
                          Columns& columns) {
  const std::size_t column = section.column;
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const FontRef& title = frame.fonts.small;
  const float x = origin.x + columns.begin(column);
  const float box_x = x + columns.labels[column] + columns.gap;
  float y = origin.y + columns.ends[column];
  title.draw(ImGui::GetWindowDrawList(), {x, y}, frame.theme.text_faint, section.title);
  y += title.size + frame.px(8.0f);
  for (const Field& field : section.fields) {
    const Rect box{{box_x, y}, {box_x + columns.boxes[column], y + height}};
    draw_field(frame, x, box, field);
    if (field.knob != nullptr) frame.rects.add("field.switches", box);  // refusals are shown there
    y += height + frame.px(7.0f);
  }
  columns.ends[column] = y + frame.px(7.0f) - origin.y;
}

void TopBar::draw_more(const Frame& frame, const Rect& button, const std::vector<Field>& hidden) {
  if (!ImGui::IsPopupOpen("more fields")) return;
  std::vector<Section> sections = more_sections(boxes_.edited(frame), edits_);
  if (frame.app.view.hides_break) {
    for (Section& section : sections) {
      std::erase_if(section.fields, [](const Field& field) { return field.key == "break"; });
    }
  }
  if (!hidden.empty()) {
    sections.insert(sections.begin(), Section{"More of the bar", 0, hidden});
  }

  Columns columns(frame, sections);
  const float width = columns.width();
  const float padding = frame.px(16.0f);
  const float display = ImGui::GetIO().DisplaySize.x;
  const float margin = frame.px(8.0f);
  const float whole = width + 2.0f * padding + ImGui::GetStyle().ScrollbarSize;
  const float left = std::max(std::min(button.min.x, display - whole - margin), margin);
  const float top = button.max.y + frame.px(4.0f);
  ImGui::SetNextWindowPos({std::floor(left), top});
  // In a low window they scroll
  ImGui::SetNextWindowSizeConstraints(
      {0.0f, 0.0f}, {display - left, ImGui::GetIO().DisplaySize.y - top - margin});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {padding, frame.px(14.0f)});
  const bool open = ImGui::BeginPopup("more fields", ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  if (!open) return;
  ui::close_popup_on_escape();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  for (const Section& section : sections) draw_section(frame, origin, section, columns);
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, *std::ranges::max_element(columns.ends) - frame.px(14.0f)});
  const bool refuses = edits_ == EditedRun::chosen && frame.app.refused;
  if (refuses && frame.rects.find("field." + frame.app.refused->field)) {
    draw_refusal_inside(frame, width);
  }
  ImGui::EndPopup();
}

namespace {

/// Draws what was rejected, why, and what can be done, into the current window.
void draw_refusal_text(const Frame& frame, const RefusedChoice& refused) {
  App& app = frame.app;
  const FontScope font(frame.fonts.ui);
  ImGui::PushTextWrapPos(0.0f);
  ImGui::TextUnformatted(refused.message.c_str());
  ImGui::PopTextWrapPos();
  ImGui::Spacing();
  if (refused.nearest) {
    if (ImGui::Button(("use " + refused.nearest_label).c_str())) {
      app.commands.push(Choose{*refused.nearest});
    }
    frame.rects.add_item("refusal.nearest");
    ImGui::SameLine();
  }
  if (ImGui::Button("keep the last valid choice")) app.commands.push(Choose{app.view.choice});
  frame.rects.add_item("refusal.dismiss");
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("refusal", {at, {at.x + size.x, at.y + size.y}});
}

}  // namespace

void TopBar::draw_refusal_inside(const Frame& frame, float width) {
  const RefusedChoice refused = *frame.app.refused;
  const float buttons = ImGui::GetFrameHeightWithSpacing();
  const float text =
      ImGui::CalcTextSize(refused.message.c_str(), nullptr, false, width - frame.px(24.0f)).y;
  ImGui::Dummy({width, frame.px(8.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(12.0f), frame.px(10.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_ChildBorderSize, 1.0f);
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, frame.px(6.0f));
  ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme.error_surface);
  ImGui::PushStyleColor(ImGuiCol_Border, frame.theme.error);
  ImGui::BeginChild("refusal", {width, text + buttons + frame.px(32.0f)}, true,
                    ImGuiWindowFlags_NoScrollbar);
  const bool is_new = ImGui::IsWindowAppearing();
  draw_refusal_text(frame, refused);
  ImGui::EndChild();
  if (is_new) ImGui::SetScrollHereY(1.0f);
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
}

void draw_refusal(const Frame& frame) {
  App& app = frame.app;
  if (!app.refused) return;
  const RefusedChoice refused = *app.refused;
  if (frame.rects.find("refusal")) return;  // shown among the fields behind the "more" button
  auto field = frame.rects.find("field." + refused.field);
  if (!field) field = frame.rects.find("field.more");
  const float x = field ? field->min.x : frame.px(14.0f);
  const float y = field ? field->max.y : frame.px(46.0f);
  const float width = frame.text_px(430.0f);
  const float display = ImGui::GetIO().DisplaySize.x;

  ImGui::SetNextWindowPos({std::max(frame.px(8.0f), std::min(x, display - width - frame.px(8.0f))),
                           y + frame.px(6.0f)});
  ImGui::SetNextWindowSize({width, 0.0f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(12.0f), frame.px(10.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, frame.px(6.0f));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.theme.error_surface);
  ImGui::PushStyleColor(ImGuiCol_Border, frame.theme.error);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_AlwaysAutoResize |
                                      ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;
  if (ImGui::Begin("refusal", nullptr, kFlags)) draw_refusal_text(frame, refused);
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
}

}  // namespace attnscope::app
