/// The panels, each in a file of its own; make_panels() (app/panel.h) lists them.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
/// make_ledger_basis(), or what a test puts in its place, runs in the background.
using MakeLedgerBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>)>;
std::unique_ptr<Panel> make_ledger_panel(MakeLedgerBasis make_basis = make_ledger_basis);

/// Charts, worked out in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
std::unique_ptr<Panel> make_charts_panel();

}  // namespace attnscope::app
