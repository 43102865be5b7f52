/// The transfers of a pass's thread blocks, head by head. Heads with the same position in their
/// group and the same key length transfer the same pieces of their own tensors, and are recorded
/// once.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "sim/dram/block_transfers.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The way in which a GPU runs the thread blocks of a pass.
struct BlockPlacement {
  std::vector<Index> residency;  ///< blocks of each launch that an SM holds at once
  BlockOrder order;              ///< order in which the blocks of a head start
  /// Number of heads whose blocks start in turn: the first block of each head, then the second of
  /// each, and so on; whole groups of heads that share a KV head.
  Index heads_at_once = 1;
};

/// The limit on a prediction's work: the number of transfers that it follows, about 100 ns each.
inline constexpr double kMostTransfers = 3e8;
inline constexpr double kQuickTransfers = 1e7;  ///< while a user waits: about a second

/// The query heads that share a KV head, in one batch entry, numbered in the order in which a GPU
/// runs them.
using Group = Index;

class GroupTransfers {
 public:
  /// Records the transfers of each head. Throws Cancelled and TooManyTransfers.
  GroupTransfers(const Pass& pass, const PassRun& run, double most_transfers,
                 const std::atomic<bool>* cancel);

  const TensorPieces& pieces() const { return pieces_; }
  Group groups() const { return problem_.batch * problem_.kv_heads; }
  Index heads_of_group() const { return problem_.heads_per_kv_head(); }
  bool groups_are_alike() const { return recorded_.size() == 1; }

  /// The transfers of a head of the group in a launch; null if it does not take part.
  const LaunchTransfers* of(std::size_t launch, Group group, Index head) const;
  bool touches(Tensor tensor) const { return touched_[static_cast<std::size_t>(tensor)]; }

  // Numbers for the first group
  double transfers_of_group() const;  ///< in all launches
  double transfers_of_group(std::size_t launch) const;
  double bytes_of_group() const;                     ///< of the tensors that it touches
  double blocks_of_group(std::size_t launch) const;  ///< thread blocks

  /// The number of tensors of this name in a group: one, or one per head.
  Index tensors_of_group(Tensor tensor) const;

 private:
  void record(const PassRun& run, Index batch, std::size_t most_transfers,
              const std::atomic<bool>* cancel);

  const Pass& pass_;
  const AttentionProblem& problem_;
  const TensorPieces pieces_;
  std::vector<std::vector<BlockTransfers>> recorded_;  ///< by key length, by head of a group
  std::vector<std::size_t> recorded_of_batch_;
  std::array<bool, kTensorCount> touched_{};
};

}  // namespace attnscope
