/// The two timelines: by SM, and by operation.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/zoom.h"
#include "app/jobs/background_job.h"
#include "app/panels/parts/panel.h"
#include "app/panels/parts/snapshot_view.h"
#include "kernels/measure/trace/kernel_trace.h"
#include "sim/device/gpu_description.h"
#include "sim/ops/observer.h"
#include "sim/ops/tile_op.h"
#include "sim/simulation.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

// By SM (sm_timeline.cpp; its runs: sm_run.cpp; its text: sm_words.cpp): when each thread block ran
// on which SM, as predicted and, below on the same time axis, as recorded inside the kernel on a
// real GPU. If the GPU is not calibrated, a lower bound replaces the prediction. A trace of another
// run is shown only on request, with a full description of the run.

/// One step of a thread block.
struct SmStep {
  std::string what;  ///< "load K_j", "S = Q_i K_j^T"
  Tensor tensor = Tensor::Q;
  bool waiting = false;
  std::int32_t i = 0;
  std::int32_t j = 0;
  Index begin_ps = 0;
  Index end_ps = 0;
};

struct SmBlock {
  Index sm = 0;
  Index slot = 0;  ///< index among the SM's resident blocks
  Index batch = 0;
  Index head = 0;
  Index block = 0;  ///< within the head
  Index begin_ps = 0;
  Index end_ps = 0;
  std::vector<SmStep> steps;  ///< none in a prediction
  // In a prediction: the block waits before its first step and after its last one
  Index first_step_ps = 0;
  Index last_step_end_ps = 0;

  bool is(const BlockId& id) const {
    return batch == id.batch && head == id.head && block == id.block;
  }
};

struct SmRun {
  std::vector<SmBlock> blocks;  ///< sorted by SM, then by start time
  Index end_ps = 0;
  Index slots = 1;                     ///< largest number of blocks resident on one SM
  std::vector<std::uint32_t> by_id{};  ///< indices of the blocks, by batch, head and block

  /// Sorts the blocks. Call it after all have been added.
  void sort();
  std::span<const SmBlock> of_sm(Index sm) const;
  /// SMs with a block at any time.
  Index busy_sms() const;
  /// The block with these indices; nullptr if there is none.
  const SmBlock* find(const BlockId& id) const;
};

/// The origin of the upper run of a pair.
enum class UpperRun : std::uint8_t {
  calibrated,   ///< predicted from measured steps
  estimated,    ///< predicted from the rates of the units
  lower_bound,  ///< computed from the datasheet's rates
};

/// One launch of one problem, predicted and, if there is a trace, recorded.
struct SmRunPair {
  std::optional<KernelTrace> trace;  ///< without the steps, which are in `recorded`
  std::string name;                  ///< the name of the trace's file
  std::string launch;
  UpperRun kind = UpperRun::lower_bound;
  SmRun upper;
  SmRun recorded;         ///< empty without a trace
  std::string gpu;        ///< the modelled GPU: the trace's own
  Index sm_count = 0;     ///< all SMs of the GPU, including idle ones
  bool same_run = false;  ///< whether it is the run on the screen, on the same GPU
};

/// The key of the search for a recorded run.
struct SmRunKey {
  std::shared_ptr<const RunInfo> run;  ///< the one on the screen
  PassKind pass = PassKind::forward;   ///< which pass of that run to look for
  bool other = false;  ///< true: without a trace of this run, find one of another run
};

/// The result: the trace of the run on the screen, or, on request, of another run. Without a trace
/// of this run: its prediction alone (if any), the reason, and which other trace exists.
struct FoundSmRun {
  std::optional<SmRunPair> pair;
  std::string why_none;             ///< "No trace of this problem was recorded."
  std::vector<std::string> offers;  ///< the other trace: "N = 1,024, d = 64, ...", longest first
};

SmRun recorded_run(const KernelTrace& trace);

/// The predicted timeline of a launch of a run with a DRAM prediction. If `launch` is empty, it is
/// set to the first launch whose blocks take steps. unavailable if there is no prediction.
Result<SmRun> predicted_run(const SimulationReport& report, const GpuDescription& gpu,
                            std::string& launch, const std::atomic<bool>* cancel = nullptr);

/// The traced launch of the trace's problem at the datasheet's peak rates. The algorithm and the
/// GPU must exist.
Result<SmRun> lower_bound_run(const KernelTrace& trace, const GpuDescription& gpu);

/// The trace, and above it the model of the same run on the same GPU: predicted if such runs are
/// modelled. unavailable without a description of the trace's GPU.
Result<SmRunPair> lay_out(const KernelTrace& trace, const std::string& name,
                          const std::atomic<bool>* cancel = nullptr);
/// A trace's run for the button that offers it, the longest wording first.
std::vector<std::string> offers(const KernelTrace& trace);

