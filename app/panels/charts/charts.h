/// The charts of the charts panel. Each has a key, on which it depends; a function that counts in
/// the background and ends soon when cancelled; and one that turns the counts into a
/// specification, which draw::draw_chart() draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/draw/chart.h"
#include "app/jobs/background_job.h"
#include "app/jobs/measurements.h"
#include "app/scene/view_state.h"
#include "sim/accuracy.h"
#include "sim/studies/fusion.h"
#include "sim/studies/io_theorems.h"
#include "sim/studies/model_memory.h"

namespace attnscope::app {

/// A chart as the charts panel shows it, with the text around it.
struct ShownChart {
  std::string title;     ///< "BYTES AGAINST N"
  std::string subtitle;  ///< the problem: sizes, type, device
  std::string about;     ///< tooltip of the heading: what the chart assumes
  draw::AnyChart picture;
  bool has_recorded = false;  ///< whether an algorithm has a recorded or measured point
  /// Lines above the plot, each in several wordings, the longest first.
  std::vector<std::vector<std::string>> notes = {};
};

// Parts that charts share (chart_parts.cpp).

/// A colour by the algorithm's place in the catalog, so that each has a different one; faint for a
/// name that is not in the catalog.
ImU32 algorithm_color(const Theme& theme, std::string_view algorithm);

/// Adds the series to the chart, and a sample of it to the legend.
void add_series(draw::Chart& chart, draw::Series series, std::string label);

/// "151 GB (140 GiB) of HBM": products are named in GiB, charts count in GB.
std::string capacity_words(const GpuDescription& gpu);
/// Adds the memory of the device as a line across these values of the x axis.
void add_capacity(draw::Chart& chart, const std::vector<double>& values, const GpuDescription& gpu,
                  const Theme& theme);

/// The label of a tick on the axis: "4k", "25 %", "64 KiB".
std::string axis_tick(ChartAxis axis, double value);

/// "1 kB", "10 GB".
std::string bytes_tick(double value);

/// Names the y axis and fits it to the series: decades, at most `most_ticks` of them with a label.
void fit_y(draw::Chart& chart, std::string name, int most_ticks, draw::TickLabel label);

// Bytes, time, TFLOP/s and memory of every algorithm (size_sweep.cpp counts, size_charts.cpp and
// peer_series.cpp draw): the problem on the screen with one field
// swept, or the recorded problems of 16k tokens in total.

struct SweepKey {
  /// Its problem has no block mask, key lengths or packed sequences; its field `block_mask` is for
  /// the block-sparse algorithms.
  RunSpec run;
  /// Every axis but sram and fusion; over `tokens`, the batch shrinks as N grows.
  ChartAxis over = ChartAxis::seq_len;
  bool predicts = false;  ///< true: also predicts DRAM bytes and times, which takes longer

  /// Whether there are as many queries as keys: N then sweeps both, and algorithms for decoding
  /// are left out. Otherwise N sweeps only the keys.
  bool is_prefill() const { return run.problem.N == run.problem.N_kv; }
  bool operator==(const SweepKey&) const = default;
};

/// Tokens of a batch, and the width of all heads together: the protocol of the recordings.
inline constexpr Index kSweepTokens = 16384;
inline constexpr Index kSweepHidden = 2048;

/// The key for the problem on the screen, from which all fields that are not swept are taken.
SweepKey charted_key(const ResolvedRun& run, ChartAxis over, std::string_view gpu);
/// The key for 16k tokens in total, with the problem's d and precision, or with the nearest
/// recorded ones (bf16, d = 64 or 128) if only those were recorded on a GPU.
SweepKey recorded_key(const ResolvedRun& run, std::string_view gpu,
                      const Measurements& measurements);

/// The key's problem at a value of the axis, without a block mask.
AttentionProblem sweep_problem(const SweepKey& key, double value);
/// Values of the axis, ascending, including the key's own: N (N_kv if only the keys are swept),
/// heads, d, Br = Bc, or the density.
std::vector<double> sweep_values(const SweepKey& key);

struct SweepPoint {
  double value = 0.0;  ///< from sweep_values()
  SimulationReport report;
  const std::string& algorithm() const { return report.run.algorithm(); }
};

/// An algorithm that cannot be charted here.
struct LeftOut {
  std::string algorithm;
  std::string reason;
};

struct SizeSweep {
  SweepKey key;
  std::vector<SweepPoint> points;  ///< in order of algorithm, then of value
  std::vector<LeftOut> left_out;
};

/// Models every point. Each algorithm uses its kernel's default tiling, or flash2's if it has no
/// kernel; over block_size, square tiles. Leaves out the intervals of DRAM bytes. Uses half of the
/// cores. When cancelled, ends early, without points.
SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control);

