/// The result of one measurement of a kernel, and its protocol.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// Names of the hardware counters that every measurement requests, as CUPTI and Nsight Compute
/// spell them. A chip may lack some: they are then unavailable, with the reason.
namespace counter {
/// Bytes that the SMs read and wrote beyond their L1: `requested` traffic, measured.
inline constexpr std::string_view kRequestedReadBytes = "l1tex__m_xbar2l1tex_read_bytes.sum";
inline constexpr std::string_view kRequestedWriteBytes = "l1tex__m_l1tex2xbar_write_bytes.sum";
/// 32-byte sectors that the L2 slices served to the SMs. On Hopper, concurrent reads of the same
/// lines are merged before the slice, so the sectors add up to fewer bytes than requested.
inline constexpr std::string_view kL2ReadSectors = "lts__t_sectors_srcunit_tex_op_read.sum";
inline constexpr std::string_view kL2WriteSectors = "lts__t_sectors_srcunit_tex_op_write.sum";
inline constexpr std::string_view kL2ReductionSectors = "lts__t_sectors_srcunit_tex_op_red.sum";
inline constexpr std::string_view kL2HitSectors = "lts__t_sectors_srcunit_tex_lookup_hit.sum";
/// Bytes between L2 and DRAM. Written bytes are counted when a line leaves L2, not when it is
/// stored.
inline constexpr std::string_view kDramReadBytes = "dram__bytes_read.sum";
inline constexpr std::string_view kDramWriteBytes = "dram__bytes_write.sum";
/// Nanoseconds of a launch under the profiler, which adds tens of microseconds: used as weights,
/// not as times. The time is Measurement::time.
inline constexpr std::string_view kTimeNs = "gpu__time_duration.sum";
/// Share of the time during which the tensor cores were busy.
inline constexpr std::string_view kTensorActivePercent =
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
}  // namespace counter

inline constexpr Index kSectorBytes = 32;

/// State of the L2 cache when a pass begins.
enum class CacheState : std::uint8_t {
  cold,  ///< a buffer of twice the L2 was read: no input is in L2 and no line is dirty
  warm,  ///< the pass ran just before
};

constexpr std::array<std::string_view, 2> enum_names(CacheState) {
  return {"cold", "warm"};
}

/// The settings of measurements.
struct Protocol {
  int warm_ups = 3;
  int repeats = 20;
  CacheState cache = CacheState::cold;
  bool counters = true;        ///< read hardware counters in separate runs, after the timing
  int checked_rows = 64;       ///< rows compared with the reference, over all heads; 0 for none
  double time_budget_s = 2.0;  ///< repeats stop early after this time, but not before the third

  bool operator==(const Protocol&) const = default;
};

/// Seconds of one pass, measured with CUDA events around all its launches, and the SM clock during
/// it.
struct TimeStatistics {
  double min_s = 0.0;
  double median_s = 0.0;
  double max_s = 0.0;
  int n = 0;
  /// Median over the timed passes of the mean SM clock from just before to just after the pass,
  /// from clock64 and globaltimer. Nothing if it was not read and in older recordings.
  std::optional<double> sm_clock_hz = {};

  bool operator==(const TimeStatistics&) const = default;
};

using Counters = std::map<std::string, double, std::less<>>;

/// The shape of a kernel's launch, and the resources that it uses according to the driver.
struct LaunchShape {
  /// Longer names (of template instances) are truncated to this length.
  static constexpr std::size_t kMostNameBytes = 1000;

  std::string name;                          ///< as the driver spells it: mangled
  std::array<Index, 3> grid = {1, 1, 1};     ///< thread blocks along x, y and z
  std::array<Index, 3> cluster = {1, 1, 1};  ///< thread blocks of a cluster; 1, 1, 1: no cluster
  Index threads = 1;                         ///< of a thread block
  Index registers = 0;                       ///< per thread
  Index shared_bytes = 0;                    ///< per thread block, static and dynamic
  Index local_bytes = 0;                     ///< per thread: its stack and spills
  /// Thread blocks that fit on one SM at once; clusters may leave room unused.
  Index resident_blocks = 0;

  bool operator==(const LaunchShape&) const = default;
};

/// Counters and kernels of one launch of the pass.
struct LaunchCounters {
  std::string name;     ///< "forward", "scores", "softmax", ...
  bool counted = true;  ///< false: not part of the totals (initialise, lse)
  Counters counters;
  /// In launch order: more than one if, for example, cuBLAS splits a product. Empty in older
  /// recordings, and if Measurement::unavailable_counters has kKernels.
  std::vector<LaunchShape> kernels = {};

  bool operator==(const LaunchCounters&) const = default;
};

/// Errors against the reference in double precision, over the rows checked.
struct Accuracy {
  double max_abs_error = 0.0;
  double rel_fro_error = 0.0;
  double lse_max_abs_error = 0.0;
  /// max_abs_error of an unfused computation in the problem's precision: the yardstick.
  std::optional<double> unfused_max_abs_error;
  Index rows_checked = 0;
  bool within_tolerance = false;

  bool operator==(const Accuracy&) const = default;
};

/// Errors of one gradient against the reference in double precision.
struct GradientError {
  double max_abs_error = 0.0;
  double rel_fro_error = 0.0;
  double unfused_max_abs_error = 0.0;  ///< the yardstick's

  bool operator==(const GradientError&) const = default;
};

/// The same for a backward pass, over the query rows (dQ) and key rows (dK, dV) checked.
struct GradientAccuracy {
  GradientError dQ, dK, dV;
  Index rows_checked = 0;
  Index keys_checked = 0;
  bool within_tolerance = false;

  bool operator==(const GradientAccuracy&) const = default;
};

struct Measurement {
  /// The key of the launches' kernels in unavailable_counters.
  static constexpr const char* kKernels = "kernels";

  TimeStatistics time;
  Counters counters;  ///< over the counted launches: sums, shares weighted by time
  std::vector<LaunchCounters> launches;
  /// From a counter's name, kKernels, or "*" for all, to the reason why it could not be read.
  std::map<std::string, std::string, std::less<>> unavailable_counters;
  std::optional<Accuracy> accuracy;           ///< of a forward pass
  std::optional<GradientAccuracy> gradients;  ///< of a backward pass
  /// Bytes per thread that the pass's kernels spill to local memory; the counters include this
  /// traffic. Nothing if the driver compiled the kernels from PTX.
  std::optional<Index> spilled_bytes = 0;
  std::string instructions = {};  ///< of the matrix products: "mma.sync"; "" in older recordings

  /// The counter's total, or nothing if it was not read.
  std::optional<double> counter(std::string_view name) const;

  bool operator==(const Measurement&) const = default;
};

}  // namespace attnscope
