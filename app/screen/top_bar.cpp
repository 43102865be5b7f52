#include "app/screen/top_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/app.h"
#include "app/screen/badge.h"
#include "app/screen/choice_fields.h"
#include "app/screen/choose.h"
#include "app/screen/race_fields.h"
#include "app/screen/schedule_fields.h"
#include "app/ui/widgets.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

void draw_label(const Frame& frame, const Rect& box, std::string_view label, float x) {
  frame.fonts.ui.draw(ImGui::GetWindowDrawList(),
                      {x, std::round(box.center().y - frame.fonts.ui.size * 0.5f)},
                      frame.theme.text_dim, label);
}

}  // namespace

std::vector<TopBar::Field> TopBar::main_fields() {
  using Draw = std::function<void(const Frame&, const Rect&)>;
  return {
      {"scene", "Scene", 180, 0, Draw(draw_scene_field)},
      {"algorithm", "Algorithm", 112, 0, Draw(draw_algorithm_field)},
      {"pass", "Pass", 86, 0, Draw(draw_pass_field)},
      number_field("N", "N", 74, 0, [](Choice& c) { return &c.problem.N; },
                   {16, 32, 64, 100, 128, 256, 512, 1024, 2048, 4096}),
      number_field("d", "d", 58, 1, [](Choice& c) { return &c.problem.d; }, {16, 32, 64, 128}),
      number_field("Br", "Br", 62, 3, [](Choice& c) { return &c.tiling.Br; },
                   {16, 32, 64, 128, 256}),
      number_field("Bc", "Bc", 62, 4, [](Choice& c) { return &c.tiling.Bc; },
                   {16, 32, 64, 128, 256}),
      text_field("mask", "Mask", 84, 2),
      {"dtype", "Type", 66, 5, Draw(draw_dtype_field)},
      {"gpu", "GPU", 100, 6, Draw(draw_gpu_field)},
  };
}

std::vector<TopBar::Section> TopBar::more_sections(const Choice& choice) {
  using Draw = std::function<void(const Frame&, const Rect&)>;
  const AttentionProblem& problem = choice.problem;
  const auto sizes = {1, 2, 4, 8, 16, 32};
  const std::vector<Index> counts(sizes.begin(), sizes.end());
  Section shape{"Problem", 0, {}};
  shape.fields = {
      number_field("N_kv", "keys, N_kv", 140, 0, [](Choice& c) { return &c.problem.N_kv; },
                   {16, 32, 64, 128, 256, 512, 1024}),
      number_field(
          "batch", "batch", 140, 0, [](Choice& c) { return &c.problem.batch; }, counts),
      number_field(
          "heads", "heads", 140, 0, [](Choice& c) { return &c.problem.heads; }, counts),
      number_field(
          "kv_heads", "KV heads", 140, 0, [](Choice& c) { return &c.problem.kv_heads; }, counts),
      text_field("key_lengths", "valid keys", 140),
      text_field("sequences", "sequences", 140)};
  if (problem.is_packed()) shape.fields.push_back(text_field("key_sequences", "their keys", 140));

  Section scores{"Scores", 1, {}};
  scores.fields = {text_field("softcap", "soft-capping", 130),
                   {"alibi", "ALiBi", 130, 0, Draw(draw_alibi_field)},
                   text_field("dropout", "dropout", 130)};
  if (problem.score.has_dropout()) {
    scores.fields.push_back(text_field("dropout_seed", "dropout seed", 130));
  }
  const Section inputs{"Inputs: drawn, or files of your own",
                       1,
                       {{"inputs", "drawn", 130, 0, Draw(draw_inputs_field)},
                        text_field("seed", "seed", 130),
                        text_field("q", "Q", 130),
                        text_field("k", "K", 130),
                        text_field("v", "V", 130),
                        text_field("do", "dO", 130)}};
  const Section race{"Race",
                     2,
                     {{"race", "against", 150, 0, Draw(draw_race_field)},
                      {"race_clock", "clock", 150, 0, Draw(draw_race_clock_field)}}};
  return {std::move(shape),
          std::move(scores),
          inputs,
          {"How " + choice.algorithm + " runs", 2, schedule_fields(choice)},
          race};
}

