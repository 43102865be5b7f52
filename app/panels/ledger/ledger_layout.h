/// How the lines of the ledger share its height: requested bytes and the predicted time are always
/// shown; other totals give way to tensors.
#pragma once

#include <optional>

#include "app/panels/ledger/ledger_rows.h"

namespace attnscope::app {

/// The height that the ledger needs, in lines.
struct LedgerLines {
  std::size_t tensors = 0;        ///< rows of tensors
  std::size_t totals = 0;         ///< rows of totals, at the screen's tiles and at the kernel's
  bool has_kernel_title = false;  ///< whether a title is above the totals at the kernel's tiles
  std::size_t time_bar = 0;       ///< lines of the time bar and its legend, below the totals
};

struct LedgerLayout {
  float pitch = 0.0f;            ///< pixels from line to line
  bool two_columns = false;      ///< true: two tensors per line
  std::size_t tensor_lines = 0;  ///< lines that the tensors take
  std::size_t shown = 0;         ///< tensor rows drawn
  std::size_t hidden = 0;        ///< tensor rows counted by the last line, "and n more"
  std::size_t time_bar = 0;      ///< lines of the time bar; 1: its legend is beside it
};

/// Chooses one column of tensors, else two, else two with "and n more" at the end; the time bar
/// loses its legend's line before tensors are hidden, and disappears before totals touch. `room` is
/// the height in pixels for headings, tensors, totals and the footer; `size` is the font's.
LedgerLayout lay_out_ledger(const LedgerLines& lines, float room, float size);

/// The lines of a ledger: its rows, a title, the time bar.
LedgerLines lines_of(const Ledger& ledger);
/// The ledger with optional rows left out, until all tensors are shown and no lines touch in this
/// room; nothing if all rows fit.
std::optional<Ledger> briefer_ledger(const Ledger& ledger, float room, float size);
/// The indices of `count` rows of tensors, in order: the rows of the operation at the playhead,
/// then those with most bytes.
std::vector<std::size_t> shown_tensors(const Ledger& ledger, std::size_t count);

}  // namespace attnscope::app
