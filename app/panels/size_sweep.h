/// The model over sequence lengths, for the charts: every algorithm on the problem of the screen,
/// or on the recorded problems of 16k tokens in all.
#pragma once

#include <string>
#include <vector>

#include "app/work_control.h"
#include "sim/simulation.h"

namespace attnscope::app {

/// What the sweep depends on.
struct SweepKey {
  /// Its problem has no block mask and no lengths of its own, and N is one of the lengths;
  /// `block_mask` is that of the block-sparse algorithms.
  RunSpec run;
  bool fixed_tokens = false;  ///< kSweepTokens in all: the batch shrinks as N grows

  /// As many queries as keys: both are swept, and algorithms for decoding are left out. Otherwise
  /// the keys alone are swept.
  bool is_prefill() const { return run.problem.N == run.problem.N_kv; }
  bool operator==(const SweepKey&) const = default;
};

/// Tokens of a batch, and the width of all heads together: the protocol of the recordings.
inline constexpr Index kSweepTokens = 16384;
inline constexpr Index kSweepHidden = 2048;

/// The key's problem at this length.
AttentionProblem sweep_problem(const SweepKey& key, Index length);
/// Lengths of the sweep, ascending; the key's own among them.
std::vector<Index> sweep_lengths(const SweepKey& key);

struct SweepPoint {
  Index length = 0;  ///< N, or N_kv where the keys alone are swept
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
  std::vector<SweepPoint> points;  ///< in order of algorithm, then of length
  std::vector<LeftOut> left_out;
};

/// Uses each kernel's own tiling where it has one; the others run in flash2's. Ends early, with
/// what it has, when cancelled.
SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control);

}  // namespace attnscope::app