/// Whether the quantity is drawn by size_chart(): bytes, time, rate, memory.
bool is_swept(ChartQuantity quantity);
/// The value with its unit: "151 GB", "2.1 ms", "633.2 TFLOP/s".
std::string value_text(ChartQuantity quantity, double value);
/// The operations of flash2's matrix products for the problem, per second: every algorithm and
/// library is rated by this count. Uses the run's own products if the sweep has no flash2 (with a
/// block mask).
double tflops(const SizeSweep& sweep, const SimulationReport& model, double time_s);
/// "N = 4096, N_kv = 4096, d = 64, 16 heads in 4 sequences".
std::string setting(const AttentionProblem& problem);

/// Adds other libraries' times, or rates, that were recorded on this GPU for problems of the sweep.
/// They are drawn at every value of block_size and density, which do not affect them.
void add_peers(draw::Chart& chart, const SizeSweep& sweep, ChartQuantity quantity,
               const std::vector<PeerTime>& peers, const GpuDescription& gpu, const Theme& theme);

/// A swept quantity: lines are modelled, points recorded or measured. Every series names its kind.
ShownChart size_chart(const SizeSweep& sweep, ChartQuantity quantity, const GpuDescription& gpu,
                      const Measurements& measurements, const Theme& theme);

// The accuracy of each algorithm (error_chart.cpp): the error against the reference as N grows.

/// Only these fields matter: d, type, mask (causal or none), pass (forward: errors of O; backward:
/// of dQ) and the precision of flash1's O (dQ) in HBM. The study sets the other fields.
using ErrorKey = RunSpec;
ErrorKey error_key(const AttentionProblem& problem, PassKind pass, Carry carry);

/// Calls accuracy_errors() for one head, N = 64 to 512, gaussian inputs and 32 x 32 tiles.
Result<std::vector<AccuracyCase>> count_errors(const ErrorKey& key, const GpuDescription& gpu,
                                               WorkControl& control);

/// The chart with a line for each algorithm, and one for the unfused computation.
ShownChart error_chart(const ErrorKey& key, const std::vector<AccuracyCase>& errors,
                       const Theme& theme);

// The IO theorems beside the counts (theorem_charts.cpp): bytes against N, d, M, block size or
// density.

struct TheoremKey {
  IoAxis axis = IoAxis::seq_len;
  RunSpec run;  ///< pass, GPU, SRAM of a thread block, and fields that are not on the axis
  bool operator==(const TheoremKey&) const = default;
};

/// The key of the screen's problem under the theorems' assumptions: dense, every head with its own
/// keys.
TheoremKey theorem_key(IoAxis axis, PassKind pass, const AttentionProblem& shown,
                       const GpuDescription& gpu);

/// The axis of the study; nothing for an axis without theorems.
std::optional<IoAxis> io_axis_of(ChartAxis axis);

using TheoremPoints = std::vector<IoPoint>;
/// The study's points at its usual values.
Result<TheoremPoints> count_theorems(const TheoremKey& key, const GpuDescription& gpu,
                                     WorkControl& control);

/// Counted points, the closed form, its leading term, drawn for d <= M <= N d, and the order of the
/// lower bound, drawn for d^2 <= M <= N d. Over Bc and the SRAM, also the measurements of
/// flash1's kernel on this GPU, scaled to the displayed number of heads; its bytes depend only on
/// Bc, so a different Br changes nothing.
ShownChart theorem_chart(const TheoremKey& key, const TheoremPoints& points,
                         const GpuDescription& gpu, const Measurements& measurements,
                         const Theme& theme);

// Fusion, step by step, as bars (fusion_chart.cpp): bytes of every launch of every step.

/// Only the problem, the tiling and the GPU matter.
using FusionKey = RunSpec;
/// The keys of Figure 2 (left) of arXiv 2205.14135, and of the problem without its block mask,
/// which the dense algorithms do not accept.
FusionKey figure2_key(std::string gpu);
FusionKey fusion_key(const AttentionProblem& problem, const Tiling& tiling, std::string gpu);

/// Calls fusion_steps(), and reports its progress.
Result<std::vector<FusionStep>> count_fusion(const FusionKey& key, const GpuDescription& gpu,
                                             WorkControl& control);

/// One bar per step, with its launches split into read and written bytes; marked with the printed
/// number if the problem is the figure's. Tensors with one number per row (m, l, LSE, D) are at the
/// end, since the figure leaves them out.
ShownChart fusion_chart(const FusionKey& key, const std::vector<FusionStep>& steps,
                        const Theme& theme);

// Memory of a whole model, usual_model() (model_charts.cpp), against N: where each algorithm runs
// out.

struct ModelKey {
  ModelMode mode = ModelMode::training;
  std::string gpu;
  bool operator==(const ModelKey&) const = default;
};

/// Peak memory of one algorithm at ascending lengths.
struct ModelCurve {
  AttentionChoice choice;
  std::vector<std::pair<Index, double>> peak_bytes;  ///< N, bytes
  Index largest_length = 0;                          ///< the largest N that fits; 0: none
};

Result<std::vector<ModelCurve>> count_models(const ModelKey& key, const GpuDescription& gpu,
                                             WorkControl& control);

ShownChart model_chart(const ModelKey& key, const std::vector<ModelCurve>& curves,
                       const GpuDescription& gpu, const Theme& theme);

}  // namespace attnscope::app
