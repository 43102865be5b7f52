#include "app/screen/transport_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/play/playhead.h"
#include "app/report/report_text.h"
#include "app/scene/shown_head.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

std::string position_text(const Snapshot& snapshot) {
  if (snapshot.step < 0) return {};
  const RunInfo& run = *snapshot.run;
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  std::string text;
  if (run.launches.size() > 1) text = fmt::format("{}  ", launch_words(run.launches[launch].label));
  text += row_tile_name(run.pass.launches[launch], run.grids[launch], snapshot.i);
  if (snapshot.split >= 0) text += fmt::format("  split {}", snapshot.split);
  if (snapshot.j != kAllColumns) text += fmt::format("  j = {}", snapshot.j);
  return text;
}

/// Text about as wide as the widest position_text() of the run.
std::string widest_position(const RunInfo& run) {
  std::string_view longest;
  if (run.launches.size() > 1) {
    for (const StepSpan& launch : run.launches) {
      const std::string_view words = launch_words(launch.label);
      if (words.size() > longest.size()) longest = words;
    }
  }
  return fmt::format("{}{}  i = 000  j = 000", longest,
                     run.algorithm->splits_keys ? "  split 00" : "");
}

/// Draws the unit of playing: "by op", "by tile" or "by outer loop". A click selects the next.
void draw_granularity(const Frame& frame, const Rect& rect) {
  ViewState& view = frame.app.view;
  const char* names[] = {"by op", "by tile", "by outer loop"};
  const auto index = static_cast<std::size_t>(view.granularity);
  if (ui::draw_button(frame, {"transport.granularity", rect, names[index],
                              "Playback step. Click for the next: operation, tile, outer loop."})) {
    view.granularity = static_cast<Granularity>((index + 1) % 3);
  }
}

void draw_speed(const Frame& frame, const Rect& rect) {
  ViewState& view = frame.app.view;
  const float side = rect.height();
  const Rect minus{rect.min, {rect.min.x + side, rect.max.y}};
  const Rect plus{{rect.max.x - side, rect.min.y}, rect.max};
  if (ui::draw_button(frame, {"transport.slower", minus, "−", "Slower (key −)"})) {
    view.speed = next_speed(view.speed, -1);
  }
  if (ui::draw_button(frame, {"transport.faster", plus, "+", "Faster (key +)"})) {
    view.speed = next_speed(view.speed, 1);
  }
  ui::draw_centered(ImGui::GetWindowDrawList(), frame.fonts.ui, rect.center(), frame.theme.text_dim,
                    fmt::format("{:g}×", view.speed));
}

/// The parts that the bar shows beside the slider and the three buttons that play and step.
struct Parts {
  bool granularity = true, ends = true, speed = true, tiles = true, position = true;
};

/// Widths of the buttons, in units that scale with text.
constexpr float kEndWidth = 36.0f;
constexpr float kTileWidth = 66.0f;
constexpr float kOpWidth = 60.0f;
constexpr float kPlayWidth = 90.0f;
constexpr float kGranularityWidth = 106.0f;

float speed_width(const Frame& frame) {
  return frame.app.view.presenter ? 90.0f : 112.0f;
}

