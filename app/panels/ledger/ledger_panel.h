/// The ledger: modelled bytes and times beside measured ones.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "app/panels/ledger/ledger_rows.h"
#include "app/panels/parts/panel.h"

namespace attnscope::app {

/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
/// make_ledger_basis(), or a test's replacement, runs in the background.
using MakeLedgerBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>,
                                                  const std::atomic<bool>* cancel)>;
Panel make_ledger_panel(MakeLedgerBasis make_basis = make_ledger_basis);

/// Draws the parts of a predicted time (time_bar.cpp) as a bar, to scale, with a legend below it,
/// or beside it if the rectangle has no second line of this pitch. Draws nothing without a
/// prediction. Named rectangles: "ledger.time.PART".
void draw_time_bar(const PanelContext& context, const PredictedTime& time, const Rect& rect,
                   float pitch);

/// Draws presenter mode's ledger (byte_counter.cpp): the bytes requested so far, as a number and as
/// a bar, in one line. Named rectangle: "ledger.counter".
void draw_byte_counter(const Snapshot& snapshot, const PanelContext& context);

}  // namespace attnscope::app
