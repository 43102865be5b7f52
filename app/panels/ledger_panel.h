/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
#pragma once

#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

class LedgerPanel final : public Panel {
 public:
  std::string_view name() const override { return "ledger"; }
  Slot slot() const override { return Slot::ledger; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;

 private:
  struct Columns;

  void draw_row(const PanelContext& context, const Columns& columns, const LedgerRow& row,
                const Ledger& ledger, float y, float pitch, bool so_far) const;
  void draw_footer(const PanelContext& context, const Ledger& ledger, const Rect& rect) const;
};

/// The ledger as comma-separated values with a heading line.
std::string ledger_csv(const Ledger& ledger);

}  // namespace attnscope::app