std::vector<TopBar::Field> TopBar::schedule_fields(const Choice& choice) {
  using Draw = std::function<void(const Frame&, const Rect&)>;
  std::vector<Field> fields = {
      {"tiling_rule", "tiles by rule", 150, 0, Draw(draw_tiling_rule_field)},
      text_field("sram", "SRAM, bytes", 150),
      text_field("l2", "L2, bytes", 150),
      {"overflow", "overflow", 150, 0, Draw(draw_overflow_field)},
      {"rounding", "values", 150, 0, Draw(draw_rounding_field)}};
  const auto add = [&](const char* name, const char* label, Draw draw) {
    fields.push_back({name, label, 150, 0, std::move(draw)});
  };
  const Algorithm* algorithm = find_algorithm(choice.algorithm);
  if (algorithm == nullptr) return fields;
  if (algorithm->carries_output) add("carry", "precision of O", draw_carry_field);
  if (algorithm->takes_block_mask) {
    fields.push_back(text_field("block_mask", "block mask", 150));
    add("unused_kv", "unused K, V", draw_unused_kv_field);
  }
  if (algorithm->splits_keys) {
    fields.push_back(text_field("splits", "splits", 150));
    add("group", "group of heads", draw_group_field);
  }
  if (algorithm->softmax == SoftmaxForm::whole_rows) {
    add("fusion", "fusion", draw_fusion_field);
    add("checkpoint", "P for backward", draw_checkpoint_field);
  }
  if (algorithm->name == "flash1") {
    add("first_reads", "O, m, l begin", draw_first_reads_field);
    add("d_once", "D", draw_d_field);
  }
  return fields;
}

TopBar::Field TopBar::text_field(const std::string& name, const std::string& label, float width,
                                 int priority) {
  return {name, label, width, priority, [this, name](const Frame& frame, const Rect& box) {
            draw_text_field(frame, box, name, drafts_[name]);
          }};
}

TopBar::Field TopBar::number_field(const std::string& name, const std::string& label, float width,
                                   int priority, const std::function<Index*(Choice&)>& number,
                                   std::vector<Index> presets) {
  return {name, label, width, priority,
          [this, name, number, presets = std::move(presets)](const Frame& frame, const Rect& box) {
            draw_number_field(frame, box, name, drafts_[name], number, presets);
          }};
}

void TopBar::draw(const Frame& frame, const Rect& rect) {
  const float badge_left = draw_badge(frame, rect);
  draw_fields(frame, {rect.min, {badge_left - frame.px(14.0f), rect.max.y}});
}

float TopBar::draw_fields(const Frame& frame, const Rect& rect) {
  const float label_gap = frame.px(8.0f);
  const float field_gap = frame.px(14.0f);
  const float more_width = frame.text_px(34.0f);
  // Boxes of long words become narrower before fields go
  constexpr float kNarrowest = 0.6f;
  float narrowed = 1.0f;
  const auto has_words = [](const Field& field) {
    return field.name == "scene" || field.name == "algorithm" || field.name == "mask";
  };
  const auto box_width = [&](const Field& field) {
    // Of the algorithms' names the last letters tell most
    const bool narrows = has_words(field) && field.name != "algorithm";
    return frame.text_px(field.width) * (narrows ? narrowed : 1.0f);
  };
  const auto width_of = [&](const Field& field) {
    return frame.fonts.ui.measure(field.label).x + label_gap + box_width(field) + field_gap;
  };

  // The least important fields move behind the "more" button until the rest fits
  std::vector<Field> shown = main_fields();
  std::vector<Field> hidden;
  const auto total = [&] {
    float sum = frame.px(14.0f) + more_width;
    for (const Field& field : shown) sum += width_of(field);
    return sum;
  };
  const float all_fields = total();
  narrowed = kNarrowest;
  const float narrow_fields = total();
  const float need = (all_fields - rect.width()) / std::max(all_fields - narrow_fields, 1.0f);
  narrowed = 1.0f - (1.0f - kNarrowest) * std::clamp(need, 0.0f, 1.0f);
  while (total() > rect.width() && shown.size() > 1) {
    const auto least =
        std::max_element(shown.begin(), shown.end(),
                         [](const Field& a, const Field& b) { return a.priority <= b.priority; });
    hidden.insert(hidden.begin(), *least);
    shown.erase(least);
  }

  // They share what is left over
  const auto takers = static_cast<float>(std::ranges::count_if(shown, has_words));
  const float spare = std::max(rect.width() - total(), 0.0f) / std::max(takers, 1.0f);

  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(rect.center().y - height * 0.5f);
  float x = rect.min.x + frame.px(14.0f);
  for (const Field& field : shown) {
    const float label_width = frame.fonts.ui.measure(field.label).x;
    const float left = std::round(x + label_width + label_gap);
    const float width = box_width(field);
    const float extra = has_words(field) ? std::min(spare, 0.6f * width) : 0.0f;
    const Rect box{{left, y}, {left + std::round(width + extra), y + height}};
    draw_label(frame, box, field.label, x);
    field.draw(frame, box);
    x = box.max.x + field_gap;
  }

  // The rest
  const Rect more{{x, y}, {x + more_width, y + height}};
  if (ui::button(frame, "field.more", more, "…", ui::Icon::none, ui::plain_look(frame.theme))) {
    ImGui::OpenPopup("more fields");
  }
  ui::tooltip(
      frame,
      "More choices: heads, sequences, what happens to the scores, inputs and files of your "
      "own, how the algorithm runs, a race");
  draw_more(frame, more, std::move(hidden));
  return more.max.x;
}

