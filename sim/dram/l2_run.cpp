#include "sim/dram/l2_run.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/observers/progress_observer.h"

namespace attnscope {

namespace {

constexpr double kMostPieces = 6e7;  ///< of all tensors: 6 GB

/// The groups that are followed transfer this many times the capacity of L2, and fill every SM half
/// as many times: by then, each group moves as many bytes as the previous one.
constexpr double kFollowedRounds = 8;

}  // namespace

L2Moved& L2Moved::operator+=(const L2Moved& other) {
  dram += other.dram;
  missed_bytes += other.missed_bytes;
  return *this;
}

L2Moved L2Moved::operator-(const L2Moved& other) const {
  return {dram - other.dram, missed_bytes - other.missed_bytes};
}

/// Follows all groups, or, if all are equal, only the number that kFollowedRounds requires.
void L2Run::choose_followed(double most_transfers) {
  followed_ = moved_.groups();
  if (moved_.groups_are_alike()) {
    double groups = kFollowedRounds * static_cast<double>(gpu_.l2_bytes) / moved_.bytes_of_group();
    for (std::size_t launch = 0; launch < pass_.launches.size(); ++launch) {
      const auto slots = static_cast<double>(residency_[launch] * gpu_.sm_count);
      groups = std::max(
          groups, kFollowedRounds / 2 * slots / std::max(moved_.blocks_of_group(launch), 1.0));
    }
    const auto in_turn = static_cast<double>(groups_at_once_);
    groups = std::max(2.0, std::ceil(groups / in_turn)) * in_turn;
    if (groups < static_cast<double>(followed_)) followed_ = static_cast<Group>(groups);
  }
  if (moved_.transfers_of_group() * static_cast<double>(followed_) > most_transfers) {
    throw TooManyTransfers{};
  }
}

/// Numbers the pieces of the tensors that the followed groups touch.
void L2Run::number_pieces() {
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
    numbers_[static_cast<std::size_t>(tensor)] = {static_cast<std::uint32_t>(piece_bytes_.size()),
                                                  pieces.cut(tensor).count,
                                                  moved_.tensors_of_group(tensor)};
    for (Index head = 0; head < tensors(tensor); ++head) {
      for (Index piece = 0; piece < pieces.cut(tensor).count; ++piece) {
        piece_bytes_.push_back(static_cast<std::uint32_t>(pieces.bytes(tensor, piece)));
      }
    }
  }
}

/// The tensors that have values before the first launch, just written by another kernel.
void L2Run::initialise() {
  for (const InitialValue& initial : pass_.initial_values) {
    if (!moved_.touches(initial.tensor)) continue;
    const std::uint32_t first = first_piece(initial.tensor, 0, 0);
    const std::uint32_t past_last = first_piece(initial.tensor, followed_, 0);
    for (std::uint32_t piece = first; piece < past_last; ++piece) l2_->write(piece);
  }
}

WatchedHead::Answers::Answers(const LaunchTransfers& transfers)
    : answers_(transfers.transfer_count) {
  std::size_t first = 0;
  for (const TransferGroup& each : transfers.groups) {
    first_of_group_.push_back(first);
    first += transfers.lists[each.list].count;
  }
}

namespace {

FoundIn answer(L2Cache& l2, TransferKind kind, int partition, std::uint32_t piece) {
  switch (kind) {
    case TransferKind::load:
      return l2.read(partition, piece);
    case TransferKind::store:
      l2.write(piece);
      break;
    case TransferKind::atomic_add:
      return l2.add(piece);
  }
  return FoundIn::own_partition;
}

L2Answer answer_of(FoundIn found, Index bytes) {
  switch (found) {
    case FoundIn::own_partition:
      return {.hit_bytes = bytes};
    case FoundIn::other_partition:
      return {.other_bytes = bytes};
    case FoundIn::dram:
      break;
  }
  return {.dram_bytes = bytes};
}

}  // namespace

int L2Run::partition_of(std::size_t slot) const {
  const Index sm = static_cast<Index>(slot) % gpu_.sm_count;
  // Irregular: otherwise, heads that start in turn would each stay on one partition's SMs
  return std::popcount(static_cast<std::uint64_t>(sm)) % gpu_.l2_partitions;
}