/// Looks in assets/recordings/traces for the run, else for another run of the same algorithm and
/// pass. unavailable without a trace or prediction, or without a description of the trace's GPU.
Result<FoundSmRun> find_sm_run(const SmRunKey& key, const std::atomic<bool>* cancel = nullptr);

/// The recorded m, l and alpha of a row of the displayed head; nullptr if there is none.
const TracedRow* find_row(const KernelTrace& trace, Index batch, Index head, Index row);

class SmTimeline {
 public:
  /// Draws into the room below the panel's header.
  void draw(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);
  bool busy() const { return runs_.busy(); }

 private:
  /// Says why there is no trace of this run, and draws a button that shows another one.
  void draw_offer(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                  const FoundSmRun& found);
  /// Draws the full description of another run's trace, and a button that hides it; returns its
  /// height.
  float draw_other_label(const PanelContext& context, const Rect& rect, const SmRunPair& pair);
  float draw_other_offer(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                         const FoundSmRun& found);
  void draw_pair(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                 const SmRunPair& pair);

  struct SearchKey {
    RunOfWork run;
    PassKind pass = PassKind::forward;
    bool other = false;
    bool operator==(const SearchKey&) const = default;
  };

  BackgroundJob<SearchKey, FoundSmRun> runs_;
  draw::ZoomedAxis time_;          ///< the visible part
  std::optional<BlockId> picked_;  ///< the block that was clicked
  RunOfWork asked_for_;            ///< the run for which another run's trace was requested
  bool shows_all_ = true;          ///< true: a thin lane for every SM, if there is room
};

std::string sm_time_text(Index ps);
/// "predicted" or "lower bound".
std::string_view upper_word(UpperRun kind);
/// "32 of 132 SMs busy"; "SMs busy: 120 predicted, 132 recorded, of 132" where the runs differ.
std::string busy_sms_text(const SmRunPair& pair);
/// The line above the lanes, the longest wording first; each says how many SMs are busy and names
/// the recording's GPU.
std::vector<std::string> sm_headings(const SmRunPair& pair);
/// The basis of the upper run.
std::string_view about_upper(UpperRun kind);

/// "Not the run on the screen: flash2, N 1024, d 64, B 1, H 24, ..., on NVIDIA H200".
std::string other_label(const SmRunPair& pair);

/// "block 3 of head 0: predicted SM 3, 0.12 us to 4.5 us; recorded SM 5, 0.1 us to 5.1 us".
std::string compare_block(const SmRunPair& pair, const BlockId& id);

/// "row 5 after column tile 2: m 1.160 modelled, 1.160 recorded; ..." of the row that the snapshot
/// follows; empty if either is missing.
std::string compare_row(const Snapshot& snapshot, const SmRunPair& pair);

// By operation (timeline_lanes.cpp, drawn by timeline_panel.cpp): some thread blocks of a launch,
// side by side, regenerated from the schedule.

/// One row of the timeline: a thread block, one of its agents, or, for a launch of one block, an
/// iteration of its outer loop.
struct Lane {
  Index begin = 0, end = 0;  ///< steps of the run
  std::string label;         ///< "i = 2", "i = 1, j = 0", "j = 0", "i = 2, consumer 0"
  Agent agent = Agent::block;
  std::vector<TileOp> ops;  ///< all operations from begin to end, of all agents; empty if too many

  bool shows(const TileOp& op) const { return op.agent == agent; }
};

class TimelineLanes {
 public:
  /// Brings the lanes around the playhead up to date, at most `count` of them. Cheap while the
  /// playhead stays within them.
  void update(const Snapshot& snapshot, std::size_t count);
  /// Shows later lanes, or earlier ones, until the playhead reaches a different lane.
  void scroll(std::ptrdiff_t lanes);

  const std::vector<Lane>& lanes() const { return lanes_; }
  /// The first lane shown, and the number of all lanes of the launch.
  std::size_t first() const { return first_; }
  std::size_t total() const { return total_; }
  /// Operations of the launch's longest lane.
  Index longest() const { return longest_; }

 private:
  void show_from(const RunInfo& run, std::size_t first);
  void collect(const RunInfo& run, std::size_t launch);

  RunOfWork run_;
  std::size_t launch_ = 0;
  std::size_t begin_ = 0;         ///< the launch's first span of the outer loop
  std::size_t lanes_a_span_ = 1;  ///< as many as the launch's program has agents
  std::size_t first_ = 0;
  std::size_t total_ = 0;
  std::size_t count_ = 0;
  Index longest_ = 1;
  std::optional<std::size_t> scrolled_at_;  ///< the lane under the playhead at the last scroll
  std::size_t current_ = 0;                 ///< the lane under the playhead
  std::vector<Lane> lanes_;
};

}  // namespace attnscope::app
