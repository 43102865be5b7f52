/// Declares and lists the panels, each of which has a folder of its name.
#pragma once

#include "app/panels/ledger/ledger_panel.h"
#include "app/panels/parts/panel.h"

namespace attnscope::app {

/// The contents of SRAM and HBM, and the transfers of the last and the next operation between them.
Panel make_memory_panel();

/// The warps of the thread block: each one's part of the current operation's tiles, and the bytes
/// exchanged through shared memory, with split-Q beside sliced-K.
Panel make_warps_panel();

/// The modelled GPU: sliders for its numbers, the predicted time with the changed numbers, and
/// how many thread blocks its SMs hold.
Panel make_gpu_panel();

/// The grid of score tiles: the state of each, and their values.
Panel make_scores_panel();

/// The running softmax of the chosen query row: formulas, live numbers, results.
Panel make_online_softmax_panel();

/// Why the softmax is online: the naive softmax, which overflows, beside the safe and the online
/// softmax, for the chosen query row, with every operation rounded.
Panel make_why_online_panel();

/// What the last operation did and why: the pseudo-code with its line highlighted, or the CUDA
/// source of its kernel, and one sentence each.
Panel make_explain_panel();

/// The operations of each thread block of the displayed head, in order but not on a time axis; or
/// the SM and the time of each block, predicted above recorded.
Panel make_timeline_panel();

/// Charts, counted in the background: bytes, time, TFLOP/s and memory against N, heads, d, tiles or
/// masks; errors; the IO theorems beside the counts; fusion step by step; memory of whole models.
Panel make_charts_panel();

/// Every panel of the app, in drawing order. The ledger is declared with its parts.
inline Panels make_panels() {
  return {make_memory_panel(),  make_warps_panel(),          make_gpu_panel(),
          make_scores_panel(),  make_online_softmax_panel(), make_why_online_panel(),
          make_explain_panel(), make_ledger_panel(),         make_timeline_panel(),
          make_charts_panel()};
}

}  // namespace attnscope::app
