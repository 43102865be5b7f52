#include "sim/dram/dram_model.h"

#include <algorithm>
#include <cmath>

#include "sim/dram/group_transfers.h"
#include "sim/dram/l2_cache.h"
#include "sim/dram/slot_queue.h"
#include "sim/observers/progress_observer.h"
#include "sim/simulation.h"

namespace attnscope {

namespace {

constexpr double kMostPieces = 6e7;  ///< of tensors: 6 GB

/// The groups that are followed move this many times what L2 holds, and fill every SM half as many
/// times: by then, each moves what the one before it moved.
constexpr double kFollowedRounds = 8;

/// Follows the blocks of all launches through L2. Throws Cancelled and TooManyTransfers.
class DramModel {
 public:
  DramModel(const Pass& pass, const PassRun& run, const GpuDescription& gpu,
            const std::vector<Index>& residency, double most_transfers,
            const std::atomic<bool>* cancel)
      : pass_(pass),
        gpu_(gpu),
        residency_(residency),
        cancel_(cancel),
        moved_(pass, run, most_transfers, cancel) {
    choose_followed(most_transfers);
    number_pieces();
  }

  /// The bytes of each launch, by size of L2.
  std::vector<std::vector<Bytes>> predict(std::span<const Index> l2_sizes);

 private:
  /// A place for a thread block on an SM.
  struct Slot {
    const LaunchTransfers* transfers = nullptr;
    std::size_t next = 0, past_last = 0;                     ///< groups of its block's transfers
    std::uint64_t begin = 0;                                 ///< of its block, in ticks
    std::array<std::uint32_t, kTensorCount> first_pieces{};  ///< of its block's head
  };

  void choose_followed(double most_transfers);
  void number_pieces();
  void initialise();
  std::vector<Bytes> run_launch(std::size_t launch);
  void run_group(std::size_t launch, Group group);
  std::uint64_t delay_of_first(std::size_t launch, std::size_t slot, std::uint64_t ticks) const;
  void step();
  void move(std::size_t slot);
  std::uint32_t first_piece(Tensor tensor, Group group, Index head) const;
  std::vector<Bytes> traffic() const;

  const Pass& pass_;
  const GpuDescription& gpu_;
  const std::vector<Index>& residency_;
  const std::atomic<bool>* cancel_;
  const GroupTransfers moved_;

  Group followed_ = 0;                              ///< groups
  std::array<std::uint32_t, kTensorCount> base_{};  ///< first pieces of the tensors
  std::vector<std::uint32_t> piece_bytes_;
  std::vector<L2Cache> caches_;  ///< all see the same transfers

