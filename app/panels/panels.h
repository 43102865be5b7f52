/// The panels, each in its own file, and the headings, tabs and buttons that they share;
/// make_panels() (app/panel.h) lists the panels.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

/// The contents of SRAM and HBM, and the transfers of the last and the next operation between them.
Panel make_memory_panel();

/// The warps of the thread block: the part of the current operation's tiles in each, and the bytes
/// exchanged through shared memory, split-Q beside sliced-K.
Panel make_warps_panel();

/// The modelled GPU: sliders for its numbers, with the time that the changed ones would take, and
/// how many thread blocks its SMs hold.
Panel make_gpu_panel();

/// The grid of score tiles: the state of each, and their values.
Panel make_scores_panel();

/// The running softmax of the chosen query row: formulas, live numbers, results.
Panel make_online_softmax_panel();

/// Why the softmax is online: the naive one, which overflows, beside the safe and the online one,
/// on the chosen query row, with every operation rounded.
Panel make_why_online_panel();

/// What the last operation did and why: the pseudo-code with its line highlighted, or the CUDA
/// source of its kernel, and one sentence each.
Panel make_explain_panel();

/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
/// make_ledger_basis(), or a test's replacement, runs in the background.
using MakeLedgerBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>,
                                                  const std::atomic<bool>* cancel)>;
Panel make_ledger_panel(MakeLedgerBasis make_basis = make_ledger_basis);

/// What limits a predicted time, in the ledger: the bar of its parts, to scale, with a legend below
/// it, or beside it where the rectangle has no second line of this pitch. Draws nothing without a
/// prediction. Named rectangles: "ledger.time.PART".
void draw_time_bar(const PanelContext& context, const PredictedTime& time, const Rect& rect,
                   float pitch);

/// What each thread block of the shown head does, operation by operation: an order, not time. Or
/// the SM and time of each block, modelled above recorded.
Panel make_timeline_panel();

/// Charts, counted in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
Panel make_charts_panel();

// Headings, and choices at their right end: "pseudo-code | CUDA source".

/// Draws a panel's heading: title and subtitle at the left, a note at the right (each may be
/// empty). Returns the rest of the rectangle below it, without the card's padding.
Rect draw_panel_header(const PanelContext& context, std::string_view title,
                       std::string_view subtitle, std::string_view note);

/// The heading of a panel with choices at its right end, the chosen one highlighted; the subtitle
/// is cut before them. Returns the current choice and the room below. Named rectangles:
/// "PANEL.tab.LABEL".
struct TitleTabs {
  int chosen = 0;
  Rect rest;
};
TitleTabs draw_tabbed_header(const PanelContext& context, std::string_view panel,
                             std::string_view title, std::string_view subtitle,
                             std::initializer_list<std::string_view> labels, int chosen);

/// The heading of a panel that shares its slot: every panel's title, the shown one highlighted, and
/// a note at the right if there is room. Named rectangles and result as above.
TitleTabs draw_title_tabs(const PanelContext& context, std::string_view panel,
                          std::initializer_list<std::string_view> titles, int chosen,
                          std::string_view note);

/// For the slot `memory`: memory, warps and GPU. Returns the room below.
Rect draw_memory_tabs(const PanelContext& context, ViewState& view, std::string_view note);

/// For the slot `online_softmax`: the followed row, under its title, and why the softmax is online.
Rect draw_softmax_tabs(const PanelContext& context, ViewState& view, std::string_view title,
                       std::string_view note);
/// The title of the followed row's panel: "ONLINE SOFTMAX", "RECOMPUTATION", ...
std::string_view softmax_title(const Snapshot& snapshot);

/// A line of text that acts as a button, with its right edge at `right`. Returns its left edge and
/// whether it was pressed.
struct TextButton {
  float left = 0.0f;
  bool pressed = false;
};
TextButton draw_text_button(const PanelContext& context, std::string_view name,
                            std::string_view label, ImVec2 upper_right, bool lit);

/// Tabs side by side, the last one with its right edge at `right`. Returns the index of the one
/// pressed, and where other things at their left may end. Named rectangles: "PANEL.tab.LABEL".
struct TextTabs {
  std::optional<std::size_t> pressed;
  float left = 0.0f;
};
TextTabs draw_text_tabs(const PanelContext& context, std::string_view panel,
                        const std::vector<std::string_view>& labels, std::ptrdiff_t chosen,
                        ImVec2 upper_right);

}  // namespace attnscope::app
