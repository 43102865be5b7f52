#include "app/screen/lesson_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/platform/keys.h"
#include "reference/run_fields.h"
#include "sim/schedule/breaks.h"

namespace attnscope::app {

using lessons::Question;

namespace {

/// The slot of each panel, by the name that lessons use.
const std::map<std::string, Slot, std::less<>>& slots_by_name() {
  static const std::map<std::string, Slot, std::less<>> slots = {
      {"memory", Slot::memory},   {"warps", Slot::memory},
      {"scores", Slot::scores},   {"online_softmax", Slot::online_softmax},
      {"explain", Slot::explain}, {"why_online", Slot::online_softmax},
      {"ledger", Slot::ledger},   {"timeline", Slot::timeline},
      {"charts", Slot::charts},
  };
  return slots;
}

/// Whether the path is the bytes of one tensor that are written to HBM.
bool is_write_of_tensor(const lessons::Path& path) {
  return path.parts.back().key == "write_bytes" &&
         std::ranges::any_of(path.parts, [](const auto& part) { return part.key == "by_tensor"; });
}

/// Whether the question asks for something that the memory panel or the warps panel shows: their
/// own numbers or, as a choice, whether a tensor is stored.
bool asks_for_memory(const Question& question) {
  const auto any_path = [](const lessons::Expression& expression, const auto& holds) {
    return std::ranges::any_of(expression.paths(), holds);
  };
  const auto is_of_memory = [](const lessons::Path& path) {
    const std::string key = path.parts.empty() ? "" : path.parts.front().key;
    return key == "memory" || key == "warps";
  };
  if (const auto* number = std::get_if<lessons::NumberQuestion>(&question.kind)) {
    return any_path(number->answer, is_of_memory);
  }
  if (const auto* curve = std::get_if<lessons::CurveQuestion>(&question.kind)) {
    return any_path(curve->answer, is_of_memory);
  }
  const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind);
  return choice != nullptr && std::ranges::any_of(choice->options, [&](const auto& option) {
           return any_path(option.when, [&](const lessons::Path& path) {
             return is_of_memory(path) || (!path.parts.empty() && is_write_of_tensor(path));
           });
         });
}

/// Places cards of equal size, side by side or one below another.
void place_equally(Layout& layout, const std::vector<Slot>& slots, Rect rest, float gap,
                   bool beside) {
  for (std::size_t n = slots.size(); n > 0; --n) {
    const float share = 1.0f / static_cast<float>(n);
    const auto [first, others] = n == 1   ? std::pair{rest, rest}
                                 : beside ? split_columns(rest, share, gap)
                                          : split_rows(rest, share, gap);
    layout.panels[slots[slots.size() - n]] = first;
    layout.cards.push_back(first);
    rest = others;
  }
}

/// Places the scores above the online softmax, in one card as on the whole screen.
void place_scores(Layout& layout, const std::vector<Slot>& slots, const Rect& rect) {
  layout.cards.push_back(rect);
  layout.panels[slots.front()] = rect;
  if (slots.size() == 1) return;
  const auto [top, bottom] = split_rows(rect, 0.62f, 0.0f);
  layout.panels[slots.front()] = top;
  layout.panels[slots.back()] = bottom;
}

}  // namespace

std::set<Slot> slots_of(const lessons::Show& show) {
  std::set<Slot> slots;
  for (const std::string& name : show.panels) slots.insert(slots_by_name().at(name));
  if (!slots.empty()) return slots;
  return {Slot::memory, Slot::scores, Slot::online_softmax, Slot::explain};
}

std::set<Slot> telling_slots(const lessons::Step& step) {
  std::set<Slot> telling;
  if (!step.ask) return telling;
  for (const Slot slot : slots_of(step.show)) {
    const bool has_no_numbers = slot == Slot::scores || slot == Slot::explain;
    if (has_no_numbers || (slot == Slot::memory && !asks_for_memory(*step.ask))) continue;
    telling.insert(slot);
  }
  return telling;
}

