#include "sim/dram/block_transfers.h"

#include <algorithm>
#include <numeric>

namespace attnscope {

namespace {

constexpr Index kWorkOfTick = Index{1} << 14U;
constexpr std::uint32_t kMostTicksOfGroup = 8;  ///< if no product separates transfers
constexpr Index kFewestRows = 16;    ///< of a piece: smaller pieces would only take more time
constexpr Index kFewestScores = 64;  ///< the same for each side of a piece of S

/// Rows of a piece: the larger tile side if the smaller one divides it and no block mask skips
/// tiles; else their greatest common divisor.
Index piece_rows(const AttentionProblem& problem, const Tiling& tiling) {
  const auto [smaller, larger] = std::minmax(tiling.Br, tiling.Bc);
  const bool takes_larger = larger % smaller == 0 && !problem.block_mask;
  return std::max(takes_larger ? larger : std::gcd(smaller, larger), kFewestRows);
}

/// Rows and columns of a piece.
Shape piece_shape(Tensor tensor, const Shape& whole, Index rows, Index d) {
  switch (layout_of(tensor)) {
    case TensorLayout::query_by_key: {
      const Index side = std::max(rows, kFewestScores);
      return {side, side};
    }
    case TensorLayout::query_by_split_d:
      return {rows, d};
    case TensorLayout::query_by_one:
    case TensorLayout::query_by_split:
    case TensorLayout::query_by_d:
    case TensorLayout::key_by_d:
    case TensorLayout::group_key_by_d:
      return {rows, whole.cols};
  }
  return whole;
}

}  // namespace

TensorPieces::TensorPieces(const AttentionProblem& problem, const Tiling& tiling, Index splits) {
  const Index rows = piece_rows(problem, tiling);
  for (const Tensor tensor : kTensors) {
    Cut& cut = cuts_[static_cast<std::size_t>(tensor)];
    cut.tensor = tensor_shape(tensor, problem, splits);
    cut.piece = piece_shape(tensor, cut.tensor, rows, problem.d);
    cut.across = ceil_div(cut.tensor.cols, cut.piece.cols);
    cut.count = ceil_div(cut.tensor.rows, cut.piece.rows) * cut.across;
    cut.element_bytes = element_bytes(tensor, problem.dtype);
  }
}

Index TensorPieces::bytes(Tensor tensor, Index piece) const {
  const Cut& c = cut(tensor);
  const Index row = piece / c.across * c.piece.rows, col = piece % c.across * c.piece.cols;
  return std::min(c.piece.rows, c.tensor.rows - row) * std::min(c.piece.cols, c.tensor.cols - col) *
         c.element_bytes;
}

void BlockTransfers::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back().lists.emplace_back();
  last_list_ = 0;
  followers_.assign(1, 0);
}

void BlockTransfers::begin_block(const BlockId& /*block*/) {
  LaunchTransfers& launch = launches_.back();
  launch.block_begins.push_back(launch.groups.size());
  work_ = 0;
  starts_group_ = true;
}

void BlockTransfers::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    if (op.is_matrix_product()) {
      work_ += grid_->shape(op.source_tiles[0]).elems() * grid_->shape(op.dest_tiles[0]).cols;
      starts_group_ = true;
    } else if (op.moves_bytes()) {
      add(op);
    }
  }
}

