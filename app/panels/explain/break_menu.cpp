#include "app/panels/explain/break_menu.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/schedule/breaks.h"
#include "sim/snapshot/describe_op.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {

namespace {

void choose_break(const ViewState& view, CommandSink& commands, RunBreak broken) {
  RunSpec choice = view.choice;
  choice.variant.broken = std::move(broken);
  commands.push(Choose{std::move(choice)});
}

/// Why the break does not change the result, as a sentence; "" if it does change it.
std::string why_nothing(const BreakEffect& effect) {
  if (effect.changes_result() || effect.reasons.empty()) return "";
  return fmt::format("The result is right: {}.", sentence_of(effect.reasons[0].first));
}

}  // namespace

void BreakMenu::choose_line(const RunInfo& run, std::size_t launch, std::size_t line) {
  items_.clear();
  const auto operations = operations_of(run.pass, {run.problem(), run.tiling(), run.options, {}});
  for (const PassOperation& each : operations) {
    if (each.launch != launch || each.line != line) continue;
    items_.push_back({operation_name(each),
                      fmt::format("Drop: {} {}", to_string(each.kind), tensor_name(each.tensor)),
                      break_of(each, run.pass, operations)});
  }
}

void BreakMenu::draw_items(const ViewState& view, CommandSink& commands,
                           const DrawMenuItem& item) const {
  if (items_.empty()) return;
  for (const Item& each : items_) {
    if (item("break." + each.name, each.label)) choose_break(view, commands, each.broken);
  }
  if (view.choice.variant.broken.any() && item("break.restore", "Restore the run")) {
    choose_break(view, commands, {});
  }
  ImGui::Separator();
}

namespace {

/// A button that moves to an operation.
struct PlaceButton {
  const char* name;
  std::string label;
  Index step = 0;
};

/// The contents of the notice.
struct Notice {
  std::string title;
  std::vector<std::string> sentence;  ///< lines shown instead of the buttons
  std::vector<PlaceButton> buttons;   ///< from right to left
  int lines = 0;
  bool in_one_line = false;           ///< title and sentence share a line
  std::vector<std::string> deadlock;  ///< further lines: which agents wait forever
};

float notice_pitch(const PanelContext& context) {
  return draw::line_height(context.fonts.small) + context.px(4.0f);
}
float notice_padding(const PanelContext& context) {
  return context.px(6.0f);
}

/// The buttons that move to the first wrong operation and the first wrong store; `long_labels`
/// include the row tile and the number of the operation.
std::vector<PlaceButton> place_buttons(const BreakEffect& effect, bool long_labels) {
  std::vector<PlaceButton> buttons;
  const auto add = [&](const char* name, std::string_view what,
                       const std::optional<OpPlace>& place) {
    if (!place) return;
    const auto wrong = std::ranges::find_if(effect.spread, [&](const TileDeviation& each) {
      return each.step == place->step && each.deviation.is_wrong();
    });
    const Tile& tile = wrong != effect.spread.end() ? wrong->tile : place->op.dest_tiles[0];
    std::string label = fmt::format("{}: {}", what, tile_name(tile));
    const bool has_rows = !is_score(tile.tensor) && !is_by_keys(tile.tensor);
    if (long_labels && has_rows) label += fmt::format(" (row tile {})", tile.i);
    if (long_labels) label += fmt::format(", operation {}", place->step);
    buttons.push_back({name, label, place->step});
  };
  const auto& first = effect.first_difference;
  const auto& store = effect.first_wrong_store;
  const bool are_one = first && store && first->step == store->step;
  if (!are_one) add("broken.store", "in HBM", store);
  add("broken.operation", are_one ? "first wrong, in HBM" : "first wrong", first);
  return buttons;
}

/// The agents that wait forever, and for what: "deadlock at operation 41: producer waits until
/// ...".
std::string deadlock_words(const Snapshot& snapshot, const ViewState& view) {
  const auto& deadlock = snapshot.run->deadlock;
  if (!deadlock || view.hides_effect) return "";
  std::string words = fmt::format("deadlock at operation {}:", deadlock->step);
  for (const StuckAgent& each : deadlock->stuck) words += " " + stuck_words(each);
  return words;
}

/// The notice without the deadlock, in one line if there is room.
Notice effect_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                     float width) {
  const RunBreak& broken = snapshot.run->resolved().asked.variant.broken;
  Notice notice;
  if (!broken.any() || view.hides_break) return notice;
  notice.title = "Broken: " + break_words(broken);
  notice.lines = 2;
  const FontRef& font = context.fonts.small;
  const float padding = notice_padding(context);
  const float first_line = 3.0f * padding + context.fonts.ui_bold.measure(notice.title).x +
                           text_button_width(context, "restore");
  const BreakEffect* effect = snapshot.effect.get();
  const std::string why = effect != nullptr ? why_nothing(*effect) : "";
  if (effect == nullptr || !why.empty() || view.hides_effect) {
    const std::string text = view.hides_effect   ? "Its effect is shown after the answer."
                             : effect == nullptr ? "This problem is too large to show values."
                                                 : why;
    notice.in_one_line = first_line + padding + font.measure(text).x <= width;
    notice.sentence = draw::wrapped(font, text, width - 2.0f * padding);
    notice.lines = notice.in_one_line ? 1 : 1 + static_cast<int>(notice.sentence.size());
    return notice;
  }
  const auto width_of_buttons = [&](float so_far) {
    for (const PlaceButton& each : notice.buttons) {
      so_far += text_button_width(context, each.label) + padding;
    }
    return so_far;
  };
  for (const bool in_one_line : {true, false}) {
    for (const bool long_labels : {true, false}) {
      notice.buttons = place_buttons(*effect, long_labels);
      notice.lines = in_one_line ? 1 : 2;
      if (width_of_buttons(in_one_line ? first_line : padding) <= width) return notice;
    }
  }
  return notice;
}

