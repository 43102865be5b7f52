/// What L2 holds when the operations of one head ask for their tiles, by the model that predicts
/// the DRAM bytes of the pass.
#pragma once

#include <optional>
#include <vector>

#include "sim/dram/dram_model.h"

namespace attnscope {

/// What L2 answers to one operation that moves a tile between HBM and an SM, in bytes of the pieces
/// that the operation moves: 0 in all where another operation's transfer has them.
struct L2Answer {
  Index hit_bytes = 0;    ///< in the partition of the SM; all that is stored
  Index other_bytes = 0;  ///< only in the other partition
  Index dram_bytes = 0;   ///< in neither: read from DRAM

  Index total() const { return hit_bytes + other_bytes + dram_bytes; }
  L2Answer& operator+=(const L2Answer& other);
  bool operator==(const L2Answer&) const = default;
};

/// The answers to the operations of one head.
class L2Answers {
 public:
  /// Nothing for an operation that moves no bytes. `op` counts all operations of the block.
  std::optional<L2Answer> find(std::size_t launch, Index block, Index op) const;
  /// Whether a head that is followed stands for the one that was asked for.
  bool are_of_another_head() const { return are_of_another_head_; }

 private:
  friend class HeadAnswers;
  friend Result<L2Answers> answers_of_head(const ResolvedRun& run, const GpuDescription& gpu,
                                           const BlockPlacement& placement, Index batch, Index head,
                                           double most_transfers, const std::atomic<bool>* cancel);
  struct Entry {
    Index op = 0;
    L2Answer answer;
  };
  std::vector<std::vector<std::vector<Entry>>> entries_;  ///< by launch and block, ascending
  bool are_of_another_head_ = false;
};

/// Follows the pass as predict_dram() does, and notes what L2 answers to the operations of a head
/// of the run's problem. Errors as of predict_dram().
Result<L2Answers> answers_of_head(const ResolvedRun& run, const GpuDescription& gpu,
                                  const BlockPlacement& placement, Index batch, Index head,
                                  double most_transfers = kMostTransfers,
                                  const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
