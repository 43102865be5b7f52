/// The text of the ledger's cells, and which columns have room: columns without content are left
/// out first, and no word is cut for a column that could be left out.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "app/panels/ledger/ledger_rows.h"
#include "app/ui/theme.h"

namespace attnscope::app {

/// The columns of numbers, from the left.
enum class LedgerColumn : std::uint8_t { modelled, formula, size, seen, gap };
inline constexpr std::size_t kLedgerColumns = 5;

/// The text of each column of a row; empty if there is none.
struct LedgerCells {
  std::array<std::string, kLedgerColumns> texts;
  bool has_number(LedgerColumn column, const LedgerRow& row) const;
  const std::string& at(LedgerColumn column) const {
    return texts[static_cast<std::size_t>(column)];
  }
};

/// The cells of a row. Bytes are either exact in all cells, "2,097,152 B", or rounded in all of
/// them, "2.10 MB".
LedgerCells cells_of(const LedgerRow& row, bool exact);

/// The row's gap and, if it is known, its cause: "+1.73 %, tile lists"; without room for both, the
/// cause alone, else the gap alone.
std::string gap_that_fits(const LedgerRow& row, const FontRef& font, float width);

/// The headings of the columns, the longest wording first.
using LedgerHeadings = std::array<std::vector<std::string>, kLedgerColumns>;
LedgerHeadings headings_of(const Ledger& ledger, bool so_far);

/// Right edges of the columns.
struct LedgerColumns {
  bool exact = false;  ///< true: bytes are exact, as in cells_of()
  float left = 0.0f, right = 0.0f;
  std::array<std::optional<float>, kLedgerColumns> ends;

  std::optional<float> end(LedgerColumn column) const {
    return ends[static_cast<std::size_t>(column)];
  }
  /// The left edge of the column, which is the end of the previous one.
  float begin(LedgerColumn column) const;
};

/// Places the columns of a table from `left` to `right`; `swatch` is the width of a tensor's mark,
/// `gap` is the smallest distance between two columns.
LedgerColumns lay_out_columns(const Ledger& ledger, const LedgerHeadings& headings,
                              const Fonts& fonts, float left, float right, float swatch, float gap);

/// The columns of one of two tensors side by side: the modelled bytes and, if there is room, those
/// by formula. A GPU does not count bytes by tensor.
LedgerColumns lay_out_half(const Ledger& ledger, const Fonts& fonts, float left, float right,
                           float swatch, float gap, bool exact);

/// The text that replaces a missing GPU number: "unavailable" in the first row of the totals that
/// lacks one; in the others a dash, if the column has numbers.
std::string in_place_of_seen(const Ledger& ledger, const LedgerRow& row);

}  // namespace attnscope::app
