/// L2 between HBM and the SMs: its contents when the operation under the playhead requests its
/// tile.
#pragma once

#include <memory>
#include <optional>

#include "app/jobs/background_job.h"
#include "app/panels/memory/bandwidth.h"
#include "app/panels/parts/panel.h"
#include "app/panels/parts/snapshot_view.h"
#include "sim/dram/l2_answers.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// L2's answers to the operations of the displayed head, and the bandwidths on both sides of L2.
struct L2View {
  Result<L2Answers> answers;  ///< unavailable for a problem that is too large to follow
  Bandwidths bandwidths;
};

/// Models L2 for the whole problem; the answers are for the run's head. Call it in the background.
L2View view_l2(const RunInfo& run, const std::atomic<bool>* cancel = nullptr);

/// The answer to the operation at `step`; nothing if it moves no bytes, or does not run.
std::optional<L2Answer> answer_at(const RunInfo& run, const L2Answers& answers, Index step);

/// "load K: hit", "load Q: miss, from HBM".
std::string answer_words(const L2Answer& answer, const TileOp& op, const GpuDescription& gpu);

class L2Box {
 public:
  /// Requests the answers of the run; call it once a frame.
  void update(const std::shared_ptr<const RunInfo>& run);
  bool busy() const { return view_.busy(); }

  /// The box's height in a panel of this height; 0 if there is no room.
  static float height(const PanelContext& context, float panel_height);
  /// Height between the box and HBM, for the bandwidth; 0 if there is no room.
  static float height_below(const PanelContext& context, float panel_height);
  /// The bandwidths on both sides of L2; nullptr until they are available.
  const Bandwidths* bandwidths(const Snapshot& snapshot) const;
  /// Draws the box without its text, which is drawn after the arrows that cross the box.
  void draw_frame(const PanelContext& context, const Rect& rect) const;
  void draw_text(const Snapshot& snapshot, const PanelContext& context, const Rect& rect) const;

 private:
  /// The view of this run; nullptr until it has been computed.
  const L2View* fresh_view(const Snapshot& snapshot) const;

  BackgroundJob<RunOfWork, L2View> view_;
};

}  // namespace attnscope::app
