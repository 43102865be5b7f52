#include "sim/dram/l2_answers.h"

#include <algorithm>

#include "sim/dram/l2_run.h"
#include "sim/observers/progress_observer.h"
#include "sim/tiling_rules.h"

namespace attnscope {

std::optional<L2Answer> L2Answers::find(std::size_t launch, Index block, Index op) const {
  if (launch >= entries_.size()) return std::nullopt;
  const auto& blocks = entries_[launch];
  if (block < 0 || static_cast<std::size_t>(block) >= blocks.size()) return std::nullopt;
  const std::vector<Entry>& ops = blocks[static_cast<std::size_t>(block)];
  const auto found = std::ranges::lower_bound(ops, op, {}, &Entry::op);
  return found == ops.end() || found->op != op ? std::nullopt : std::optional(found->answer);
}

/// Traverses a head like GroupTransfers, and assigns the answer to each transfer to the operation
/// that makes it.
class HeadAnswers : public Observer {
 public:
  HeadAnswers(const GroupTransfers& moved, const WatchedHead& watched, L2Answers& answers)
      : watched_(watched), transfers_(moved.pieces(), kAll), answers_(answers) {
    const std::size_t launches = watched.answers.size();
    answers_.entries_.resize(launches);
    for (std::size_t launch = 0; launch < launches; ++launch) {
      const bool runs = moved.of(launch, watched.group, watched.head) != nullptr;
      if (runs) launches_.push_back(launch);
    }
  }

  void begin_launch(std::string_view name, const TileGrid& grid) override {
    transfers_.begin_launch(name, grid);
    launch_ = launches_[transfers_.launches().size() - 1];
  }
  void begin_block(const BlockId& block) override {
    transfers_.begin_block(block);
    auto& blocks = answers_.entries_[launch_];
    blocks.resize(std::max(blocks.size(), static_cast<std::size_t>(block.block) + 1));
    block_ = &blocks[static_cast<std::size_t>(block.block)];
    op_ = 0;
  }
  void observe(std::span<const TileOp> ops) override {
    for (std::size_t n = 0; n < ops.size(); ++n, ++op_) {
      const std::size_t first = count();
      transfers_.observe(ops.subspan(n, 1));
      if (!ops[n].moves_bytes()) continue;
      L2Answer sum;
      const WatchedHead::Answers& noted = watched_.answers[launch_];
      for (std::size_t t = first; t < count(); ++t) sum += noted[t];
      block_->push_back({op_, sum});
    }
  }
  void end_block() override { transfers_.end_block(); }
  void end_launch() override { transfers_.end_launch(); }

 private:
  static constexpr std::size_t kAll = ~std::size_t{0};

  std::size_t count() const { return transfers_.transfer_count(); }

  const WatchedHead& watched_;
  BlockTransfers transfers_;
  L2Answers& answers_;
  std::vector<std::size_t> launches_;  ///< the launches of the pass that run for the head
  std::size_t launch_ = 0;
  std::vector<L2Answers::Entry>* block_ = nullptr;
  Index op_ = 0;
};

Result<L2Answers> answers_of_head(const ResolvedRun& run, const GpuDescription& gpu,
                                  const BlockPlacement& placement, Index batch, Index head,
                                  double most_transfers, const std::atomic<bool>* cancel) {
  const AttentionProblem& problem = run.problem;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const PassRun pass_run{problem, run.tiling, options, placement.order};
  const Group group = batch * problem.kv_heads + problem.kv_head_of(head);
  try {
    L2Run followed(pass, pass_run, gpu, placement, most_transfers, cancel);
    WatchedHead watched{followed.followed_group(group), head % problem.heads_per_kv_head()};
    const Index sizes[] = {gpu.l2_bytes};
    followed.follow(sizes, &watched);

    L2Answers answers;
    answers.are_of_another_head_ = watched.group != group;
    HeadAnswers walk(followed.moved(), watched, answers);
    CancelObserver canceller(cancel);
    Observer* const observers[] = {&walk, &canceller};
    run_head(pass, pass_run, batch, head, observers);
    return answers;
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const TooManyTransfers&) {
    return too_many_transfers();
  }
}

}  // namespace attnscope