/// Draws the buttons from left to right; returns their right edge.
float draw_buttons(const Frame& frame, const Rect& rect, const Parts& parts) {
  App& app = frame.app;
  const float height = frame.text_px(15.0f) + frame.px(20.0f);
  const float y = std::round(rect.min.y + (rect.height() - height) * 0.5f);
  float x = rect.min.x + frame.px(22.0f);
  const auto put = [&](const char* name, float width, const char* text, ui::Icon icon,
                       const Command& command, const char* help, bool primary = false) {
    const Rect place{{x, y}, {x + frame.text_px(width), y + height}};
    x = place.max.x + frame.px(8.0f);
    const ui::Button button{name, place, text, help, icon, primary};
    if (ui::draw_button(frame, button)) app.commands.push(command);
  };
  const bool playing = app.walk_plays.value_or(app.view.playing);
  if (parts.ends) {
    put("transport.begin", kEndWidth, "", ui::Icon::to_begin, SeekTo{-1},
        "To the beginning (Home)");
  }
  if (parts.tiles) {
    put("transport.back_tile", kTileWidth, "tile", ui::Icon::back, StepBy{Granularity::tile, -1},
        "One tile back (Shift + Left)");
  }
  put("transport.back_op", kOpWidth, "op", ui::Icon::back, StepBy{Granularity::op, -1},
      "One operation back (Left)");
  put("transport.play", kPlayWidth, playing ? "Pause" : "Play",
      playing ? ui::Icon::pause : ui::Icon::play, TogglePlay{}, "Play or pause (Space)",
      /*primary=*/true);
  put("transport.forward_op", kOpWidth, "op", ui::Icon::forward, StepBy{Granularity::op, 1},
      "One operation forward (Right)");
  if (parts.tiles) {
    put("transport.forward_tile", kTileWidth, "tile", ui::Icon::forward,
        StepBy{Granularity::tile, 1}, "One tile forward (Shift + Right)");
  }
  if (parts.ends) {
    put("transport.end", kEndWidth, "", ui::Icon::to_end, SeekToEnd{}, "To the end (End)");
  }
  return x;
}

/// The clock's reading, which neither racer has exceeded, and what the clock counts. Each racer is
/// at the end of the last tile that it completes within the reading.
std::pair<std::string, std::string> clock_words(const Frame& frame, const RaceCourse& course,
                                                Index tick) {
  const Index reading = course.reading(tick);
  if (frame.app.view.race->clock == RaceClock::requested_bytes) {
    return {"up to " + draw::format_bytes(reading), "requested in each run"};
  }
  return {fmt::format("up to {} tile visit{}", reading, reading == 1 ? "" : "s"), "in each run"};
}

/// "operation 103 (0-167)" and the tile under the playhead.
class Position {
 public:
  /// The text about the head is at most `most_head_width` wide.
  Position(const Frame& frame, const Snapshot& snapshot, float most_head_width);
  /// Wide enough for the run's largest numbers and the head's text.
  float width() const { return width_; }
  void draw(float x, float middle) const;

 private:
  const Frame& frame_;
  std::string upper_, lower_, head_;
  float head_x_ = 0.0f;
  float width_ = 0.0f;
};

Position::Position(const Frame& frame, const Snapshot& snapshot, float most_head_width)
    : frame_(frame) {
  const FontRef& font = frame.fonts.ui;
  const FontRef& small = frame.fonts.small;
  if (const RaceCourse* course = frame.app.course()) {
    std::tie(upper_, lower_) = clock_words(frame, *course, frame.app.view.race_tick);
    const std::string last = clock_words(frame, *course, course->last_tick()).first;
    width_ = std::max(font.measure(last).x, small.measure(lower_).x);
    return;
  }
  const Index count = snapshot.run->step_count;
  const Index step = frame.app.view.step;
  upper_ = step < 0 ? "before operation 0" : among("operation", step, count);
  lower_ = position_text(snapshot);
  const std::string widest = among("operation", count - 1, count);
  width_ = std::max(font.measure(widest).x, small.measure(widest_position(*snapshot.run)).x);

  // Which head, if there are several
  const AttentionProblem& chosen = frame.app.view.choice.problem;
  if (chosen.heads * chosen.batch <= 1) return;
  const std::vector<std::string> wordings =
      in_words(shown_head(snapshot.run->resolved(), frame.app.view.head));
  head_ = draw::label_that_fits(small, wordings, most_head_width);
  head_x_ = font.measure(widest).x + frame.px(10.0f);
  width_ = std::max(width_, head_x_ + small.measure(head_).x);
}

void Position::draw(float x, float middle) const {
  const FontRef& font = frame_.fonts.ui;
  const FontRef& small = frame_.fonts.small;
  ImDrawList* list = ImGui::GetWindowDrawList();
  font.draw(list, {x, middle - font.size - frame_.px(1.0f)}, frame_.theme.text, upper_);
  small.draw(list, {x, middle + frame_.px(3.0f)}, frame_.theme.text_faint, lower_);
  small.draw(list, {x + head_x_, middle - small.size - frame_.px(2.0f)}, frame_.theme.text_dim,
             head_);
}

