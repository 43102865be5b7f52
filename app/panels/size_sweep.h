/// The model over sequence lengths, for the charts: every algorithm at 16k tokens.
#pragma once

#include <string>
#include <vector>

#include "app/work_control.h"
#include "reference/block_pattern.h"
#include "sim/simulation.h"

namespace attnscope::app {

/// What the sweep depends on.
struct SweepKey {
  Index d = 64;
  DType dtype = DType::bf16;
  Mask mask;
  std::string gpu;
  PassKind pass = PassKind::forward;
  BlockPattern block_mask;  ///< of the block-sparse algorithms
  bool operator==(const SweepKey&) const = default;
};

/// Tokens of a batch, and the width of all heads together: the protocol of the recordings.
inline constexpr Index kSweepTokens = 16384;
inline constexpr Index kSweepHidden = 2048;

/// The problem of the protocol at this length.
AttentionProblem sweep_problem(const SweepKey& key, Index N);
/// Lengths of the sweep, ascending.
std::vector<Index> sweep_lengths();

struct SweepPoint {
  Index N = 0;
  std::string algorithm;
  SimulationReport report;
};

/// An algorithm that cannot be charted here.
struct LeftOut {
  std::string algorithm;
  std::string reason;
};

struct SizeSweep {
  SweepKey key;
  std::vector<SweepPoint> points;  ///< in order of algorithm, then of N
  std::vector<LeftOut> left_out;
};

/// Uses each kernel's own tiling where it has one; the others run in flash2's. Ends early, with
/// what it has, when cancelled.
SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control);

}  // namespace attnscope::app