void BlockTransfers::add(const TileOp& op) {
  LaunchTransfers& launch = launches_.back();
  const bool is_load = op.kind == OpKind::load;
  const Tile& tile = is_load ? op.source_tiles[0] : op.dest_tiles[0];
  const Shape shape = grid_->shape(tile), origin = grid_->origin(tile);
  if (shape.elems() == 0) return;
  const auto tick = static_cast<std::uint32_t>(work_ / kWorkOfTick);
  if (starts_group_ || tick >= launch.groups.back().begin + kMostTicksOfGroup) begin_group(tick);

  // One transfer for consecutive pieces
  const TensorPieces::Cut& cut = pieces_.cut(tile.tensor);
  const Index row = ceil_div(origin.rows, cut.piece.rows);
  const Index col = ceil_div(origin.cols, cut.piece.cols);
  const Index rows = ceil_div(origin.rows + shape.rows, cut.piece.rows) - row;
  const Index cols = ceil_div(origin.cols + shape.cols, cut.piece.cols) - col;
  const bool whole_rows = cols == cut.across;
  const Index runs = whole_rows ? 1 : rows;
  const TransferKind kind = is_load                         ? TransferKind::load
                            : op.kind == OpKind::atomic_add ? TransferKind::atomic_add
                                                            : TransferKind::store;
  for (Index run = 0; run < runs; ++run) {
    Index first = (row + run) * cut.across + col;
    Index left = whole_rows ? rows * cols : cols;
    while (left > 0) {
      if (left_-- == 0) throw TooManyTransfers{};
      const Index count = std::min<Index>(left, 0xffff);
      in_group_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint16_t>(count),
                           tile.tensor, kind});
      first += count;
      left -= count;
    }
  }

  // Without products, the transfers themselves are the work
  work_ += shape.elems();
}

void BlockTransfers::begin_group(std::uint32_t tick) {
  end_group();
  launches_.back().groups.push_back({tick, 0});
  starts_group_ = false;
}

void BlockTransfers::end_group() {
  if (in_group_.empty()) return;
  LaunchTransfers& launch = launches_.back();
  launch.groups.back().list = list_of(in_group_);
  launch.transfer_count += in_group_.size();
  in_group_.clear();
}

namespace {

std::size_t hash_of(std::span<const Transfer> transfers) {
  std::size_t hash = 0;
  for (const auto& [first, count, tensor, kind] : transfers) {
    const std::uint64_t all = (std::uint64_t{first} << 32U) + (std::uint64_t{count} << 16U) +
                              (static_cast<std::uint64_t>(tensor) << 8U) +
                              static_cast<std::uint64_t>(kind);
    hash = (hash ^ all) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

}  // namespace

std::uint32_t BlockTransfers::add_list(std::span<const Transfer> transfers) {
  LaunchTransfers& launch = launches_.back();
  const bool only_loads = std::ranges::all_of(
      transfers, [](const Transfer& one) { return one.kind == TransferKind::load; });
  launch.lists.push_back({static_cast<std::uint32_t>(launch.transfers.size()),
                          static_cast<std::uint32_t>(transfers.size()), only_loads});
  launch.transfers.insert(launch.transfers.end(), transfers.begin(), transfers.end());
  followers_.push_back(0);
  return static_cast<std::uint32_t>(launch.lists.size() - 1);
}

/// The number of the list with these transfers. Blocks move mostly the same lists in the same
/// order, so the one that followed the previous list the last time comes first; then the last one
/// with the same hash.
std::uint32_t BlockTransfers::list_of(std::span<const Transfer> transfers) {
  LaunchTransfers& launch = launches_.back();
  const auto has_these = [&](std::uint32_t list) {
    return list < launch.lists.size() &&
           std::ranges::equal(launch.of(launch.lists[list]), transfers);
  };
  std::uint32_t list = followers_[last_list_];
  if (!has_these(list)) {
    std::uint32_t& of_hash = list_of_hash_[hash_of(transfers) % kHashes];
    if (!has_these(of_hash)) of_hash = add_list(transfers);
    list = followers_[last_list_] = of_hash;
  }
  last_list_ = list;
  return list;
}

/// The end of a block's work is a group without transfers.
void BlockTransfers::end_block() {
  end_group();
  launches_.back().groups.push_back({static_cast<std::uint32_t>(work_ / kWorkOfTick), 0});
  last_list_ = 0;
}

void BlockTransfers::end_launch() {
  LaunchTransfers& launch = launches_.back();
  launch.block_begins.push_back(launch.groups.size());
}

}  // namespace attnscope
