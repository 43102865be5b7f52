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

Rect draw_break_notice(const Snapshot& snapshot, const ViewState& view, const PanelContext& context,
                       const Rect& rect) {
  const RunBreak& broken = snapshot.run->resolved().asked.variant.broken;
  if (!broken.any() || view.hides_break) return rect;
  const FontRef& font = context.fonts.small;
  const float pitch = draw::line_height(font) + context.px(4.0f);
  const float padding = context.px(6.0f);
  const BreakEffect* effect = snapshot.effect.get();
  const std::string why = effect != nullptr ? why_nothing(*effect) : "";
  const Rect box{rect.min, {rect.max.x, rect.min.y + 2.0f * pitch + padding}};
  draw::fill(context, box, context.theme.error_surface, context.px(3.0f));

  // What is broken, and the button that restores the run
  ImVec2 at{box.min.x + padding, box.min.y + padding * 0.5f};
  const TextButton restore =
      draw_text_button(context, "broken.restore", "restore", {box.max.x - padding, at.y}, true);
  if (restore.pressed) choose_break(view, context.commands, {});
  draw::fitted_text(context, context.fonts.ui_bold, at, context.theme.text,
                    "Broken: " + break_words(broken), restore.left - at.x - padding);
  at.y += pitch;

  // Where the first wrong values are
  if (effect == nullptr || !why.empty() || view.hides_effect) {
    const std::string text = view.hides_effect   ? "What this changes is shown after the answer."
                             : effect == nullptr ? "This problem is too large to show values."
                                                 : why;
    draw::fitted_text(context, font, at, context.theme.text, text, box.max.x - at.x - padding);
    return {{rect.min.x, box.max.y + padding}, rect.max};
  }
  float right = box.max.x - padding;
  const auto go = [&](const char* name, std::string_view what,
                      const std::optional<OpPlace>& place) {
    if (!place) return;
    const auto wrong = std::ranges::find_if(effect->spread, [&](const TileDeviation& each) {
      return each.step == place->step && each.deviation.is_wrong();
    });
    const Tile& tile = wrong != effect->spread.end() ? wrong->tile : place->op.dest_tiles[0];
    const std::string name_of_tile = fmt::format("{}: {}", what, tile_name(tile));
    const float half = (rect.width() - 3.0f * padding) * 0.5f;
    std::string label = fmt::format("{}, step {}", name_of_tile, place->step);
    if (font.measure(label).x + 2.0f * padding > half) label = name_of_tile;
    const TextButton button = draw_text_button(context, name, label, {right, at.y}, true);
    right = button.left - padding;
    if (button.pressed) context.commands.push(SeekTo{place->step});
  };
  go("broken.store", "in HBM", effect->first_wrong_store);
  go("broken.operation", "first wrong", effect->first_difference);
  return {{rect.min.x, box.max.y + padding}, rect.max};
}

DroppedLine dropped_line(const Snapshot& snapshot, std::size_t launch, std::size_t line) {
  const BreakEffect* effect = snapshot.effect.get();
  if (effect == nullptr || !effect->first_skipped) return {};
  const OpPlace& first = *effect->first_skipped;
  if (first.launch != launch || first.op.line != line) return {};
  const DroppedOp& dropped = snapshot.run->resolved().asked.variant.broken.dropped;
  if (dropped.kind.empty()) return {true, ""};
  return {false, fmt::format("{} {} dropped", dropped.kind, dropped.tensor)};
}

}  // namespace attnscope::app
