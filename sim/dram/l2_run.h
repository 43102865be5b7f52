/// The thread blocks of a pass, and the L2 that answers their transfers: the basis of the
/// predictions in sim/dram/dram_model.h and of the answers in l2_answers.h.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/device/gpu_description.h"
#include "sim/dram/group_transfers.h"
#include "sim/dram/l2_cache.h"
#include "sim/dram/slot_queue.h"
#include "sim/observers/traffic_counter.h"

namespace attnscope {

/// The bytes of one launch, or of several.
struct L2Moved {
  Bytes dram;
  Index missed_bytes = 0;  ///< see DramPrediction::missed_bytes

  L2Moved& operator+=(const L2Moved& other);
  L2Moved operator-(const L2Moved& other) const;
};

/// A head whose transfers are watched in the first size of L2, and the answers to them by launch.
struct WatchedHead {
  /// The answers to the transfers of one launch, in the order in which they were recorded.
  class Answers {
   public:
    Answers() = default;
    explicit Answers(const LaunchTransfers& transfers);
    const L2Answer& operator[](std::size_t transfer) const { return answers_[transfer]; }
    /// The answer to the first transfer of a group, followed by those to its others.
    L2Answer* of_group(std::size_t number) { return answers_.data() + first_of_group_[number]; }

   private:
    std::vector<L2Answer> answers_;
    std::vector<std::size_t> first_of_group_;
  };

  Group group = 0;
  Index head = 0;  ///< of the group
  std::vector<Answers> answers = {};
};

/// Follows the blocks of all launches through L2. Throws Cancelled and TooManyTransfers.
class L2Run {
 public:
  L2Run(const Pass& pass, const PassRun& run, const GpuDescription& gpu,
        const BlockPlacement& placement, double most_transfers, const std::atomic<bool>* cancel)
      : pass_(pass),
        gpu_(gpu),
        residency_(placement.residency),
        groups_at_once_(
            std::max(Index{1}, placement.heads_at_once / run.problem.heads_per_kv_head())),
        cancel_(cancel),
        moved_(pass, run, most_transfers, cancel) {
    choose_followed(most_transfers);
    number_pieces();
  }

  /// The bytes of each launch, by size of L2.
  std::vector<std::vector<L2Moved>> follow(std::span<const Index> l2_sizes,
                                           WatchedHead* watched = nullptr);

  const GroupTransfers& moved() const { return moved_; }
  /// The group itself if it is followed, else the group of the later half that represents it.
  Group followed_group(Group group) const;

 private:
  /// A slot for a thread block on an SM.
  struct Slot {
    const LaunchTransfers* transfers = nullptr;
    std::size_t next = 0, past_last = 0;      ///< groups of its block's transfers
    std::uint64_t begin = 0;                  ///< when its block begins, in ticks
    Group group = 0;                          ///< of its block's head
    Index head = 0;                           ///< of the group
    WatchedHead::Answers* answers = nullptr;  ///< of a watched head's transfers
    int partition = 0;                        ///< of L2, to which its SM is connected
  };

  /// A list of transfers made by one head.
  struct ListOfHead {
    const LaunchTransfers* transfers = nullptr;
    std::uint32_t list = 0;
    Group group = 0;
    Index head = 0;
    bool operator==(const ListOfHead&) const = default;
  };

  /// The numbering of a tensor's pieces, one head after another.
  struct PieceNumbers {
    std::uint32_t first = 0;
    Index count = 0;     ///< pieces of a head
    Index of_group = 1;  ///< tensors of a group: one per head, or one
  };

  void choose_followed(double most_transfers);
  /// Number of groups in the first half: a multiple of those that start in turn.
  Group half_of_followed() const { return followed_ / 2 / groups_at_once_ * groups_at_once_; }
  void number_pieces();
  void initialise();
  std::vector<L2Moved> run_launch(std::size_t launch);
  void run_groups(std::size_t launch, Group first, Group past_last);
  void start_block(std::size_t launch, Group group, Index head, std::size_t block);
  WatchedHead::Answers* answers_of(std::size_t launch, Group group, Index head) const;
  std::uint64_t delay_of_first(std::size_t launch, std::size_t slot, std::uint64_t ticks) const;
  void step();
  int partition_of(std::size_t slot) const;
  void move(Slot& slot);
  std::uint32_t first_piece(Tensor tensor, Group group, Index head) const {
    const PieceNumbers& numbers = numbers_[static_cast<std::size_t>(tensor)];
    const Index index = group * numbers.of_group + (numbers.of_group == 1 ? 0 : head);
    return numbers.first + static_cast<std::uint32_t>(index * numbers.count);
  }
  std::vector<L2Moved> traffic() const;

  const Pass& pass_;
  const GpuDescription& gpu_;
  const std::vector<Index>& residency_;
  const Group groups_at_once_;  ///< groups whose blocks start in turn
  const std::atomic<bool>* cancel_;
  const GroupTransfers moved_;

  WatchedHead* watched_ = nullptr;
  Group followed_ = 0;  ///< number of followed groups
  std::array<PieceNumbers, kTensorCount> numbers_{};
  std::vector<std::uint32_t> piece_bytes_;
  std::optional<L2Cache> l2_;  ///< of all sizes
  /// By partition: the last list of loads of its SMs, if every load hit it in every size of L2.
  /// Repeating the list hits again and leaves the same order.
  std::array<ListOfHead, L2Cache::kMostPartitions> repeatable_;

  std::vector<Slot> slots_;
  std::vector<std::size_t> free_slots_;
  SlotQueue next_;
  std::uint64_t now_ = 0;
  double transferred_ = 0;  ///< number of transfers by the launch so far
  unsigned steps_ = 0;
};

/// The error returned for TooManyTransfers.
Error too_many_transfers();

}  // namespace attnscope