  std::vector<Slot> slots_;
  std::vector<std::size_t> free_slots_;
  SlotQueue next_;
  std::uint64_t now_ = 0;
  unsigned steps_ = 0;
};

/// All groups, or as many as kFollowedRounds asks for where all are alike.
void DramModel::choose_followed(double most_transfers) {
  followed_ = moved_.groups();
  if (moved_.groups_are_alike()) {
    double groups = kFollowedRounds * static_cast<double>(gpu_.l2_bytes) / moved_.bytes_of_group();
    for (std::size_t launch = 0; launch < pass_.launches.size(); ++launch) {
      const auto slots = static_cast<double>(residency_[launch] * gpu_.sm_count);
      groups = std::max(
          groups, kFollowedRounds / 2 * slots / std::max(moved_.blocks_of_group(launch), 1.0));
    }
    if (groups < static_cast<double>(followed_)) {
      followed_ = std::max<Group>(2, static_cast<Group>(std::ceil(groups)));
    }
  }
  if (moved_.transfers_of_group() * static_cast<double>(followed_) > most_transfers) {
    throw TooManyTransfers{};
  }
}

/// Numbers the pieces of the tensors that the followed groups touch.
void DramModel::number_pieces() {
  double all = 0;
  const auto tensors = [&](Tensor tensor) {
    return moved_.touches(tensor) ? followed_ * moved_.tensors_of_group(tensor) : 0;
  };
  const TensorPieces& pieces = moved_.pieces();
  for (const Tensor tensor : kTensors) {
    all += static_cast<double>(tensors(tensor)) * static_cast<double>(pieces.cut(tensor).count);
  }
  if (all > kMostPieces) throw TooManyTransfers{};

  piece_bytes_.reserve(static_cast<std::size_t>(all));
  for (const Tensor tensor : kTensors) {
    base_[static_cast<std::size_t>(tensor)] = static_cast<std::uint32_t>(piece_bytes_.size());
    for (Index head = 0; head < tensors(tensor); ++head) {
      for (Index piece = 0; piece < pieces.cut(tensor).count; ++piece) {
        piece_bytes_.push_back(static_cast<std::uint32_t>(pieces.bytes(tensor, piece)));
      }
    }
  }
}

std::uint32_t DramModel::first_piece(Tensor tensor, Group group, Index head) const {
  const Index of_group = moved_.tensors_of_group(tensor);
  const Index index = group * of_group + (of_group == 1 ? 0 : head);
  return base_[static_cast<std::size_t>(tensor)] +
         static_cast<std::uint32_t>(index * moved_.pieces().cut(tensor).count);
}

/// The tensors that have a value before the first launch: another kernel has just written them.
void DramModel::initialise() {
  for (const InitialValue& initial : pass_.initial_values) {
    if (!moved_.touches(initial.tensor)) continue;
    const std::uint32_t first = first_piece(initial.tensor, 0, 0);
    const std::uint32_t past_last = first_piece(initial.tensor, followed_, 0);
    for (L2Cache& l2 : caches_) {
      for (std::uint32_t piece = first; piece < past_last; ++piece) l2.write(piece);
    }
  }
}

/// Moves the slot's next transfers.
void DramModel::move(std::size_t slot) {
  Slot& s = slots_[slot];
  const Index sm = static_cast<Index>(slot) % gpu_.sm_count;
  const int partition = static_cast<int>(sm % gpu_.l2_partitions);
  const std::vector<TransferGroup>& groups = s.transfers->groups;
  for (std::uint32_t t = groups[s.next].first; t < groups[s.next + 1].first; ++t) {
    const Transfer& transfer = s.transfers->transfers[t];
    const std::uint32_t first =
        s.first_pieces[static_cast<std::size_t>(transfer.tensor)] + transfer.first;
    for (L2Cache& l2 : caches_) {
      for (std::uint32_t piece = first; piece < first + transfer.count; ++piece) {
        switch (transfer.kind) {
          case TransferKind::load:
            l2.read(partition, piece);
            break;
          case TransferKind::store:
            l2.write(piece);
            break;
          case TransferKind::atomic_add:
            l2.add(piece);
            break;
        }
      }
    }
  }
  ++s.next;
}

/// The next event: a slot moves its transfers, and ends or waits for the next ones.
void DramModel::step() {
  constexpr unsigned kStepsBetweenChecks = 4096;
  if (++steps_ % kStepsBetweenChecks == 0 && cancel_ != nullptr &&
      cancel_->load(std::memory_order_relaxed)) {
    throw Cancelled{};
  }
  const std::size_t slot = next_.slot();
  now_ = next_.tick();
  move(slot);
  const Slot& s = slots_[slot];
  if (s.next < s.past_last) {
    next_.set(slot, s.begin + s.transfers->groups[s.next].begin);
  } else {
    next_.remove(slot);
    free_slots_.push_back(slot);
  }
}

/// How much later the first block of the slot begins, which takes `ticks`, than that of its SM's
/// first slot: all are spread over the time of a block.
std::uint64_t DramModel::delay_of_first(std::size_t launch, std::size_t slot,
                                        std::uint64_t ticks) const {
  const auto place = static_cast<std::uint64_t>(slot) / static_cast<std::uint64_t>(gpu_.sm_count);
  return place * ticks / static_cast<std::uint64_t>(residency_[launch]);
}

/// Starts the blocks of a group's heads, each as soon as a slot is free.
void DramModel::run_group(std::size_t launch, Group group) {
  for (Index head = 0; head < moved_.heads_of_group(); ++head) {
    const LaunchTransfers* transfers = moved_.of(launch, group, head);
    if (transfers == nullptr) continue;
    std::array<std::uint32_t, kTensorCount> first_pieces{};
    for (const Tensor tensor : kTensors) {
      first_pieces[static_cast<std::size_t>(tensor)] = first_piece(tensor, group, head);
    }
    for (std::size_t block = 0; block + 1 < transfers->block_begins.size(); ++block) {
      const std::size_t first = transfers->block_begins[block];
      const std::size_t past_last = transfers->block_begins[block + 1];
      if (first == past_last) continue;
      while (free_slots_.empty()) step();
      const std::size_t slot = free_slots_.back();
      free_slots_.pop_back();
      std::uint64_t begin = now_;
      if (now_ == 0) begin = delay_of_first(launch, slot, transfers->groups[past_last - 1].begin);
      slots_[slot] = {transfers, first, past_last, begin, first_pieces};
      next_.set(slot, begin + transfers->groups[first].begin);
    }
  }
}

/// What went from and to DRAM so far, by size of L2.
std::vector<Bytes> DramModel::traffic() const {
  std::vector<Bytes> bytes;
  for (const L2Cache& l2 : caches_) bytes.push_back({l2.traffic().read, l2.traffic().written, 0});
  return bytes;
}

/// The bytes of a launch, over all groups, by size of L2.
std::vector<Bytes> DramModel::run_launch(std::size_t launch) {
  const auto slots =
      std::min(static_cast<std::size_t>(residency_[launch] * gpu_.sm_count), SlotQueue::kMostSlots);
  slots_.assign(slots, {});
  free_slots_.clear();
  for (std::size_t slot = slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  next_ = SlotQueue(slots);
  now_ = 0;

  const std::vector<Bytes> before = traffic();
  const Group half = followed_ / 2;
  std::vector<Bytes> at_half = before;
  for (Group group = 0; group < followed_; ++group) {
    if (group == half) at_half = traffic();
    run_group(launch, group);
  }
  const std::vector<Bytes> at_last = traffic();
  while (!next_.empty()) step();

  // The groups that were not followed move what those of the later half moved: as long as blocks of
  // the next groups follow, as many are on their way at the end of the half as at its beginning
  const auto others =
      static_cast<double>(moved_.groups() - followed_) / static_cast<double>(followed_ - half);
  std::vector<Bytes> moved = traffic();
  for (std::size_t size = 0; size < moved.size(); ++size) {
    const Bytes later = at_last[size] - at_half[size];
    Bytes& bytes = moved[size];
    bytes = bytes - before[size];
    bytes.read_bytes += static_cast<Index>(others * static_cast<double>(later.read_bytes));
    bytes.write_bytes += static_cast<Index>(others * static_cast<double>(later.write_bytes));
  }
  return moved;
}

std::vector<std::vector<Bytes>> DramModel::predict(std::span<const Index> l2_sizes) {
  caches_.clear();
  for (const Index bytes : l2_sizes) caches_.emplace_back(bytes, gpu_.l2_partitions, piece_bytes_);
  initialise();
  std::vector<std::vector<Bytes>> by_size(l2_sizes.size());
  for (std::size_t launch = 0; launch < pass_.launches.size(); ++launch) {
    const std::vector<Bytes> moved = run_launch(launch);
    for (std::size_t size = 0; size < moved.size(); ++size) by_size[size].push_back(moved[size]);
  }
  return by_size;
}

Bytes sum(const std::vector<Bytes>& launches) {
  Bytes total;
  for (const Bytes& launch : launches) total += launch;
  return total;
}

/// Extends the interval to the bytes, reads and writes apart.
void extend(DramPrediction& prediction, const Bytes& bytes) {
  Bytes& least = prediction.least;
  Bytes& most = prediction.most;
  least.read_bytes = std::min(least.read_bytes, bytes.read_bytes);
  least.write_bytes = std::min(least.write_bytes, bytes.write_bytes);
  most.read_bytes = std::max(most.read_bytes, bytes.read_bytes);
  most.write_bytes = std::max(most.write_bytes, bytes.write_bytes);
}

}  // namespace

bool DramPrediction::in_transition() const {
  constexpr double kSteady = 0.04;
  const auto spread = static_cast<double>(most.read_bytes - least.read_bytes);
  return spread > kSteady * static_cast<double>(total.read_bytes);
}

Result<DramPrediction> predict_dram(const ResolvedRun& run, const GpuDescription& gpu,
                                    const BlockPlacement& placement, double most_transfers,
                                    const std::atomic<bool>* cancel) {
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const PassRun pass_run{run.problem, run.tiling, options, placement.order};
  try {
    DramModel model(pass, pass_run, gpu, placement.residency, most_transfers, cancel);
    const auto l2_bytes = static_cast<double>(gpu.l2_bytes);
    const std::array<Index, 3> sizes = {gpu.l2_bytes, std::llround(l2_bytes / kL2Margin),
                                        std::llround(l2_bytes * kL2Margin)};
    const std::vector<std::vector<Bytes>> by_size = model.predict(sizes);
    DramPrediction prediction{.launches = by_size.front()};
    prediction.total = prediction.least = prediction.most = sum(prediction.launches);
    for (const std::vector<Bytes>& launches : by_size) extend(prediction, sum(launches));
    return prediction;
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const TooManyTransfers&) {
    return invalid_field(ErrorCode::too_many, "seq_len",
                         "too many tiles to follow through L2; use larger tiles or a shorter {}",
                         field_name("seq_len"));
  }
}

}  // namespace attnscope
