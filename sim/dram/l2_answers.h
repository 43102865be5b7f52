/// The location of each tile (a partition of L2, or DRAM) when the operations of one head request
/// it, according to the model that predicts the DRAM bytes of the pass.
#pragma once

#include <optional>
#include <vector>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/dram/group_transfers.h"
#include "sim/dram/l2_cache.h"

namespace attnscope {

/// The answers to the operations of one head.
class L2Answers {
 public:
  /// Nothing for an operation that moves no bytes. `op` is the index among all operations of the
  /// block.
  std::optional<L2Answer> find(std::size_t launch, Index block, Index op) const;
  /// Whether the answers are those of another head, which represents the requested one.
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

/// Follows the pass as predict_dram() does, and records L2's answers to the operations of one head
/// of the run's problem. Errors as in predict_dram().
Result<L2Answers> answers_of_head(const ResolvedRun& run, const GpuDescription& gpu,
                                  const BlockPlacement& placement, Index batch, Index head,
                                  double most_transfers = kMostTransfers,
                                  const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
