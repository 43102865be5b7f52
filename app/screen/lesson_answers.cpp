#include "app/screen/lesson_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/draw/chart.h"
#include "app/draw/format.h"
#include "app/draw/prose.h"
#include "reference/message_text.h"
#include "reference/parse_number.h"

namespace attnscope::app {

namespace {

std::string hint_of(const std::string& unit) {
  if (unit == "bytes") return "bytes, such as 4.4 GB";
  if (unit == "s") return "a time, such as 12 µs";
  if (unit == "FLOP") return "operations, such as 68 GFLOP";
  if (unit == "Hz") return "a frequency, such as 1.7 GHz";
  return "a number";
}

std::string tick_text(double value, const std::string& unit) {
  if (unit == "bytes") return draw::format_tick(value, "B");
  if (unit.empty()) return draw::format_value(value);
  return draw::format_tick(value, unit.c_str());
}

/// The text at a tick of the curve's axis; sizes of memory have their unit.
std::string value_tick(const lessons::CurveQuestion& curve, std::size_t n) {
  const std::string& text = curve.values[n];
  const auto bytes = parse_number<Index>(text);
  return curve.over->option.ends_with("-bytes") && bytes ? capacity_text(*bytes) : text;
}

/// The name of the horizontal axis: "N: queries per head", "query heads".
std::string name_of_x(const RunField& over) {
  if (over.help.empty()) return std::string(over.label);
  const bool is_symbol = over.label.size() <= 2;
  return is_symbol ? fmt::format("{}: {}", over.label, over.help) : std::string(over.help);
}

/// The name of the vertical axis, whose ticks have its unit.
std::string_view name_of_y(const std::string& unit) {
  if (unit == "s") return "time";
  if (unit == "bytes") return "bytes";
  if (unit == "FLOP") return "operations";
  if (unit == "Hz") return "frequency";
  return unit.empty() ? "value" : std::string_view(unit);
}

/// The plot of a curve; its values are equally spaced along x.
struct CurveFrame {
  Rect plot;
  std::size_t count = 0;
  draw::Axis y;

