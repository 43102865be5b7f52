/// Measurements of real GPUs for the panels: runs measured on this machine in this session, and
/// shipped recordings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/report/compare.h"
#include "app/report/peer_times.h"
#include "app/ui/theme.h"

namespace attnscope {
struct RunInfo;
}

namespace attnscope::app {

/// GPU, date and software of a run: the tooltip of every measured or recorded number.
struct RunProvenance {
  NumberKind kind = NumberKind::recorded;  ///< measured or recorded
  MeasuredOn on;                           ///< GPU and cache state
  std::string date;                        ///< ISO 8601
  std::string commit;

  const std::string& gpu() const { return on.device.name; }  ///< "NVIDIA H200"

  /// "recorded on NVIDIA H200, 2026-01-31, driver 580.95, commit 1a2b3c4d, cold L2".
  std::string describe() const;
};

/// One run of a kernel: the request, the measurement or why there is none, and the provenance.
struct MeasuredRun {
  RecordingRow row;
  RunProvenance provenance;

  /// Median seconds of one pass.
  std::optional<double> time_s() const;
  /// A counter of kernels/recording/measurement.h, such as counter::kRequestedReadBytes.
  std::optional<double> counter(std::string_view name) const;
  /// Why the run, or that counter, is unavailable (out of memory, no permission); else empty.
  std::string why_unavailable(std::string_view counter_name = {}) const;
};

/// The run as a recording; a measurement that could not be read again is left out.
Recording recording_of(const MeasuredRun& run);

/// The runs of a recording, each with the recording's provenance.
std::vector<MeasuredRun> runs_of(const Recording& recording, NumberKind kind);

class Measurements {
 public:
  /// Recorded runs, in the order of the files.
  std::vector<MeasuredRun> recorded;
  /// Runs whose kernel recorded its thread blocks, which the timeline shows by SM. They have a
  /// time, but no counters.
  std::vector<MeasuredRun> traced;
  /// Recorded times of other libraries.
  std::vector<PeerTime> peers;
  /// Runs of this session, newest last.
  std::vector<MeasuredRun> measured;
  /// Name of this machine's GPU; if there is none, it is empty, and live_unavailable says why.
  std::string live_gpu;
  std::string live_unavailable;
  bool running = false;  ///< a run of this session is in progress
  /// The number of that run's kernels, and how many are compiled; equal when measuring has begun.
  int kernels = 0, compiled = 0;
  int waiting = 0;  ///< runs that wait for that run

  /// The run to show with the model: of the same problem, algorithm, pass and switches, on any GPU
  /// and with any tiling and cache state; difference() decides whether it may be compared. Prefers,
  /// in this order: the newest that the user measured, the same GPU and cache state, a run with a
  /// measurement, the same tiling. nullptr if there is none.
  const MeasuredRun* find(const SimulationReport& model, const GpuDescription& gpu) const;
  /// The run to compare with the model: among those without a difference(), the newest measured
  /// one, else the last recorded one; a failed run only if there is no other. nullptr if none.
  const MeasuredRun* find_comparable(const SimulationReport& model,
                                     const GpuDescription& gpu) const;
  /// A measured run of the same problem, pass, GPU and cache state, but with other tiles or another
  /// program of the kernel (preferably the same tiles), to be shown separately with its
  /// difference(). nullptr if there is none.
  const MeasuredRun* find_similar(const SimulationReport& model, const GpuDescription& gpu) const;
  /// The traced run of exactly this GPU, problem and tiling; nullptr when there is none.
  const MeasuredRun* find_traced(const SimulationReport& model, const GpuDescription& gpu) const;

 private:
  /// The last run with the largest `suitability(run)`; nullptr when it is 0 for all.
  template <typename Suitability>
  const MeasuredRun* best(const Suitability& suitability) const;
};

/// The measurements of a run that the model steps through; nullptr for a missing one.
struct SeenRuns {
  const MeasuredRun* run = nullptr;     ///< Measurements::find()
  const MeasuredRun* traced = nullptr;  ///< Measurements::find_traced()
  std::string no_kernel = {};           ///< why_no_kernel(); if not empty, there can be no run
};

SeenRuns seen_runs(const RunInfo& run, const Measurements& measurements);

/// The contents of assets/recordings.
struct ShippedRuns {
  std::vector<MeasuredRun> recorded, traced;
  std::vector<PeerTime> peers;
  std::vector<std::string> problems;  ///< a line for each file that cannot be read
};
/// Reads the files at the first call: they do not change while the program runs, and all apps of a
/// test program share them.
const ShippedRuns& shipped_runs();

/// Every recording in assets/recordings; files that cannot be read are left out and named in
/// `problems`.
std::vector<MeasuredRun> load_shipped_recordings(std::vector<std::string>& problems);

/// The runs of every trace in assets/recordings/traces; `problems` as above.
std::vector<MeasuredRun> load_shipped_traces(std::vector<std::string>& problems);

}  // namespace attnscope::app
