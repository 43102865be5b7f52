/// The panels, each in its own file; make_panels() (app/panel.h) lists them.
#pragma once

#include <functional>
#include <optional>

#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

/// The contents of SRAM and HBM, and the transfers of the last and the next operation between them.
Panel make_memory_panel();

/// The warps of the thread block: the part of the current operation's tiles in each, and the bytes
/// exchanged through shared memory, split-Q beside sliced-K.
Panel make_warps_panel();

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
using MakeLedgerBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>)>;
Panel make_ledger_panel(MakeLedgerBasis make_basis = make_ledger_basis);

/// What each thread block of the shown head does, operation by operation: an order, not time. Or
/// the SM and time of each block, modelled above recorded.
Panel make_timeline_panel();

/// Charts, counted in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
Panel make_charts_panel();

}  // namespace attnscope::app