namespace {

/// Places the panels of one run in the rectangle.
void place_slots(Layout& layout, const std::set<Slot>& slots, const Rect& rest, float gap) {
  const auto among = [&](std::initializer_list<Slot> all) {
    std::vector<Slot> present;
    std::ranges::copy_if(all, std::back_inserter(present),
                         [&](Slot slot) { return slots.contains(slot); });
    return present;
  };

  // Wide panels below the others
  const std::vector<Slot> wide = among({Slot::timeline, Slot::charts});
  const std::vector<Slot> tall = among({Slot::memory, Slot::explain, Slot::ledger});
  const std::vector<Slot> scores = among({Slot::scores, Slot::online_softmax});
  Rect above = rest;
  Rect below = rest;
  const bool has_above = !tall.empty() || !scores.empty();
  if (has_above && !wide.empty()) std::tie(above, below) = split_rows(rest, 0.6f, gap);
  place_equally(layout, wide, below, gap, false);

  // The others in columns
  Rect left = above;
  Rect right = above;
  if (!tall.empty() && !scores.empty()) std::tie(left, right) = split_columns(above, 0.5f, gap);
  const bool beside = scores.empty() && tall.size() == 2;
  place_equally(layout, tall, left, gap, beside);
  if (!scores.empty()) place_scores(layout, scores, right);
}

}  // namespace

LessonLayout layout_lesson(const Layout& screen, const Scales& scales, const std::set<Slot>& slots,
                           bool presenter, bool has_two_runs) {
  const float gap = std::round(10.0f * scales.layout);
  const float large = has_two_runs ? 0.36f : 0.42f;
  const float share = presenter ? large : 0.32f;
  const auto [card, rest] = split_columns(screen.body, share, gap);
  LessonLayout placed{card, screen};
  placed.layout.panels.clear();
  placed.layout.cards = {card};
  if (!has_two_runs) {
    place_slots(placed.layout, slots, rest, gap);
    return placed;
  }
  const float head = std::round(15.0f * scales.font + 20.0f * scales.layout);
  const auto [first, second] = split_columns(rest, 0.5f, gap);
  for (const Rect& side : {first, second}) {
    const Rect heading{side.min, {side.max.x, side.min.y + head}};
    Layout below;
    place_equally(below, {slots.begin(), slots.end()},
                  {{side.min.x, heading.max.y + gap}, side.max}, gap, false);
    placed.sides.push_back({heading, below.panels});
    placed.layout.cards.push_back(heading);
    std::ranges::copy(below.cards, std::back_inserter(placed.layout.cards));
  }
  return placed;
}

namespace {

/// The first field in which two runs of the same algorithm differ: "N 4096"; empty if there is
/// none.
std::string first_difference(const RunInfo& run, const RunInfo& other) {
  const RunSpec& own = run.resolved().asked;
  const RunSpec& theirs = other.resolved().asked;
  if (own.algorithm != theirs.algorithm) return "";
  for (const RunField& field : run_fields()) {
    if (field.key == "break" || field.label.empty()) continue;
    const std::string value = field.print(own);
    if (value != field.print(theirs)) return fmt::format("{} {}", field.label, value);
  }
  return "";
}

}  // namespace

void draw_lesson_head(const Frame& frame, const Rect& rect, const RunInfo& run,
                      const RunInfo& other) {
  const RunBreak& broken = run.resolved().asked.variant.broken;
  const bool is_right = !broken.any() && other.resolved().asked.variant.broken.any();
  const std::string differs = first_difference(run, other);
  const std::string title =
      std::string(run.algorithm->title) + (differs.empty() ? "" : ", " + differs);
  const std::string what = broken.any() ? "broken: " + break_words(broken) : "correct";
  const bool is_alone = !broken.any() && !is_right;
  const std::string wordings[] = {is_alone ? title : title + ", " + what, is_alone ? title : what};
  const FontRef& font = frame.fonts.ui_bold;
  const float padding = frame.px(14.0f);
  const ImU32 color = broken.any() ? frame.theme.error
                      : is_right   ? frame.theme.good
                                   : frame.theme.text;
  font.draw(ImGui::GetWindowDrawList(),
            {rect.min.x + padding, std::round(rect.center().y - font.size * 0.5f)}, color,
            draw::widest_that_fits(font, wordings, rect.width() - 2.0f * padding));
}

