#include "sim/snapshot/describe_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/observers/flop_counter.h"
#include "sim/observers/traffic_counter.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

namespace {

std::string subscript(std::int32_t number) {
  constexpr std::string_view kDigits[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
  std::string text;
  for (const char digit : std::to_string(number)) {
    text += kDigits[static_cast<std::size_t>(digit - '0')];
  }
  return text;
}

/// Indices of a tile, each through `print`; a comma where two-digit indices would run together.
template <typename Print>
std::string indices(const Tile& tile, Print print) {
  switch (layout_of(tile.tensor)) {
    case TensorLayout::key_by_d:
    case TensorLayout::group_key_by_d:
      return print(tile.j);
    case TensorLayout::query_by_d:
    case TensorLayout::query_by_one:
      return print(tile.i);
    case TensorLayout::query_by_key:
    case TensorLayout::query_by_split_d:
    case TensorLayout::query_by_split:
      break;
  }
  if (tile.j == kAllColumns) return print(tile.i);
  const bool short_indices = tile.i < 10 && tile.j < 10;
  return fmt::format("{}{}{}", print(tile.i), short_indices ? "" : ",", print(tile.j));
}

/// "row maxima of S₂₁", "row sums of S₂₁"; for a tile with one number per row, its name: "m~₂".
std::string of_rows(std::string_view what, const Tile& tile) {
  const TensorLayout layout = layout_of(tile.tensor);
  const bool one_a_row =
      layout == TensorLayout::query_by_one || layout == TensorLayout::query_by_split;
  return one_a_row ? tile_name(tile) : fmt::format("{} of {}", what, tile_name(tile));
}

/// The tile named after its contents: the slot of S also holds its exponentials, that of dP the
/// result of the softmax gradient.
std::string in_place(Tensor slot, Tensor held, Tile tile) {
  if (tile.tensor == slot) tile.tensor = held;
  return tile_name(tile);
}
std::string probabilities(const Tile& tile) {
  return in_place(Tensor::S, Tensor::P, tile);
}

std::string extent(const Tile& tile, const TileGrid& grid) {
  const Shape shape = grid.shape(tile);
  return fmt::format("{} × {}", shape.rows, shape.cols);
}

}  // namespace

bool is_of_split(Tensor tensor) {
  const TensorLayout layout = layout_of(tensor);
  return layout == TensorLayout::query_by_split_d || layout == TensorLayout::query_by_split;
}

std::string tensor_name(Tensor tensor) {
  switch (tensor) {
    case Tensor::m_tile:
      return "m~";
    case Tensor::l_tile:
      return "l~";
    case Tensor::O_carry:
      return "O (fp32)";
    case Tensor::dQ_accum:
      return "dQ (fp32)";
    case Tensor::dK_heads:
      return "dK/head";
    case Tensor::dV_heads:
      return "dV/head";
    case Tensor::P_drop:
      return "P~";
    case Tensor::O_split:
      return "O (split)";
    case Tensor::LSE_split:
      return "LSE (split)";
    default:
      return std::string(to_string(tensor));
  }
}

std::string tile_name(const Tile& tile) {
  const bool whole_rows =
      layout_of(tile.tensor) == TensorLayout::query_by_key && tile.j == kAllColumns;
  if (is_of_split(tile.tensor)) {
    const std::string_view whole = tile.tensor == Tensor::O_split ? "O" : "LSE";
    return fmt::format("{}{} (split {})", whole, subscript(tile.i), tile.j);
  }
  if (layout_of(tile.tensor) == TensorLayout::group_key_by_d) {
    const std::string_view whole = tile.tensor == Tensor::dK_heads ? "dK" : "dV";
    return fmt::format("{}{} (head {} of its group)", whole, subscript(tile.j), tile.i);
  }
  return fmt::format("{}{}{}", tensor_name(tile.tensor), indices(tile, subscript),
                     whole_rows ? " (row group)" : "");
}

std::string row_tile_name(const Launch& launch, const TileGrid& grid, Index i) {
  if (!works_on_row_groups(launch)) return fmt::format("i = {}", i);
  const Index rows = grid.tiling().Br;
  return fmt::format("rows {}-{}", i * rows, std::min((i + 1) * rows, grid.problem().N) - 1);
}

std::string describe_op(const TileOp& op, const TileGrid& grid) {
  const Tile& dest = op.dest_tiles[0];
  const Tile& a = op.source_tiles[0];
  const Tile& b = op.source_tiles[1];
  const std::string to = tile_name(dest);
  const std::string size = extent(dest, grid);
  switch (op.kind) {
    case OpKind::load:
      return fmt::format("{} ({}) is loaded: {} bytes requested.", tile_name(a), size,
                         moved_bytes(op, grid));
    case OpKind::store:
      return fmt::format("{} ({}) is stored: {} bytes requested.", to, size, moved_bytes(op, grid));
    case OpKind::fill_zero:
      return fmt::format("{} ({}) starts at 0, on chip.", to, size);
    case OpKind::fill_minus_inf:
      return fmt::format("{} ({}) starts at -inf, on chip.", to, size);
    case OpKind::scores:
      return fmt::format("{} = scale · {} {}ᵀ ({}): {} multiply-adds, no bytes move.", to,
                         tile_name(a), tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::accumulate:
      return fmt::format("{} = {} + {} {} ({}): {} multiply-adds, no bytes move.", to, to,
                         tile_name(a), tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::soft_cap:
      return fmt::format("{} = {} · tanh({} / {}).", to, *grid.problem().score.soft_cap, to,
                         *grid.problem().score.soft_cap);
    case OpKind::soft_cap_slope:
      return fmt::format("{} = 1 - ({} / {})², the derivative of the cap.", to, tile_name(a),
                         *grid.problem().score.soft_cap);
    case OpKind::alibi:
      return fmt::format("{} is lowered by slope · distance of query and key.", to);
    case OpKind::dropout:
      return fmt::format("{} = {} where dropout keeps it, times {:.4g}; else 0.",
                         in_place(Tensor::S, Tensor::P_drop, dest), probabilities(a),
                         grid.problem().score.dropout.scale());
    case OpKind::multiply:
      if (a.tensor == Tensor::T) {
        const std::string dS = in_place(Tensor::dP, Tensor::dS, dest);
        return fmt::format("{} = {} ∘ {}.", dS, dS, tile_name(a));
      }
      return fmt::format("{} = {} ∘ {}.", to, to, tile_name(a));
    case OpKind::mask:
      return fmt::format("Hidden keys of {} become -inf.", to);
    case OpKind::row_max:
      return fmt::format("{} = row maxima of {}.", to, tile_name(a));
    case OpKind::running_max:
      return fmt::format("{} = max({}, {}); {} = exp(old - new).", to, to, of_rows("row maxima", a),
                         tile_name(op.dest_tiles[1]));
    case OpKind::exp:
      return fmt::format("{} = exp({} - {}) ({}): on chip, no bytes move.", probabilities(dest),
                         tile_name(a), tile_name(b), size);
    case OpKind::row_sum:
      return fmt::format("{} = row sums of {}.", to, probabilities(a));
    case OpKind::add_row_sum:
      return fmt::format("{} = {} + {}.", to, to, of_rows("row sums", a));
    case OpKind::rescale:
      return fmt::format("{} = {} · {}, row by row.", to, tile_name(a), to);
    case OpKind::normalize:
      return fmt::format("{} = {} / {}, row by row.", probabilities(dest), probabilities(dest),
                         tile_name(a));
    case OpKind::log_sum_exp:
      return fmt::format("{} = {} + log {}.", to, tile_name(a), tile_name(b));
    case OpKind::product_transposed:
      return fmt::format("{} = {} {}ᵀ ({}): {} multiply-adds, no bytes move.", to, tile_name(a),
                         tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::accumulate_transposed:
      return fmt::format("{} = {} + {}ᵀ {} ({}): {} multiply-adds, no bytes move.", to, to,
                         tile_name(a), tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::gradient_product:
      return fmt::format("{} = {} + scale · {} {} ({}): {} multiply-adds, no bytes move.", to, to,
                         tile_name(a), tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::gradient_product_transposed:
      return fmt::format("{} = {} + scale · {}ᵀ {} ({}): {} multiply-adds, no bytes move.", to, to,
                         tile_name(a), tile_name(b), size, flops_of(op, grid).matmul / 2);
    case OpKind::row_dot:
      return fmt::format("{} = row sums of {} ∘ {}.", to, tile_name(a), tile_name(b));
    case OpKind::add_row_dot:
      return fmt::format("{} = {} + row sums of {} ∘ {}.", to, to, tile_name(a), tile_name(b));
    case OpKind::softmax_gradient:
      return fmt::format("{} = {} ∘ ({} - {}).", in_place(Tensor::dP, Tensor::dS, dest),
                         tile_name(a), tile_name(b), tile_name(op.source_tiles[2]));
    case OpKind::add:
      return fmt::format("{} = {} + {}.", to, to, tile_name(a));
    case OpKind::atomic_add:
      return fmt::format("{} is added to {} atomically, in L2: {} bytes requested.", tile_name(a),
                         to, moved_bytes(op, grid));
    case OpKind::scale:
      return fmt::format("{} = scale · {} ({}).", to, to, size);
    case OpKind::dropout_factors:
      return fmt::format("{} ({}): 0 where dropout drops, 1 / (1 - p) elsewhere.", to, size);
    case OpKind::mask_gradient:
      return fmt::format("Hidden keys of {} become 0.", to);
    case OpKind::convert:
      return fmt::format("{} = {}, rounded.", to, tile_name(a));
  }
  return {};
}

std::string op_listing(const TileOp& op) {
  const auto print = [](const Tile& tile) {
    const auto plain = [](std::int32_t number) { return std::to_string(number); };
    return fmt::format("{}{}{}{}", to_string(tile.tensor), indices(tile, plain),
                       tile.j == kAllColumns ? "*" : "", tile.last_use ? "!" : "");
  };
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{:2} {:<14}", op.line, to_string(op.kind));
  for (const Tile& tile : op.dests()) fmt::format_to(out, " {}", print(tile));
  if (op.source_count > 0) fmt::format_to(out, " <-");
  for (const Tile& tile : op.sources()) fmt::format_to(out, " {}", print(tile));
  return fmt::to_string(text);
}

}  // namespace attnscope
