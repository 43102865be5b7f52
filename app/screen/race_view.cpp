#include "app/screen/race_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/jobs/run_comparison.h"

namespace attnscope::app {

RaceLayout lay_out_race(const Frame& frame, const Rect& body) {
  const float gap = std::round(frame.px(10.0f));
  const float bar = std::round(frame.text_px(15.0f) + frame.px(22.0f));
  const float head = std::round(frame.text_px(46.0f) + frame.px(9.0f));
  const float width = std::round((body.width() - gap) * 0.5f);
  // In presenter mode the memory takes all the room, so that the back row can see it
  const bool presenter = frame.app.view.presenter;
  const float top = body.min.y + bar + gap;
  const float memory = std::round((body.max.y - top - head - 2.0f * gap) * 0.5f);
  RaceLayout race{.bar = {body.min, {body.max.x, body.min.y + bar}}, .sides = {}};
  for (const float left : {body.min.x, body.max.x - width}) {
    const float right = left + width;
    const float memory_top = top + head + gap;
    const float scores_top = memory_top + memory + gap;
    RaceSide side{.head = {{left, top}, {right, top + head}}};
    side.panels[Slot::memory] = {{left, memory_top},
                                 {right, presenter ? body.max.y : memory_top + memory}};
    if (!presenter) {
      const float code = std::round(left + (width - gap) * 0.56f);
      side.panels[Slot::memory].max.x = code;
      side.panels[Slot::explain] = {{code + gap, memory_top}, {right, memory_top + memory}};
      side.panels[Slot::scores] = {{left, scores_top}, {right, body.max.y}};
      const float middle = std::round(left + (width - gap) * 0.5f);
      const float softmax_end = std::round(scores_top + (body.max.y - scores_top - gap) * 0.54f);
      side.panels[Slot::scores].max.x = middle;
      side.panels[Slot::online_softmax] = {{middle + gap, scores_top}, {right, softmax_end}};
      side.totals = Rect{{middle + gap, softmax_end + gap}, {right, body.max.y}};
    }
    race.sides.push_back(side);
  }
  return race;
}

std::string race_verdict(const RunInfo& chosen, const RunInfo& rival) {
  const Index own = sum(chosen.head_bytes).total();
  const Index other = sum(rival.head_bytes).total();
  const auto [less, more] = std::minmax(own, other);
  if (less == more) return fmt::format("both request {} bytes", draw::format_count(own));
  const bool rival_less = other < own;
  return fmt::format("{}: {} / {} bytes = {}",
                     rival_less ? "rival requests less" : "rival requests more",
                     draw::format_count(more), draw::format_count(less),
                     ratio_text(static_cast<double>(more) / static_cast<double>(less)));
}

void draw_race_bar(const Frame& frame, const Rect& rect, TopBar& rival_fields) {
  const App& app = frame.app;
  const std::string verdict = race_verdict(*app.snapshot()->run, *app.rival_snapshot()->run);
  const FontRef& font = frame.fonts.ui_bold;
  const float padding = frame.px(14.0f);
  const float width = font.measure(verdict).x;
  const float y = std::round(rect.center().y - font.size * 0.5f);
  const Rect place{{rect.max.x - padding - width, y}, {rect.max.x - padding, y + font.size}};
  font.draw(ImGui::GetWindowDrawList(), place.min, frame.theme.good, verdict);
  frame.rects.add("race.verdict", place);
  ImGui::SetCursorScreenPos(place.min);
  ImGui::InvisibleButton("verdict", {place.width(), place.height()});
  ui::tooltip(frame,
              "Bytes that the thread blocks of this head request in the whole pass, modelled: "
              "the larger number divided by the smaller.");
  if (app.view.presenter) return;

  const std::string_view label = "Rival";
  frame.fonts.title.draw(ImGui::GetWindowDrawList(),
                         {rect.min.x + padding, rect.center().y - frame.fonts.title.size * 0.5f},
                         frame.theme.text_dim, label);
  const float left = rect.min.x + padding + frame.fonts.title.measure(label).x;
  rival_fields.draw(frame, {{left, rect.min.y}, {place.min.x - padding, rect.max.y}});
}

void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot) {
  const RunInfo& run = *snapshot.run;
  const Bytes so_far = sum(snapshot.bytes_so_far);
  const Bytes whole = sum(run.head_bytes);
  const bool alike =
      !run.problem().has_key_lengths();  // else heads differ, and counts per head are unknown
  const Index heads = run.problem().batch * run.problem().heads;
  struct Line {
    const char* label;
    std::string so_far, whole;
  };
  const auto bytes = [](Index value) { return draw::format_bytes(value); };
  const auto flops = [](Index value) { return draw::format_si(value, "FLOP"); };
  const auto of_head = [&](Index total) { return alike ? flops(total / heads) : "–"; };
  const Line lines[] = {
      {"requested read", bytes(so_far.read_bytes), bytes(whole.read_bytes)},
      {"requested written", bytes(so_far.write_bytes), bytes(whole.write_bytes)},
      {"atomic adds", bytes(so_far.atomic_bytes), bytes(whole.atomic_bytes)},
      {"matrix products", flops(snapshot.matmul_flops_so_far), of_head(run.totals.matmul_flops)},
      {"other operations", flops(snapshot.other_flops_so_far),
       of_head(run.totals.non_matmul_flops)}};

  // Heading, then one line per total, spaced as widely as the room allows
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FontRef& font = frame.fonts.small;
  const float padding = frame.px(14.0f);
  const float left = rect.min.x + padding;
  const float right = rect.max.x - padding;
  const float middle = std::round(left + (right - left) * 0.7f);
  float y = rect.min.y + frame.px(9.0f);
  frame.fonts.title.draw(list, {left, y}, frame.theme.text, "TOTALS");
  const std::string tiles =
      fmt::format("modelled, {} in {} x {} tiles",
                  run.resolved().query_heads_per_tile > 1 ? "its group" : "this head",
                  run.tiling().Br, run.tiling().Bc);
  const float title_width = frame.fonts.title.measure("TOTALS").x + padding;
  const std::string about = draw::fitted(font, tiles, right - left - title_width);
  font.draw(list, {right - font.measure(about).x, y + frame.px(1.0f)}, frame.theme.text_dim, about);
  y += frame.fonts.title.size + frame.px(7.0f);
  const float room = rect.max.y - frame.px(6.0f) - y;
  const float pitch = std::clamp(room / 6.0f, font.size * 0.95f, font.size * 1.9f);
  const auto write = [&](const char* label, const std::string& first, const std::string& second,
                         ImU32 color) {
    font.draw(list, {left, y}, frame.theme.text_dim, label);
    font.draw(list, {middle - font.measure(first).x, y}, color, first);
    font.draw(list, {right - font.measure(second).x, y}, frame.theme.text_dim, second);
    y += pitch;
  };
  write("", "so far", "whole pass", frame.theme.text_dim);
  for (const Line& line : lines) {
    if (y + font.size > rect.max.y) break;
    write(line.label, line.so_far, line.whole, frame.theme.text);
  }
}

