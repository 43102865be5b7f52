/// Bytes by tensor and direction: modelled, by closed form, recorded or measured, and the gap.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/background_job.h"
#include "app/panel.h"
#include "app/panels/ledger_rows.h"

namespace attnscope::app {

class LedgerPanel final : public Panel {
 public:
  /// make_ledger_basis(), or what a test puts in its place; runs in the background.
  using MakeBasis = std::function<LedgerBasis(const RunInfo&, std::optional<MeasuredRun>)>;
  explicit LedgerPanel(MakeBasis make_basis = make_ledger_basis)
      : make_basis_(std::move(make_basis)) {}

  std::string_view name() const override { return "ledger"; }
  Slot slot() const override { return Slot::ledger; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
  bool busy() const override { return basis_.busy(); }

 private:
  struct Columns;
  struct Table;

  /// What the basis is of: another run, or another measurement, needs another one.
  struct BasisKey {
    std::shared_ptr<const RunInfo> run;
    std::size_t known_runs = 0;
    bool operator==(const BasisKey&) const = default;
  };

  /// Brings ledger_ up to the snapshot where its basis is there.
  void refresh(const Snapshot& snapshot, LedgerScope scope, const Measurements& measurements);
  void draw_headings(const Table& table, const Ledger& ledger, float y) const;
  void draw_seen_headings(const Table& table, const Ledger& ledger, float y) const;
  void draw_tensors(const Table& table, const Ledger& ledger, float& y) const;
  void draw_hidden(const Table& table, const Columns& columns, const Ledger& ledger, float y) const;
  void draw_totals(const Table& table, const Ledger& ledger, float& y) const;
  void draw_row(const Table& table, const Columns& columns, const LedgerRow& row,
                const Ledger& ledger, float y) const;
  void draw_footer(const PanelContext& context, const Ledger& ledger, const Rect& rect) const;

  MakeBasis make_basis_;
  BackgroundJob<BasisKey, LedgerBasis> basis_;
  std::optional<Ledger> ledger_;  ///< of the newest run whose basis is there
  bool so_far_ = true;            ///< its scope
};

/// The ledger as comma-separated values with a heading line.
std::string ledger_csv(const Ledger& ledger);

}  // namespace attnscope::app