/// Performs the slot's next transfers. Blocks in step read the same pieces one after another:
/// after the first ones, this changes nothing.
void L2Run::move(Slot& slot) {
  const TransferGroup& group = slot.transfers->groups[slot.next];
  const TransferList& list = slot.transfers->lists[group.list];
  if (list.count == 0) {
    ++slot.next;
    return;
  }
  transferred_ += list.count;
  const ListOfHead reading{slot.transfers, group.list, slot.group, slot.head};
  ListOfHead& repeatable = repeatable_[static_cast<std::size_t>(slot.partition)];
  if (slot.answers == nullptr && repeatable == reading) {
    ++slot.next;
    return;
  }
  L2Answer* noted = slot.answers != nullptr ? slot.answers->of_group(slot.next) : nullptr;
  const Index missed_before = l2_->missed_bytes();
  for (const Transfer& transfer : slot.transfers->of(list)) {
    const std::uint32_t first =
        first_piece(transfer.tensor, slot.group, slot.head) + transfer.first;
    for (std::uint32_t piece = first; piece < first + transfer.count; ++piece) {
      const FoundIn found = answer(*l2_, transfer.kind, slot.partition, piece);
      if (noted != nullptr) *noted += answer_of(found, piece_bytes_[piece]);
    }
    if (noted != nullptr) ++noted;
  }
  if (list.only_loads && l2_->missed_bytes() == missed_before) {
    repeatable = reading;
  } else {
    repeatable_ = {};
  }
  ++slot.next;
}

/// Executes the next event: a slot performs its transfers, then ends or waits for the next ones.
void L2Run::step() {
  constexpr unsigned kStepsBetweenChecks = 4096;
  if (++steps_ % kStepsBetweenChecks == 0 && cancel_ != nullptr &&
      cancel_->load(std::memory_order_relaxed)) {
    throw Cancelled{};
  }
  const auto [slot, tick] = next_.take();
  now_ = tick;
  Slot& s = slots_[slot];
  move(s);
  if (s.next < s.past_last) {
    next_.add(slot, s.begin + s.transfers->groups[s.next].begin);
  } else {
    free_slots_.push_back(slot);
  }
}

/// The delay of the slot's first block, which takes `ticks`, after the first block of its SM's
/// first slot: the first blocks of an SM are spread over the time of one block.
std::uint64_t L2Run::delay_of_first(std::size_t launch, std::size_t slot,
                                    std::uint64_t ticks) const {
  const auto place = static_cast<std::uint64_t>(slot) / static_cast<std::uint64_t>(gpu_.sm_count);
  return place * ticks / static_cast<std::uint64_t>(residency_[launch]);
}

/// Where to store the answers to the head's transfers; null if the head is not watched.
WatchedHead::Answers* L2Run::answers_of(std::size_t launch, Group group, Index head) const {
  const bool is_watched = watched_ != nullptr && watched_->group == group && watched_->head == head;
  return is_watched ? &watched_->answers[launch] : nullptr;
}

/// Starts a head's block as soon as a slot is free, if the head takes part and has that many
/// blocks.
void L2Run::start_block(std::size_t launch, Group group, Index head, std::size_t block) {
  const LaunchTransfers* transfers = moved_.of(launch, group, head);
  if (transfers == nullptr || block + 1 >= transfers->block_begins.size()) return;
  const std::size_t first = transfers->block_begins[block];
  const std::size_t past_last = transfers->block_begins[block + 1];
  if (first == past_last) return;
  while (free_slots_.empty()) step();
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  std::uint64_t begin = now_;
  if (now_ == 0) begin = delay_of_first(launch, slot, transfers->groups[past_last - 1].begin);
  slots_[slot] = {
      transfers,         first, past_last, begin, group, head, answers_of(launch, group, head),
      partition_of(slot)};
  next_.add(slot, begin + transfers->groups[first].begin);
}

