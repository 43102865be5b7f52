/// The panels, each in a file of its own; make_panels() (app/panel.h) lists them.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

/// What lies in SRAM and in HBM, and what the last and the next operation move between them.
std::unique_ptr<Panel> make_memory_panel();

/// The warps of the thread block: which holds what of the tiles of the operation under the
/// playhead, and what goes through shared memory, split-Q beside sliced-K.
std::unique_ptr<Panel> make_warps_panel();

/// The grid of score tiles: what state each is in, and the values behind them.
std::unique_ptr<Panel> make_scores_panel();

/// The running softmax of the chosen query row: formulas, live numbers, results.
std::unique_ptr<Panel> make_online_softmax_panel();

/// Why the softmax is online: the naive one, which overflows, beside the safe and the online one,
/// on the chosen query row, with every operation rounded.
std::unique_ptr<Panel> make_why_online_panel();

/// What the last operation did and why: the pseudo-code with its line lit, or the CUDA source of
/// its kernel, and one sentence each.
std::unique_ptr<Panel> make_explain_panel();

/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
/// make_ledger_basis(), or what a test puts in its place, runs in the background.
using MakeLedgerBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>)>;
std::unique_ptr<Panel> make_ledger_panel(MakeLedgerBasis make_basis = make_ledger_basis);

/// What each thread block of the shown head does, operation by operation: an order, not time. Or
/// which block ran on which SM when, modelled above recorded.
std::unique_ptr<Panel> make_timeline_panel();

/// Charts, worked out in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
std::unique_ptr<Panel> make_charts_panel();

}  // namespace attnscope::app