/// Leaves out parts until the slider is wide enough: the step size of playing, both ends, the
/// speed, tiles, the position, in this order. Presenter mode never has the first two.
Parts choose_parts(const Frame& frame, const Rect& rect, float position_width) {
  Parts parts;
  parts.granularity = !frame.app.view.presenter && frame.app.course() == nullptr;
  parts.ends = !frame.app.view.presenter;
  const auto slider = [&] {
    const float gap = frame.px(8.0f);
    const auto pair = [&](float width) { return 2.0f * (frame.text_px(width) + gap); };
    float used = frame.px(80.0f) + pair(kOpWidth) + frame.text_px(kPlayWidth) + gap;
    if (parts.granularity) used += frame.text_px(kGranularityWidth) + gap;
    if (parts.ends) used += pair(kEndWidth);
    if (parts.speed) used += frame.text_px(speed_width(frame)) + gap;
    if (parts.tiles) used += pair(kTileWidth);
    if (parts.position) used += position_width + frame.px(14.0f);
    return rect.width() - used;
  };
  const float least = std::max(frame.text_px(150.0f), 0.18f * rect.width());
  for (bool Parts::*part :
       {&Parts::granularity, &Parts::ends, &Parts::speed, &Parts::tiles, &Parts::position}) {
    if (slider() >= least) break;
    parts.*part = false;
  }
  return parts;
}

/// The left end of a span's label: centred at `x`, within the bar.
float label_left(const Frame& frame, const StepSpan& span, const Rect& bar, float x) {
  const float width = frame.fonts.small.measure(launch_words(span.label)).x;
  return std::clamp(x - width * 0.5f, bar.min.x, std::max(bar.max.x - width, bar.min.x));
}

/// Draws the label of every `stride`-th span, except where it would touch the previous one.
template <typename PlaceOf>
void draw_span_labels(const Frame& frame, const std::vector<StepSpan>& spans, const Rect& bar,
                      const PlaceOf& place_of, std::size_t stride) {
  const FontRef& small = frame.fonts.small;
  float free_from = bar.min.x;
  for (std::size_t n = 0; n < spans.size(); n += stride) {
    const std::string_view words = launch_words(spans[n].label);
    const float left = label_left(frame, spans[n], bar, place_of(spans[n]));
    if (left < free_from) continue;
    small.draw(ImGui::GetWindowDrawList(), {left, bar.min.y}, frame.theme.text_faint, words);
    free_from = left + small.measure(words).x + frame.px(6.0f);
  }
}

/// The smallest stride, a power of two, at which labels do not touch: equal distances are easier to
/// read than as many labels as possible.
template <typename PlaceOf>
std::size_t label_stride(const Frame& frame, const std::vector<StepSpan>& spans, const Rect& bar,
                         const PlaceOf& place_of) {
  const auto fits = [&](std::size_t stride) {
    float free_from = bar.min.x;
    for (std::size_t n = 0; n < spans.size(); n += stride) {
      const float left = label_left(frame, spans[n], bar, place_of(spans[n]));
      if (left < free_from) return false;
      const float width = frame.fonts.small.measure(launch_words(spans[n].label)).x;
      free_from = left + width + frame.px(6.0f);
    }
    return true;
  };
  std::size_t stride = 1;
  while (stride < spans.size() && !fits(stride)) stride *= 2;
  return stride;
}