void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival) {
  const RaceCourse* course = frame.app.course();
  const RaceCourse::Racer racer = rival ? RaceCourse::rival : RaceCourse::chosen;
  frame.rects.add(rival ? "race.head.rival" : "race.head.chosen", rect);
  const RunInfo& run = *snapshot.run;
  const double so_far = static_cast<double>(sum(snapshot.bytes_so_far).total());
  const double whole = static_cast<double>(sum(run.head_bytes).total());
  const bool done = snapshot.step >= run.step_count - 1;
  const std::string requested =
      fmt::format("{} of {} requested", draw::format_bytes(so_far), draw::format_bytes(whole));
  const std::string flops = draw::format_si(
      static_cast<double>(snapshot.matmul_flops_so_far + snapshot.other_flops_so_far), "FLOP");
  std::string tile, in_launches;
  float share = whole > 0.0 ? static_cast<float>(so_far / whole) : 0.0f;
  float of_longest = 1.0f;
  if (course != nullptr) {
    const Index tiles = course->tiles_done(racer, frame.app.view.race_tick);
    tile = fmt::format("  ·  tile visit {} of {}", tiles, course->tiles(racer));
    if (run.launches.size() > 1) in_launches = fmt::format(" in {} launches", run.launches.size());
    const auto finish = static_cast<float>(course->finish(racer));
    const auto longest = static_cast<float>(course->reading(course->last_tick()));
    of_longest = longest > 0.0f ? finish / longest : 1.0f;
    share = std::min(static_cast<float>(course->reading(frame.app.view.race_tick)) / finish, 1.0f);
  }

  // Name, numbers, and a bar whose length is the racer's whole run on the common clock
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float padding = frame.px(14.0f);
  const FontRef& bold = frame.fonts.title;
  const bool broken = run.resolved().asked.variant.broken.any();
  const std::string name =
      fmt::format("{}{}{}", run.algorithm->title, broken ? ", broken" : "", done ? ": done" : "");
  bold.draw(list, {rect.min.x + padding, rect.min.y + frame.px(9.0f)},
            done ? frame.theme.good : frame.theme.text, name);
  const FontRef& font = frame.fonts.small;
  const float room = rect.width() - 3.0f * padding - bold.measure(name).x;
  const std::string numbers = requested + "  ·  " + flops + tile + in_launches;
  const float y = rect.max.y - frame.px(12.0f);
  if (font.measure(numbers).x <= room) {
    font.draw(list, {rect.max.x - padding - font.measure(numbers).x, rect.min.y + frame.px(11.0f)},
              frame.theme.text_dim, numbers);
  } else {
    // The text is on a separate line
    const std::string wordings[] = {numbers, requested + "  ·  " + flops + tile,
                                    requested + tile + in_launches, requested + tile, requested};
    const std::string text = draw::widest_that_fits(font, wordings, rect.width() - 2.0f * padding);
    font.draw(list, {rect.min.x + padding, y - frame.px(9.0f) - font.size * 1.05f},
              frame.theme.text_dim, text);
  }
  const float half = frame.px(4.5f);
  const float x0 = rect.min.x + padding;
  const float length = (rect.width() - 2.0f * padding) * of_longest;
  list->AddRectFilled({x0, y - half}, {x0 + length, y + half}, frame.theme.track, half);
  if (length * share > 2.0f * half) {
    list->AddRectFilled({x0, y - half}, {x0 + length * share, y + half},
                        done ? frame.theme.good : frame.theme.accent, half);
  }
}

}  // namespace attnscope::app
