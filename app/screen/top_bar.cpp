#include "app/screen/top_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/screen/badge.h"
#include "app/screen/choice_fields.h"
#include "app/screen/race_fields.h"
#include "app/screen/score_fields.h"
#include "app/ui/widgets.h"

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
      {"scene", "Scene", 192, 0, Draw(draw_scene_field)},
      {"algorithm", "Algorithm", 96, 0, Draw(draw_algorithm_field)},
      {"pass", "Pass", 86, 6, Draw(draw_pass_field)},
      number_field("N", "N", 74, 0, [](Choice& c) { return &c.problem.N; },
                   {16, 32, 64, 100, 128, 256, 512, 1024, 2048, 4096}),
      number_field("d", "d", 58, 1, [](Choice& c) { return &c.problem.d; }, {16, 32, 64, 128}),
      number_field("Br", "Br", 62, 1, [](Choice& c) { return &c.tiling.Br; },
                   {16, 32, 64, 128, 256}),
      number_field("Bc", "Bc", 62, 1, [](Choice& c) { return &c.tiling.Bc; },
                   {16, 32, 64, 128, 256}),
      {"mask", "Mask", 84, 3, Draw(draw_mask_field)},
      {"dtype", "Type", 66, 4, Draw(draw_dtype_field)},
      {"gpu", "GPU", 104, 5, Draw(draw_gpu_field)},
  };
}

std::vector<TopBar::Field> TopBar::more_fields() {
  using Draw = std::function<void(const Frame&, const Rect&)>;
  return {
      number_field("N_kv", "keys, N_kv", 90, 0, [](Choice& c) { return &c.problem.N_kv; },
                   {16, 32, 64, 128, 256, 512, 1024}),
      number_field("batch", "batch", 90, 0, [](Choice& c) { return &c.problem.batch; },
                   {1, 2, 4, 8, 16}),
      number_field("heads", "heads", 90, 0, [](Choice& c) { return &c.problem.heads; },
                   {1, 2, 4, 8, 16, 32}),
      number_field("kv_heads", "KV heads", 90, 0, [](Choice& c) { return &c.problem.kv_heads; },
                   {1, 2, 4, 8, 16, 32}),
      {"carry", "flash1's carry", 110, 0, Draw(draw_carry_field)},
      {"inputs", "inputs", 110, 0, Draw(draw_inputs_field)},
      {"softcap", "soft-capping", 110, 0, Draw(draw_soft_cap_field)},
      {"alibi", "ALiBi", 110, 0, Draw(draw_alibi_field)},
      {"dropout", "dropout", 110, 0, Draw(draw_dropout_field)},
      {"key_lengths", "valid keys", 110, 0, Draw(draw_key_length_field)},
      {"sequences", "sequences", 110, 0, Draw(draw_sequences_field)},
      {"block_mask", "block mask", 150, 0, Draw(draw_block_mask_field)},
      {"unused_kv", "unused K, V", 110, 0, Draw(draw_unused_kv_field)},
      {"race", "race against", 130, 0, Draw(draw_race_field)},
      {"race_clock", "race clock", 150, 0, Draw(draw_race_clock_field)},
  };
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
  const auto width_of = [&](const Field& field) {
    return frame.fonts.ui.measure(field.label).x + label_gap + frame.text_px(field.width) +
           field_gap;
  };

  // The least important fields move behind the "more" button until the rest fits
  std::vector<Field> shown = main_fields();
  std::vector<Field> hidden;
  const auto total = [&] {
    float sum = frame.px(14.0f) + more_width;
    for (const Field& field : shown) sum += width_of(field);
    return sum;
  };
  while (total() > rect.width() && shown.size() > 1) {
    const auto least =
        std::max_element(shown.begin(), shown.end(),
                         [](const Field& a, const Field& b) { return a.priority <= b.priority; });
    hidden.insert(hidden.begin(), *least);
    shown.erase(least);
  }

  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(rect.center().y - height * 0.5f);
  float x = rect.min.x + frame.px(14.0f);
  for (const Field& field : shown) {
    const float label_width = frame.fonts.ui.measure(field.label).x;
    const float left = std::round(x + label_width + label_gap);
    const Rect box{{left, y}, {left + frame.text_px(field.width), y + height}};
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
      "More choices: keys, heads, carry, inputs, what happens to the scores, block masks, a race");
  const std::vector<Field> more_of_them = more_fields();
  hidden.insert(hidden.end(), more_of_them.begin(), more_of_them.end());
  ImGui::SetNextWindowPos({more.min.x, more.max.y + frame.px(4.0f)}, ImGuiCond_Appearing);
  draw_more(frame, hidden);
  return more.max.x;
}

void TopBar::draw_more(const Frame& frame, const std::vector<Field>& fields) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(14.0f), frame.px(12.0f)});
  if (ImGui::BeginPopup("more fields")) {
    ui::close_popup_on_escape();
    float label_width = 0.0f;
    for (const Field& field : fields) {
      label_width = std::max(label_width, frame.fonts.ui.measure(field.label).x);
    }
    const float height = frame.text_px(15.0f) + frame.px(12.0f);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    float y = origin.y;
    float widest = 0.0f;
    for (const Field& field : fields) {
      const float left = origin.x + label_width + frame.px(14.0f);
      const Rect box{{left, y}, {left + frame.text_px(field.width), y + height}};
      draw_label(frame, box, field.label, origin.x);
      field.draw(frame, box);
      y += height + frame.px(8.0f);
      widest = std::max(widest, box.max.x - origin.x);
    }
    ImGui::SetCursorScreenPos(origin);
    ImGui::Dummy({widest, y - origin.y - frame.px(8.0f)});
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

void draw_refusal(const Frame& frame) {
  App& app = frame.app;
  if (!app.refused) return;
  const RefusedChoice refused = *app.refused;
  const auto field = frame.rects.find("field." + refused.field);
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