void draw_lesson_cover(const Frame& frame, const Panel& panel, const Rect& rect,
                       std::string_view text) {
  const Theme& theme = frame.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const draw::Canvas canvas{list, theme, frame.fonts, frame.scales.layout};
  const Rect inner = rect.shrunk(frame.px(14.0f), frame.px(10.0f));
  frame.fonts.title.draw(list, inner.min, theme.text_dim,
                         draw::fitted(frame.fonts.title, panel.title, inner.width()));
  Rect cover = inner;
  cover.min.y += frame.fonts.title.size + frame.px(10.0f);
  draw::hatch(canvas, cover, theme.inset_border, frame.px(14.0f));
  const FontRef& font = frame.fonts.ui_bold;
  const ImVec2 half{font.measure(text).x * 0.5f + frame.px(16.0f),
                    font.size * 0.5f + frame.px(9.0f)};
  const ImVec2 at = cover.center();
  draw::fill(canvas, {{at.x - half.x, at.y - half.y}, {at.x + half.x, at.y + half.y}}, theme.field,
             frame.px(6.0f));
  ui::draw_centered(list, font, at, theme.text, text);
  frame.rects.add("lesson.cover." + std::string(panel.name), rect);
}

namespace {

constexpr std::string_view kLedgerRow = "ledger.row.";

/// Whether the widget belongs to the thing that a step highlights: "S", "S written" or "DRAM read".
/// The ledger joins lines, "l, m written".
bool is_highlighted(std::string_view widget, const std::string& what) {
  const std::size_t space = what.find(' ');
  const std::string name = what.substr(0, space);
  const auto tensor = parse_name<Tensor>(name);
  const std::string shown = tensor ? std::string(display_name(*tensor)) : name;
  if (widget.starts_with(kLedgerRow)) {
    const std::string_view line = widget.substr(kLedgerRow.size());
    const std::size_t end = line.rfind(' ');
    if (space != what.npos && line.substr(end) != what.substr(space)) return false;
    return (", " + std::string(line.substr(0, end)) + ",").find(", " + shown + ",") !=
           std::string::npos;
  }
  return space == what.npos &&
         (widget == "memory.tensor." + shown || widget == "memory.ghost." + shown ||
          widget == "memory.slot." + name);
}

/// Whether the widget is a slot of SRAM without contents.
bool is_empty_slot(const NamedRects& rects, std::string_view widget, const Rect& rect) {
  return widget.starts_with("memory.slot.") &&
         std::ranges::any_of(rects.all(), [&](const auto& other) {
           return std::string_view(other.first).starts_with("memory.empty.") &&
                  other.second.contains(rect.center());
         });
}

/// The rectangles that the step highlights, each with the name of its widget. Lines of the ledger
/// that follow one another share a rectangle, under the name of the first.
std::vector<std::pair<std::string, Rect>> highlighted_rects(const Frame& frame,
                                                            const NamedRects& rects) {
  const auto& highlights = frame.app.lesson_player.current().show.highlights;
  std::vector<std::pair<std::string, Rect>> marks;
  std::vector<std::pair<std::string, Rect>> lines;
  for (const auto& [widget, rect] : rects.all()) {
    const bool wanted = std::ranges::any_of(highlights, [&name = widget](const std::string& what) {
      return is_highlighted(name, what);
    });
    if (!wanted || is_empty_slot(rects, widget, rect)) continue;
    // A ledger's line begins and ends with text
    const bool is_line = std::string_view(widget).starts_with(kLedgerRow);
    const Rect around =
        rect.shrunk(frame.px(is_line ? -6.0f : -1.0f), frame.px(is_line ? -2.0f : -1.0f));
    (is_line ? lines : marks).emplace_back(widget, around);
  }
  std::ranges::sort(lines, {}, [](const auto& line) { return line.second.min.y; });
  const std::size_t first_line = marks.size();
  for (const auto& line : lines) {
    const bool follows =
        marks.size() > first_line && line.second.min.y <= marks.back().second.max.y;
    if (follows) {
      marks.back().second.max.y = line.second.max.y;
    } else {
      marks.push_back(line);
    }
  }
  return marks;
}

}  // namespace

void mark_lesson_tensors(const Frame& frame, const NamedRects& rects) {
  constexpr ImGuiPopupFlags kAnyPopup = ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel;
  if (ImGui::IsPopupOpen("", kAnyPopup) || frame.app.view.show_keys) return;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  for (const auto& [widget, around] : highlighted_rects(frame, rects)) {
    list->AddRect(around.min, around.max, frame.theme.highlight, frame.px(3.0f), 0, frame.px(2.0f));
    if (&rects == &frame.rects) frame.rects.add("lesson.mark." + widget, around);
  }
}

