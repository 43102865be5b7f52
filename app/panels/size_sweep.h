/// The model over sequence lengths, for the charts: the three algorithms at 16k tokens.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace attnscope::app {

/// What the sweep depends on.
struct SweepKey {
  Index d = 64;
  DType dtype = DType::bf16;
  Mask mask;
  std::string gpu;
  PassKind pass = PassKind::forward;
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

struct SizeSweep {
  SweepKey key;
  std::vector<SweepPoint> points;  ///< in order of algorithm, then of N
};

/// Uses each kernel's own tiling where it has one. Ends early, with what it has, when `cancelled`.
SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu,
                         const std::atomic<bool>& cancelled);

/// Runs the sweep in the background and keeps the last one until the next is there.
class BackgroundSweep {
 public:
  ~BackgroundSweep();

  /// Starts when the key is another one than last time.
  void want(const SweepKey& key, const GpuDescription& gpu);
  bool busy() const { return running_.valid(); }
  /// The newest finished sweep; nullptr before the first.
  const SizeSweep* latest();

 private:
  std::optional<SweepKey> wanted_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
  std::future<SizeSweep> running_;
  std::optional<SizeSweep> latest_;
};

}  // namespace attnscope::app
