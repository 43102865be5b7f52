/// The transfers of each thread block of a pass between HBM and its SM, in pieces of tensors, and
/// when they occur in its work. One head's blocks are recorded; those of other heads move the same
/// pieces of their own tensors.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/ops/observer.h"

namespace attnscope {

/// The division of one head's tensors into pieces, row by row. A piece is about as large as a tile.
/// If tiles cover only parts of a piece, such as a few rows of S, the tile with its first element
/// transfers the whole piece, since the others would transfer their parts at about the same time.
class TensorPieces {
 public:
  struct Cut {
    Shape tensor;      ///< of one head
    Shape piece;       ///< the last pieces may be smaller
    Index across = 1;  ///< pieces side by side
    Index count = 0;   ///< pieces of one head
    Index element_bytes = 0;
  };

  TensorPieces(const AttentionProblem& problem, const Tiling& tiling, Index splits);

  const Cut& cut(Tensor tensor) const { return cuts_[static_cast<std::size_t>(tensor)]; }
  /// Bytes of one piece of the tensor.
  Index bytes(Tensor tensor, Index piece) const;

 private:
  std::array<Cut, kTensorCount> cuts_;
};

enum class TransferKind : std::uint8_t { load, store, atomic_add };

/// Consecutive pieces of one tensor.
struct Transfer {
  std::uint32_t first = 0;
  std::uint16_t count = 0;
  Tensor tensor = Tensor::Q;
  TransferKind kind = TransferKind::load;

  bool operator==(const Transfer&) const = default;
};

/// Consecutive entries of LaunchTransfers::transfers: what moves at once.
struct TransferList {
  std::uint32_t first = 0, count = 0;
  bool only_loads = true;
};

/// Transfers that start together, or the end of a block, `begin` ticks after the block starts. A
/// tick is the time of 16,384 multiply-adds of matrix products or, in a launch without products, of
/// transferring 16,384 elements.
struct TransferGroup {
  std::uint32_t begin = 0;
  std::uint32_t list = 0;  ///< number of its list
};

/// The transfers of one launch; the groups of each block follow those of the previous one. Most
/// blocks move the same tiles, one after another, as other blocks: groups with equal transfers
/// share a list.
struct LaunchTransfers {
  std::vector<Transfer> transfers;
  std::vector<TransferList> lists;  ///< the first is empty
  std::vector<TransferGroup> groups;
  std::vector<std::size_t> block_begins;  ///< first group of each block, and the end of the last
  std::size_t transfer_count = 0;         ///< of all blocks

  std::span<const Transfer> of(const TransferList& list) const {
    return std::span(transfers).subspan(list.first, list.count);
  }
};

/// Thrown by BlockTransfers if a head has more transfers than it may record.
struct TooManyTransfers {};

class BlockTransfers : public Observer {
 public:
  BlockTransfers(const TensorPieces& pieces, std::size_t most_transfers)
      : pieces_(pieces), left_(most_transfers) {}

  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;
  void end_block() override;
  void end_launch() override;

  /// One entry per launch, in the order in which they ran.
  const std::vector<LaunchTransfers>& launches() const { return launches_; }
  /// The number of transfers of the last launch so far.
  std::size_t transfer_count() const { return launches_.back().transfer_count + in_group_.size(); }

 private:
  void add(const TileOp& op);
  void begin_group(std::uint32_t tick);
  void end_group();
  std::uint32_t list_of(std::span<const Transfer> transfers);
  std::uint32_t add_list(std::span<const Transfer> transfers);

  static constexpr std::size_t kHashes = std::size_t{1} << 14U;

  const TensorPieces& pieces_;
  std::size_t left_;
  const TileGrid* grid_ = nullptr;
  Index work_ = 0;  ///< multiply-adds, and elements moved
  bool starts_group_ = true;
  std::vector<LaunchTransfers> launches_;

  // Of the launch: the transfers of the last group, which has no list yet; and where to look for it
  std::vector<Transfer> in_group_;
  std::uint32_t last_list_ = 0;
  std::vector<std::uint32_t> followers_;  ///< by list: the list that followed it the last time
  std::vector<std::uint32_t> list_of_hash_ = std::vector<std::uint32_t>(kHashes);
};

}  // namespace attnscope