void TopBar::draw_more(const Frame& frame, const Rect& button, std::vector<Field> hidden) {
  if (!ImGui::IsPopupOpen("more fields")) return;
  std::vector<Section> sections = more_sections(shown_choice(frame));
  if (!hidden.empty()) {
    sections.insert(sections.begin(), Section{"The bar goes on", 0, std::move(hidden)});
  }

  // Each column is as wide as its labels and boxes
  constexpr int kColumns = 3;
  const FontRef& font = frame.fonts.ui;
  const float gap = frame.px(14.0f);
  std::array<float, kColumns> labels{}, boxes{}, ends{};
  for (const Section& section : sections) {
    const auto column = static_cast<std::size_t>(section.column);
    for (const Field& field : section.fields) {
      labels[column] = std::max(labels[column], font.measure(field.label).x);
      boxes[column] = std::max(boxes[column], frame.text_px(field.width));
    }
  }
  float width = 2.0f * gap * (kColumns - 1);
  for (std::size_t k = 0; k < kColumns; ++k) width += labels[k] + gap + boxes[k];
  const float padding = frame.px(16.0f);
  const float display = ImGui::GetIO().DisplaySize.x;
  const float left = std::min(button.min.x, display - width - 2.0f * padding - frame.px(8.0f));
  ImGui::SetNextWindowPos({std::max(left, frame.px(8.0f)), button.max.y + frame.px(4.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {padding, frame.px(14.0f)});
  const bool open = ImGui::BeginPopup("more fields");
  ImGui::PopStyleVar();
  if (!open) return;
  ui::close_popup_on_escape();
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const FontRef& title = frame.fonts.small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const Section& section : sections) {
    const auto column = static_cast<std::size_t>(section.column);
    float x = origin.x;
    for (std::size_t k = 0; k < column; ++k) x += labels[k] + boxes[k] + 3.0f * gap;
    float y = origin.y + ends[column];
    title.draw(list, {x, y}, frame.theme.text_faint, section.title);
    y += title.size + frame.px(8.0f);
    for (const Field& field : section.fields) {
      const Rect box{{x + labels[column] + gap, y},
                     {x + labels[column] + gap + boxes[column], y + height}};
      draw_label(frame, box, field.label, x);
      field.draw(frame, box);
      y += height + frame.px(7.0f);
    }
    ends[column] = y + frame.px(7.0f) - origin.y;
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({width, *std::ranges::max_element(ends) - frame.px(14.0f)});
  if (frame.app.refused && frame.rects.find("field." + frame.app.refused->field)) {
    draw_refusal_inside(frame, width);
  }
  ImGui::EndPopup();
}

namespace {

/// What was refused, why, and what can be done.
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
    ui::named_item(frame.rects, "refusal.nearest");
    ImGui::SameLine();
  }
  if (ImGui::Button("keep the last valid choice")) app.commands.push(Choose{app.view.choice});
  ui::named_item(frame.rects, "refusal.dismiss");
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
  draw_refusal_text(frame, refused);
  const ImVec2 at = ImGui::GetWindowPos();
  ui::named_rect(frame.rects, "refusal",
                 {at, {at.x + ImGui::GetWindowWidth(), at.y + ImGui::GetWindowHeight()}});
  ImGui::EndChild();
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
  if (ImGui::Begin("refusal", nullptr, kFlags)) {
    draw_refusal_text(frame, refused);
    ui::named_rect(frame.rects, "refusal",
                   {ImGui::GetWindowPos(),
                    {ImGui::GetWindowPos().x + ImGui::GetWindowWidth(),
                     ImGui::GetWindowPos().y + ImGui::GetWindowHeight()}});
  }
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
}

}  // namespace attnscope::app