/// Draws the whole run as a line; dragging its playhead seeks.
void draw_scrub_bar(const Frame& frame, const Rect& rect) {
  App& app = frame.app;
  const auto snapshot = app.snapshot();
  if (!snapshot || rect.width() < frame.px(60.0f) || snapshot->run->step_count < 1) return;
  const RunInfo& run = *snapshot->run;
  const Theme& theme = frame.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();

  const float y = std::round(rect.center().y - frame.px(4.0f));
  const float half = frame.px(4.5f);
  const RaceCourse* course = app.course();
  const auto last = static_cast<float>(course != nullptr ? course->last_tick() : run.step_count);
  const auto x_of = [&](Index operations) {
    return rect.min.x + rect.width() * static_cast<float>(operations) / last;
  };

  // Dragging seeks
  ImGui::SetCursorScreenPos(rect.min);
  ImGui::InvisibleButton("transport.scrub", {rect.width(), rect.height()});
  frame.rects.add("transport.scrub", rect);
  if (ImGui::IsItemActive()) {
    const float share =
        std::clamp((ImGui::GetIO().MousePos.x - rect.min.x) / rect.width(), 0.f, 1.f);
    const auto place = static_cast<Index>(std::lround(share * last));
    if (course != nullptr) app.commands.push(SeekTick{place});
    if (course == nullptr) app.commands.push(SeekTo{place - 1});
  }

  // The line, its done part, the boundaries of the outer loop and of launches
  const float playhead = x_of(course != nullptr ? app.view.race_tick : app.view.step + 1);
  list->AddRectFilled({rect.min.x, y - half}, {rect.max.x, y + half}, theme.track, half);
  if (playhead > rect.min.x + half) {
    list->AddRectFilled({rect.min.x, y - half}, {playhead, y + half}, theme.accent, half);
  }
  const auto mark = [&](const StepSpan& span, float reach, ImU32 color) {
    const float x = std::round(x_of(span.begin));
    list->AddLine({x, y - reach}, {x, y + reach}, color);
  };
  const auto place_of = [&](const StepSpan& span) {
    return (x_of(span.begin) + x_of(span.end)) * 0.5f;
  };
  const Rect labels{{rect.min.x, y + frame.px(13.0f)}, rect.max};
  if (course != nullptr) {
    // The common clock has no launches
  } else if (run.launches.size() > 1) {
    for (const StepSpan& span : run.launches) mark(span, frame.px(12.0f), theme.text_dim);
    draw_span_labels(frame, run.launches, labels, place_of, 1);
  } else if (run.outer.size() <= 128) {
    for (const StepSpan& span : run.outer) mark(span, frame.px(10.0f), theme.text_faint);
    draw_span_labels(frame, run.outer, labels, place_of,
                     label_stride(frame, run.outer, labels, place_of));
  }

  // The playhead
  const bool active = ImGui::IsItemHovered() || ImGui::IsItemActive();
  list->AddCircleFilled({playhead, y}, frame.px(active ? 9.5f : 8.5f), theme.text);
  list->AddCircle({playhead, y}, frame.px(active ? 9.5f : 8.5f), theme.bar);
}

}  // namespace

void draw_transport_bar(const Frame& frame, const Rect& rect) {
  const auto snapshot = frame.app.snapshot();
  std::optional<Position> position;
  constexpr float kMostHeadShare = 0.13f;  // the scrub bar needs the rest
  if (snapshot) position.emplace(frame, *snapshot, kMostHeadShare * rect.width());
  const Parts parts = choose_parts(frame, rect, position ? position->width() : 0.0f);
  float x = draw_buttons(frame, rect, parts) + frame.px(10.0f);
  if (position && parts.position) {
    position->draw(x, std::round(rect.center().y));
    x += position->width() + frame.px(14.0f);
  }

  // Place speed and granularity, from right to left
  float right = rect.max.x - frame.px(18.0f);
  const auto place_right = [&](float design_width, float h) {
    const float top = std::round(rect.center().y - h * 0.5f);
    const Rect placed{{right - frame.text_px(design_width), top}, {right, top + h}};
    right = placed.min.x - frame.px(10.0f);
    return placed;
  };
  const float small_height = frame.text_px(15.0f) + frame.px(12.0f);
  if (parts.speed) draw_speed(frame, place_right(speed_width(frame), small_height));
  if (parts.granularity) draw_granularity(frame, place_right(kGranularityWidth, small_height));
  draw_scrub_bar(frame, {{x + frame.px(8.0f), rect.min.y}, {right - frame.px(12.0f), rect.max.y}});
}

}  // namespace attnscope::app