  float x_of(std::size_t n) const {
    return plot.min.x + plot.width() * (static_cast<float>(n) + 0.5f) / static_cast<float>(count);
  }
  float y_of(double value) const {
    return plot.max.y - plot.height() * std::clamp(y.position(value), -0.02f, 1.02f);
  }
  std::size_t nearest(float x) const {
    const float place = (x - plot.min.x) / plot.width() * static_cast<float>(count);
    return static_cast<std::size_t>(std::clamp(place, 0.0f, static_cast<float>(count) - 0.5f));
  }
  double value_at(float at) const {
    return y.value(std::clamp((plot.max.y - at) / plot.height(), 0.0f, 1.0f));
  }
};

/// Draws the axes, and marks `shown`, the value of the run on the screen.
void draw_axes(const draw::Canvas& canvas, const CurveFrame& frame,
               const lessons::CurveQuestion& curve, const std::string& unit,
               const std::string& shown) {
  const FontRef& font = canvas.fonts.small;
  draw::outline(canvas, frame.plot, canvas.theme.grid);
  double tick = frame.y.logarithmic ? frame.y.low : 0.0;
  for (; frame.y.logarithmic && tick <= frame.y.high * 1.01; tick *= 10.0) {
    const float y = frame.y_of(tick);
    canvas.list->AddLine({frame.plot.min.x, y}, {frame.plot.max.x, y}, canvas.theme.grid);
    draw::text(canvas, font, {frame.plot.min.x - canvas.px(5.0f), y - font.size * 0.5f},
               canvas.theme.text_faint, tick_text(tick, unit), draw::Align::right);
  }
  for (std::size_t n = 0; n < frame.count; ++n) {
    const bool is_shown = curve.values[n] == shown;
    if (is_shown) {
      draw::dashed_line(canvas, {frame.x_of(n), frame.plot.min.y},
                        {frame.x_of(n), frame.plot.max.y}, canvas.theme.text_faint, 1.0f,
                        canvas.px(4.0f));
    }
    draw::text(canvas, font, {frame.x_of(n), frame.plot.max.y + canvas.px(4.0f)},
               is_shown ? canvas.theme.text : canvas.theme.text_faint, value_tick(curve, n),
               draw::Align::center);
  }
  const std::string names[] = {name_of_x(*curve.over), std::string(curve.over->label)};
  draw::text(canvas, font, {frame.plot.center().x, frame.plot.max.y + canvas.px(6.0f) + font.size},
             canvas.theme.text_dim, draw::widest_that_fits(font, names, frame.plot.width()),
             draw::Align::center);
  const std::string scale = frame.y.logarithmic ? ", logarithmic" : "";
  draw::text(canvas, font, {frame.plot.min.x, frame.plot.min.y - 1.5f * font.size},
             canvas.theme.text_dim, std::string(name_of_y(unit)) + scale);
}

/// Draws the points that are set, and the lines between neighbours.
void draw_points(const draw::Canvas& canvas, const CurveFrame& frame,
                 const std::vector<std::optional<double>>& points, ImU32 color) {
  std::optional<ImVec2> before;
  for (std::size_t n = 0; n < points.size() && n < frame.count; ++n) {
    std::optional<ImVec2> at;
    if (points[n]) at = ImVec2{frame.x_of(n), frame.y_of(*points[n])};
    if (at && before) canvas.list->AddLine(*before, *at, color, canvas.px(2.5f));
    if (at) canvas.list->AddCircleFilled(*at, canvas.px(4.0f), color);
    before = at;
  }
}

/// Writes the value of each point of the computed curve above it, or below it at the upper edge.
void draw_values(const Frame& frame, const draw::Canvas& canvas, const CurveFrame& plot,
                 const std::vector<double>& values, const std::string& unit) {
  const FontRef& font = frame.fonts.small;
  std::vector<std::string> texts;
  float widest = 0.0f;
  for (const double value : values) {
    texts.push_back(lessons::value_text(value, unit));
    widest = std::max(widest, font.measure(texts.back()).x);
  }
  if (widest + canvas.px(6.0f) > plot.plot.width() / static_cast<float>(plot.count)) return;
  for (std::size_t n = 0; n < values.size() && n < plot.count; ++n) {
    const float y = plot.y_of(values[n]);
    const float above = y - font.size - canvas.px(9.0f);
    const float top = above > plot.plot.min.y ? above : y + canvas.px(9.0f);
    const Rect place{{plot.x_of(n) - font.measure(texts[n]).x * 0.5f, top},
                     {plot.x_of(n) + font.measure(texts[n]).x * 0.5f, top + font.size}};
    draw::fill(canvas, place.shrunk(-canvas.px(2.0f), 0.0f), frame.theme.card);
    draw::text(canvas, font, place.min, frame.theme.text_dim, texts[n]);
    frame.rects.add(fmt::format("lesson.curve.value.{}", n), place);
  }
}

/// The points of the animated curve on its way from the user's curve, or from the axis, to the
/// computed one.
std::vector<std::optional<double>> towards(const std::vector<double>& truth,
                                           const std::vector<double>* drawn, const draw::Axis& axis,
                                           float share) {
  std::vector<std::optional<double>> points;
  for (std::size_t n = 0; n < truth.size(); ++n) {
    const double from = drawn != nullptr ? axis.position((*drawn)[n]) : 0.0;
    const double to = axis.position(truth[n]);
    const double position = from + (to - from) * static_cast<double>(share);
    points.emplace_back(share < 1.0f ? axis.value(position) : truth[n]);
  }
  return points;
}

/// Sets the points that the mouse passes on its way since the last frame, each to the height at
/// which the mouse comes nearest to it in this drag. Call right after the button "lesson.curve",
/// while it is held down.
void draw_by_mouse(std::vector<std::optional<double>>& points, const CurveFrame& plot,
                   float slack) {
  // How near this drag has come to each point, in pixels
  ImGuiStorage& reach = *ImGui::GetStateStorage();
  const auto key_of = [first = ImGui::GetID("lesson.curve.reach")](std::size_t n) {
    return first + static_cast<ImGuiID>(n);
  };
  const ImVec2 to = ImGui::GetIO().MousePos;
  const ImVec2 delta = ImGui::GetIO().MouseDelta;
  const bool begins = ImGui::IsItemActivated();
  for (std::size_t n = 0; begins && n < plot.count; ++n) reach.SetFloat(key_of(n), INFINITY);
  const ImVec2 from = begins ? to : ImVec2{to.x - delta.x, to.y - delta.y};
  const auto [low, high] = std::minmax(from.x, to.x);
  for (std::size_t n = plot.nearest(low); n <= plot.nearest(high); ++n) {
    const float x = plot.x_of(n);
    const bool is_here = std::abs(to.x - x) <= slack;  // the point moves up and down with the mouse
    const float nearest = is_here ? to.x : std::clamp(x, low, high);
    const float distance = is_here ? 0.0f : std::abs(nearest - x);
    if (distance > reach.GetFloat(key_of(n))) continue;
    reach.SetFloat(key_of(n), distance);
    const float share = to.x == from.x ? 1.0f : (nearest - from.x) / (to.x - from.x);
    points[n] = plot.value_at(from.y + (to.y - from.y) * share);
  }
}

/// Draws a hint in the middle of the empty plot: how to draw the curve.
void draw_hint(const Frame& frame, const draw::Canvas& canvas, const Rect& plot) {
  const FontRef& font = frame.fonts.ui;
  const std::string wordings[] = {"drag to draw your curve", "drag to draw"};
  const std::string hint = draw::widest_that_fits(font, wordings, plot.width() - frame.px(12.0f));
  const ImVec2 at = plot.center();
  const ImVec2 half{font.measure(hint).x * 0.5f + frame.px(8.0f), font.size * 0.8f};
  draw::fill(canvas, {{at.x - half.x, at.y - half.y}, {at.x + half.x, at.y + half.y}},
             frame.theme.card);
  draw::text(canvas, font, {at.x, at.y - font.size * 0.5f}, frame.theme.text_dim, hint,
             draw::Align::center);
  frame.rects.add("lesson.curve.hint", plot);
}

}  // namespace

bool draw_option(const Frame& frame, const std::string& name, const std::string& text, float width,
                 std::optional<ImU32> mark, bool is_button) {
  const FontRef& font = frame.fonts.ui;
  const float padding = frame.px(10.0f);
  const draw::ProseStyle style{font, frame.fonts.mono, frame.theme.text};
  const float room = width - 2.0f * padding;
  const float height = draw::prose_height(style, text, room) + frame.px(10.0f);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  bool pressed = ImGui::InvisibleButton(name.c_str(), {width, height});
  const bool hovered = is_button && ImGui::IsItemHovered();
  if (is_button) pressed = ui::visit_item(frame, name) || pressed;
  frame.rects.add_item(name);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 end{at.x + width, at.y + height};
  const ImU32 surface = hovered     ? frame.theme.button_hovered
                        : is_button ? frame.theme.button
                                    : frame.theme.inset;
  list->AddRectFilled(at, end, surface, frame.px(5.0f));
  if (mark) list->AddRect(at, end, *mark, frame.px(5.0f), 0, frame.px(2.0f));
  const float space = (draw::line_height(font) - font.size) * 0.5f;
  const draw::Canvas canvas{list, frame.theme, frame.fonts, frame.scales.layout};
  draw::draw_prose(canvas, style, {at.x + padding, at.y + frame.px(5.0f) + space}, text, room);
  return pressed && is_button;
}

void draw_number_field(const Frame& frame, float width, bool takes_focus) {
  LessonPlayer& player = frame.app.lesson_player;
  const std::string hint = hint_of(player.current().ask->unit);
  constexpr std::string_view kName = "lesson.number";
  ImGui::SetNextItemWidth(width);
  if (takes_focus || frame.focus.comes_to(kName)) ImGui::SetKeyboardFocusHere();
  ImGui::InputTextWithHint("##number", hint.c_str(), player.draft.text.data(),
                           player.draft.text.size());
  if (ImGui::IsItemEdited()) player.draft.error.clear();
  player.draft.typing = ImGui::IsItemActive();
  ui::visit_item(frame, kName);
}

void draw_options(const Frame& frame, float width) {
  LessonPlayer& player = frame.app.lesson_player;
  const auto& choice = std::get<lessons::ChoiceQuestion>(player.current().ask->kind);
  const bool is_button = player.phase() == LessonPlayer::Phase::asking && !frame.app.view.presenter;
  const auto is = [](const std::optional<lessons::Answer>& answer, std::size_t n) {
    const auto* chosen = answer ? std::get_if<lessons::Chosen>(&*answer) : nullptr;
    return chosen != nullptr && chosen->option == n;
  };
  const Outcome* outcome = player.outcome();
  for (std::size_t n = 0; n < choice.options.size(); ++n) {
    const char letter = lessons::letter_of(n);
    std::optional<ImU32> mark;
    if (is(player.given(), n)) mark = frame.theme.warning;
    if (outcome != nullptr && is(outcome->truth, n)) mark = frame.theme.good;
    const std::string text = fmt::format("{})  {}", letter, choice.options[n].text);
    const std::string name = fmt::format("lesson.option.{}", letter);
    if (!draw_option(frame, name, text, width, mark, is_button)) continue;
    player.draft.option = n;
    player.act(LessonPlayer::Action::check);
  }
}

float curve_height(const Frame& frame, float width) {
  return std::min(width * 0.75f, frame.px(280.0f));
}

void draw_curve_field(const Frame& frame, float width, float share) {
  LessonPlayer& player = frame.app.lesson_player;
  const lessons::Question& question = *player.current().ask;
  const auto& curve = std::get<lessons::CurveQuestion>(question.kind);
  const CurveAxis axis = player.prepared()->axis.value_or(CurveAxis{});
  const float height = curve_height(frame, width);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const FontRef& small = frame.fonts.small;
  CurveFrame plot{
      .plot = {{at.x + small.measure("1000 MB").x + frame.px(8.0f), at.y + small.size * 1.9f},
               {at.x + width, at.y + height - 2.4f * small.size - frame.px(6.0f)}},
      .count = curve.values.size(),
      .y = {"", axis.logarithmic, axis.low, axis.high}};
  ImGui::InvisibleButton("lesson.curve", {width, height});
  frame.rects.add("lesson.curve", plot.plot);

  auto& drawn = player.draft.curve;
  drawn.resize(plot.count);
  if (player.phase() == LessonPlayer::Phase::asking && ImGui::IsItemActive()) {
    draw_by_mouse(drawn, plot, frame.px(4.0f));
    player.draft.error.clear();
  }

  const draw::Canvas canvas{ImGui::GetWindowDrawList(), frame.theme, frame.fonts,
                            frame.scales.layout};
  draw_axes(canvas, plot, curve, question.unit, curve.over->print(player.prepared()->run));
  const std::vector<double>* given = nullptr;
  if (player.given()) given = std::get_if<std::vector<double>>(&*player.given());
  std::vector<std::optional<double>> own = drawn;
  if (given != nullptr) own.assign(given->begin(), given->end());
  draw_points(canvas, plot, own, frame.theme.accent);
  const bool asks = player.phase() == LessonPlayer::Phase::asking && !frame.app.view.presenter;
  const bool is_empty =
      std::ranges::none_of(own, [](const auto& point) { return point.has_value(); });
  if (asks && is_empty) draw_hint(frame, canvas, plot.plot);
  const Outcome* outcome = player.outcome();
  if (outcome == nullptr || !outcome->truth) return;
  const auto& truth = std::get<std::vector<double>>(*outcome->truth);
  draw_points(canvas, plot, towards(truth, given, plot.y, share), frame.theme.good);
  if (share >= 1.0f) draw_values(frame, canvas, plot, truth, question.unit);
}

}  // namespace attnscope::app