/// Starts the blocks of the groups' heads: head by head or, if the blocks of several groups start
/// in turn, the first block of each head, then the second of each.
void L2Run::run_groups(std::size_t launch, Group first, Group past_last) {
  std::size_t blocks = 0;
  for (Group group = first; group < past_last; ++group) {
    for (Index head = 0; head < moved_.heads_of_group(); ++head) {
      const LaunchTransfers* transfers = moved_.of(launch, group, head);
      if (transfers == nullptr) continue;
      auto* const answers = answers_of(launch, group, head);
      if (answers != nullptr) *answers = WatchedHead::Answers(*transfers);
      const std::size_t of_head = transfers->block_begins.size() - 1;
      blocks = std::max(blocks, of_head);
      if (groups_at_once_ > 1) continue;
      for (std::size_t block = 0; block < of_head; ++block) start_block(launch, group, head, block);
    }
  }
  if (groups_at_once_ == 1) return;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (Group group = first; group < past_last; ++group) {
      for (Index head = 0; head < moved_.heads_of_group(); ++head) {
        start_block(launch, group, head, block);
      }
    }
  }
}

/// The bytes moved so far, by size of L2.
std::vector<L2Moved> L2Run::traffic() const {
  std::vector<L2Moved> moved;
  for (const auto& [read, written, missed] : l2_->traffic()) {
    moved.push_back({{read, written, 0}, missed});
  }
  return moved;
}

/// The bytes that a launch moves, over all groups, by size of L2.
std::vector<L2Moved> L2Run::run_launch(std::size_t launch) {
  const auto slots =
      std::min(static_cast<std::size_t>(residency_[launch] * gpu_.sm_count), SlotQueue::kMostSlots);
  slots_.assign(slots, {});
  free_slots_.clear();
  for (std::size_t slot = slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  next_ = SlotQueue(slots);
  now_ = 0;
  transferred_ = 0;
  repeatable_ = {};

  const std::vector<L2Moved> before = traffic();
  const Group half = half_of_followed();
  std::vector<L2Moved> at_half = before;
  double transferred_at_half = 0;
  for (Group group = 0; group < followed_; group += groups_at_once_) {
    if (group == half) {
      at_half = traffic();
      transferred_at_half = transferred_;
    }
    run_groups(launch, group, std::min(followed_, group + groups_at_once_));
  }
  const std::vector<L2Moved> at_last = traffic();
  const double transferred_later = transferred_ - transferred_at_half;
  while (!next_.empty()) step();

  // Each transfer of the groups that were not followed counts the average bytes of the transfers
  // made while the blocks of the later half started. These are not all transfers of that half:
  // blocks that start together also end together, so whole rounds of blocks ran in that time
  const double others = static_cast<double>(moved_.groups() - followed_) *
                        moved_.transfers_of_group(launch) / std::max(transferred_later, 1.0);
  const auto scaled = [others](Index bytes) {
    return static_cast<Index>(others * static_cast<double>(bytes));
  };
  std::vector<L2Moved> moved = traffic();
  for (std::size_t size = 0; size < moved.size(); ++size) {
    const L2Moved later = at_last[size] - at_half[size];
    moved[size] = moved[size] - before[size];
    moved[size] += {{scaled(later.dram.read_bytes), scaled(later.dram.write_bytes), 0},
                    scaled(later.missed_bytes)};
  }
  return moved;
}

std::vector<std::vector<L2Moved>> L2Run::follow(std::span<const Index> l2_sizes,
                                                WatchedHead* watched) {
  watched_ = watched;
  if (watched != nullptr) watched->answers.assign(pass_.launches.size(), {});
  l2_.emplace(l2_sizes, gpu_.l2_partitions, piece_bytes_);
  initialise();
  std::vector<std::vector<L2Moved>> by_size(l2_sizes.size());
  for (std::size_t launch = 0; launch < pass_.launches.size(); ++launch) {
    const std::vector<L2Moved> moved = run_launch(launch);
    for (std::size_t size = 0; size < moved.size(); ++size) by_size[size].push_back(moved[size]);
  }
  return by_size;
}

Group L2Run::followed_group(Group group) const {
  const Group half = half_of_followed();
  return group < followed_ ? group : half + (group - followed_) % (followed_ - half);
}

Error too_many_transfers() {
  return invalid_field(ErrorCode::too_many, "seq_len",
                       "too many tiles to follow through L2; use larger tiles or a shorter {}",
                       field_name("seq_len"));
}

}  // namespace attnscope