Notice notice_of(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                 float width) {
  Notice notice = effect_notice(snapshot, view, context, width);
  const std::string deadlock = deadlock_words(snapshot, view);
  if (notice.lines == 0 || deadlock.empty()) return notice;
  notice.deadlock =
      draw::wrapped(context.fonts.small, deadlock, width - 2.0f * notice_padding(context));
  return notice;
}

float height_of(const Notice& notice, const PanelContext& context) {
  if (notice.lines == 0) return 0.0f;
  const auto lines = static_cast<float>(notice.lines) + static_cast<float>(notice.deadlock.size());
  return lines * notice_pitch(context) + 2.0f * notice_padding(context);
}

}  // namespace

float break_notice_height(const Snapshot& snapshot, const ViewState& view,
                          const PanelContext& context, float width) {
  return height_of(notice_of(snapshot, view, context, width), context);
}

Rect draw_break_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                       const Rect& rect) {
  const Notice notice = notice_of(snapshot, view, context, rect.width());
  if (notice.lines == 0) return rect;
  const FontRef& font = context.fonts.small;
  const float padding = notice_padding(context);
  const Rect room{{rect.min.x, rect.min.y + height_of(notice, context)}, rect.max};
  const Rect box{rect.min, {rect.max.x, room.min.y - padding}};
  draw::fill(context, box, context.theme.error_surface, context.px(3.0f));

  // The broken operation, and the button that restores the run; each line centred in its pitch
  const FontRef& bold = context.fonts.ui_bold;
  const float middle = box.min.y + (padding + notice_pitch(context)) * 0.5f;
  ImVec2 at{box.min.x + padding, middle - font.size * 0.5f};
  const TextButton restore =
      draw_text_button(context, "broken.restore", "restore", {box.max.x - padding, at.y}, true);
  if (restore.pressed) choose_break(view, context.commands, {});
  draw::fitted_text(context, bold, {at.x, middle - bold.size * 0.5f}, context.theme.text,
                    notice.title, restore.left - at.x - padding);

  // Where the first wrong values are, or why there are none
  float right = (notice.lines > 1 ? box.max.x : restore.left) - padding;
  if (notice.lines > 1) at.y += notice_pitch(context);
  for (const PlaceButton& each : notice.buttons) {
    const TextButton button = draw_text_button(context, each.name, each.label, {right, at.y}, true);
    right = button.left - padding;
    if (button.pressed) context.commands.push(SeekTo{each.step});
  }
  if (notice.in_one_line) at.x += bold.measure(notice.title).x + padding;
  for (const std::string& line : notice.sentence) {
    draw::text(context, font, at, context.theme.text, line);
    at.y += notice_pitch(context);
  }
  if (notice.deadlock.empty()) return room;
  at = {box.min.x + padding,
        middle - font.size * 0.5f + static_cast<float>(notice.lines) * notice_pitch(context)};
  context.named_rects.add("broken.deadlock", {at, {box.max.x - padding, box.max.y}});
  for (const std::string& line : notice.deadlock) {
    draw::text(context, font, at, context.theme.text, line);
    at.y += notice_pitch(context);
  }
  return room;
}

}  // namespace attnscope::app
