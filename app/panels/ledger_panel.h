/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
#pragma once

#include <memory>

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
  struct Table;

  const LedgerBasis& basis_of(const std::shared_ptr<const RunInfo>& run,
                              const Measurements& measurements);
  void draw_headings(const Table& table, const Ledger& ledger, float y) const;
  void draw_seen_headings(const Table& table, const Ledger& ledger, float y) const;
  void draw_tensors(const Table& table, const Ledger& ledger, float& y) const;
  void draw_totals(const Table& table, const Ledger& ledger, float& y) const;
  void draw_row(const Table& table, const Columns& columns, const LedgerRow& row,
                const Ledger& ledger, float y) const;
  void draw_footer(const PanelContext& context, const Ledger& ledger, const Rect& rect) const;

  // The comparison takes a simulation: made anew for another run only
  std::shared_ptr<const RunInfo> run_;
  std::size_t known_runs_ = 0;
  LedgerBasis basis_;
};

/// The ledger as comma-separated values with a heading line.
std::string ledger_csv(const Ledger& ledger);

}  // namespace attnscope::app
