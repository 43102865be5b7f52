#include "app/panels/gpu/what_if_sliders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "reference/message_text.h"
#include "reference/run_fields.h"

namespace attnscope::app {

namespace {

/// A slider covers this many octaves on each side of 1, in steps of an eighth of an octave.
constexpr double kOctaves = 2.0;
constexpr double kStepsOfOctave = 8.0;

/// The GPU's own number for a field that is a size or a count; nothing for a multiple.
std::optional<Index> own_number(const RunField& field, const GpuDescription& own) {
  if (field.key == "sram_bytes") return own.shared_bytes_per_block;
  if (field.key == "l2_bytes") return own.l2_bytes;
  if (field.key == "sm_count") return own.sm_count;
  return std::nullopt;
}

/// "SM clock" of "SM clock, times".
std::string_view name_of(const RunField& field) {
  return field.label.substr(0, field.label.find(','));
}

std::string value_text(const RunSpec& spec, const RunField& field, const GpuDescription& own) {
  const double multiple = what_if_multiple(spec, field, own);
  const auto number = own_number(field, own);
  if (!number) return fmt::format("× {:.3g}", multiple);
  const std::string given = field.print(spec);
  const Index now = given.empty() ? *number : std::stoll(given);
  return field.key == "sm_count" ? fmt::format("{}", now) : capacity_text(now);
}

/// The multiple at a position on the track, 0 to 1.
double multiple_at(double place) {
  const double octave = (2.0 * std::clamp(place, 0.0, 1.0) - 1.0) * kOctaves;
  return std::exp2(std::round(octave * kStepsOfOctave) / kStepsOfOctave);
}

float place_of(double multiple) {
  return static_cast<float>(std::clamp(0.5 + 0.5 * std::log2(multiple) / kOctaves, 0.0, 1.0));
}

/// Draws the track with a mark at the GPU's own number; returns the multiple that the user chose.
std::optional<double> draw_slider(const PanelContext& context, const RunField& field,
                                  double multiple, const Rect& track) {
  const Theme& theme = context.theme;
  const std::string name = fmt::format("gpu.slider.{}", field.key);
  ImGui::SetCursorScreenPos(track.min);
  const bool by_key = context.pressed_by_key(name, track);
  ImGui::InvisibleButton(name.c_str(), {track.width(), track.height()});
  const bool held = ImGui::IsItemActive();
  const bool over = ImGui::IsItemHovered();
  context.named_rects.add(name, track);

  const float middle = track.center().y;
  const float half = context.px(2.0f);
  const float x = track.min.x + place_of(multiple) * track.width();
  const float own = track.center().x;
  draw::fill(context, {{track.min.x, middle - half}, {track.max.x, middle + half}}, theme.track,
             half);
  draw::fill(context, {{std::min(x, own), middle - half}, {std::max(x, own), middle + half}},
             theme.accent, half);
  draw::fill(context,
             {{own - half * 0.5f, middle - 3.0f * half}, {own + half * 0.5f, middle + 3.0f * half}},
             theme.text_faint);
  context.list->AddCircleFilled({x, middle}, context.px(held || over ? 7.0f : 6.0f),
                                multiple == 1.0 ? theme.text_dim : theme.accent);

  if (by_key || (over && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left))) return 1.0;
  const bool moved = held && ImGui::GetIO().MouseDelta.x != 0.0f;
  if (!moved && !ImGui::IsItemActivated()) return std::nullopt;
  return multiple_at((ImGui::GetIO().MousePos.x - track.min.x) / track.width());
}

float slider_pitch(const PanelContext& context) {
  return std::max(draw::line_height(context.fonts.small), context.px(18.0f));
}

}  // namespace

double what_if_multiple(const RunSpec& spec, const RunField& field, const GpuDescription& own) {
  const std::string text = field.print(spec);
  if (text.empty()) return 1.0;
  const auto number = own_number(field, own);
  return number ? std::stod(text) / static_cast<double>(*number) : std::stod(text);
}

void set_what_if(RunSpec& spec, const RunField& field, double multiple, const GpuDescription& own) {
  if (multiple == 1.0) {
    field.parse("", spec);
  } else if (const auto number = own_number(field, own)) {
    const double size = std::round(multiple * static_cast<double>(*number));
    field.parse(fmt::format("{}", std::max<Index>(1, static_cast<Index>(size))), spec);
  } else {
    field.parse(fmt::format("{:.4g}", multiple), spec);
  }
}

float what_if_height(const PanelContext& context) {
  return static_cast<float>(what_if_fields().size()) * slider_pitch(context);
}

void draw_what_if(const PanelContext& context, const RunSpec& choice, const GpuDescription& own,
                  const Rect& rect) {
  const FontRef& font = context.fonts.small;
  const Theme& theme = context.theme;
  float labels = 0.0f, values = 0.0f;
  for (const RunField& field : what_if_fields()) {
    labels = std::max(labels, font.measure(name_of(field)).x);
    values = std::max(values, font.measure(value_text(choice, field, own)).x);
  }
  values = std::max(values, font.measure("999.9 KiB").x);
  const float gap = context.px(10.0f);
  float y = rect.min.y;
  for (const RunField& field : what_if_fields()) {
    const float text_y = y + (slider_pitch(context) - font.size) * 0.5f;
    const double multiple = what_if_multiple(choice, field, own);
    draw::text(context, font, {rect.min.x, text_y}, theme.text_dim, name_of(field));
    const Rect track{{rect.min.x + labels + gap, y},
                     {rect.max.x - values - gap, y + slider_pitch(context)}};
    if (const auto chosen = draw_slider(context, field, multiple, track)) {
      RunSpec changed = choice;
      set_what_if(changed, field, *chosen, own);
      if (changed != choice) context.commands.push(Choose{changed});
    }
    draw::text(context, font, {rect.max.x, text_y}, multiple == 1.0 ? theme.text_dim : theme.text,
               value_text(choice, field, own), draw::Align::right);
    if (hovered({{rect.min.x, y}, {rect.max.x, y + slider_pitch(context)}})) {
      tooltip(context, fmt::format("{}\ndrag: a quarter to four times; double-click: the GPU's own",
                                   field.help));
    }
    y += slider_pitch(context);
  }
}

}  // namespace attnscope::app