std::optional<Thing> lesson_tile(const App& app) {
  const LessonPlayer& player = app.lesson_player;
  const auto snapshot = app.snapshot();
  const auto& ask = player.current().ask;
  if (!ask || !std::holds_alternative<lessons::TileQuestion>(ask->kind)) return std::nullopt;
  if (!snapshot || snapshot->run == nullptr) return std::nullopt;
  std::optional<lessons::TilePlace> tile = player.draft.tile;
  if (player.outcome() != nullptr && player.outcome()->truth) {
    tile = std::get<lessons::TilePlace>(*player.outcome()->truth);
  }
  if (!tile) return std::nullopt;
  const Tiling& tiling = snapshot->run->tiling();
  const AttentionProblem& problem = snapshot->run->problem();
  return ScoreTile{{{tile->i * tiling.Br, std::min((tile->i + 1) * tiling.Br, problem.N)},
                    {tile->j * tiling.Bc, std::min((tile->j + 1) * tiling.Bc, problem.N_kv)}}};
}

void handle_lesson_keys(const Frame& frame) {
  App& app = frame.app;
  LessonPlayer& player = app.lesson_player;
  using Action = LessonPlayer::Action;
  const ImGuiIO& io = ImGui::GetIO();
  constexpr ImGuiPopupFlags kAnyPopup = ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel;
  if (!player.is_open() || ImGui::IsPopupOpen("", kAnyPopup) || io.KeyCtrl || io.KeyAlt) return;
  const bool asks = player.phase() == LessonPlayer::Phase::asking;
  // A presenter's clicker has no other key: its first press reveals the answer, the next one
  // advances
  const bool reveals = app.view.presenter && asks && player.current().ask;
  if (key_pressed(Key::page_down)) player.act(reveals ? Action::show_me : Action::next);
  if (key_pressed(Key::page_up)) player.act(Action::previous);
  const bool types_elsewhere = io.WantTextInput && !player.draft.typing;
  if (types_elsewhere) return;
  if (key_pressed(Key::enter) && !app.view.presenter && !frame.focus.acts()) {
    player.act(asks ? Action::check : Action::next);
  }
  if (player.draft.typing && key_pressed(Key::escape)) player.act(Action::leave);
}

namespace {

constexpr const char* kList = "lesson list";

/// The user's progress as text: "4 of 5 right, at step 3 of 6".
std::string progress_words(const ListedLesson& lesson) {
  if (!lesson.step) return fmt::format("{} questions", lesson.questions);
  return fmt::format("{} of {} right, at step {} of {}", lesson.right, lesson.questions,
                     *lesson.step + 1, lesson.steps);
}

}  // namespace

void LessonList::draw_contents(const Frame& frame) const {
  const FontScope font(frame.fonts.ui);
  App& app = frame.app;
  ImGui::TextUnformatted("LESSONS");
  ImGui::Separator();
  if (app.listed.lessons.empty()) ImGui::TextDisabled("reading…");
  std::size_t number = 0;
  for (const ListedLesson& lesson : app.listed.lessons) {
    const std::string name = "lessons." + lesson.name;
    const std::string text = fmt::format("{:2}.  {}##{}", ++number, lesson.title, name);
    bool chosen = ImGui::Selectable(text.c_str(), false, ImGuiSelectableFlags_DontClosePopups,
                                    {frame.text_px(470.0f), 0.0f});
    chosen = ui::visit_item(frame, name) || chosen;
    ImGui::SameLine(frame.text_px(490.0f));
    const std::string progress = progress_words(lesson);
    ImGui::TextDisabled("%s", progress.c_str());
    if (!chosen) continue;
    app.lesson_player.open(lesson.name);
    ImGui::CloseCurrentPopup();
  }
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("lessons", {at, {at.x + size.x, at.y + size.y}});
}

void LessonList::draw(const Frame& frame) {
  LessonPlayer& player = frame.app.lesson_player;
  const ImGuiIO& io = ImGui::GetIO();
  const bool typing = io.WantTextInput || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  const bool by_key = !typing && !io.KeyCtrl && !io.KeyAlt && key_pressed(Key::l);
  if (std::exchange(player.list_requested, false) || by_key) {
    frame.app.list_lessons();
    ImGui::OpenPopup(kList);
  }
  const ImVec2 display = io.DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.45f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(18.0f), frame.px(16.0f)});
  if (ImGui::BeginPopup(kList, ImGuiWindowFlags_NoNav)) {
    ui::close_popup_on_escape();
    draw_contents(frame);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace attnscope::app
