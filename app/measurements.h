/// What real GPUs did, as the panels need it: runs measured on this machine in this session, and
/// recorded ones that were shipped. Filled by the app from recordings and the kernel library.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/theme.h"
#include "reference/attention_problem.h"

namespace attnscope::app {

/// Which GPU, when, with what: shown on hover of every measured or recorded number.
struct Provenance {
  NumberKind kind = NumberKind::recorded;  ///< measured or recorded
  std::string gpu;                         ///< "NVIDIA H200"
  std::string date;                        ///< ISO 8601
  std::string driver;
  std::string commit;

  /// "recorded on NVIDIA H200, 2026-01-31, driver 580.95, commit 1a2b3c4".
  std::string describe() const;
};

struct TimeStatistics {
  double min_s = 0.0;
  double median_s = 0.0;
  double max_s = 0.0;
  int repeats = 0;
};

/// One run of a kernel: what was asked, and what was seen.
struct MeasuredRun {
  AttentionProblem problem;
  std::string algorithm;
  std::string pass = "forward";
  Tiling tiling;
  Carry carry = Carry::problem;
  Provenance provenance;

  std::optional<TimeStatistics> time;
  /// Hardware counters by name, such as "l1tex__m_xbar2l1tex_read_bytes.sum".
  std::map<std::string, double, std::less<>> counters;
  std::optional<double> max_abs_error;  ///< against the reference in double precision
  /// Why the run, or its counters, could not be had (out of memory, no permission); else empty.
  std::string unavailable;

  std::optional<double> counter(std::string_view name) const;
  /// Bytes at the boundary of the SM, the measured twin of `requested`.
  std::optional<double> requested_read_bytes() const;
  std::optional<double> requested_write_bytes() const;
  std::optional<double> dram_read_bytes() const;
  std::optional<double> dram_write_bytes() const;
};

class Measurements {
 public:
  /// Recorded runs, in the order of the files.
  std::vector<MeasuredRun> recorded;
  /// Runs of this session, newest last.
  std::vector<MeasuredRun> measured;
  /// Name of this machine's GPU, or why there is none.
  std::string live_gpu;
  std::string live_unavailable;

  /// The run to show beside the model: the newest measured one of the same problem, algorithm,
  /// pass and carry, else the recorded one; the same tiling is preferred. nullptr when none.
  const MeasuredRun* find(const AttentionProblem& problem, std::string_view algorithm,
                          std::string_view pass, const Tiling& tiling,
                          Carry carry = Carry::problem) const;
};

}  // namespace attnscope::app
