#include "sim/snapshot/describe_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "sim/observers/flop_counter.h"
#include "sim/observers/traffic_counter.h"
#include "sim/ops/op_info.h"
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

/// A tile's indices, each converted by `print`; a comma separates them if two-digit indices would
/// be ambiguous.
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

bool has_one_number_a_row(const Tile& tile) {
  const TensorLayout layout = layout_of(tile.tensor);
  return layout == TensorLayout::query_by_one || layout == TensorLayout::query_by_split;
}

/// "row maxima of S₂₁", "row sums of S₂₁"; for a tile with one number per row, its name: "m~₂".
std::string of_rows(std::string_view what, const Tile& tile) {
  return has_one_number_a_row(tile) ? tile_name(tile)
                                    : fmt::format("{} of {}", what, tile_name(tile));
}

/// The tile's name, after its contents: the slot of S also holds its exponentials, that of dP the
/// result of the softmax gradient.
std::string in_place(Tensor slot, Tensor held, Tile tile) {
  if (tile.tensor == slot) tile.tensor = held;
  return tile_name(tile);
}

/// The name of the value that the operation writes to its destination.
std::string result_name(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  const bool capped = op.kind == OpKind::multiply && op.source_tiles[0].tensor == Tensor::T;
  if (capped || op.kind == OpKind::softmax_gradient) {
    return in_place(Tensor::dP, Tensor::dS, dest);
  }
  if (op.kind == OpKind::dropout) return in_place(Tensor::S, Tensor::P_drop, dest);
  const bool of_exp = op.kind == OpKind::exp || op.kind == OpKind::normalize;
  return of_exp ? in_place(Tensor::S, Tensor::P, dest) : tile_name(dest);
}

}  // namespace

std::string tensor_name(Tensor tensor) {
  return std::string(info_of(tensor).symbol);
}

std::string tile_name(const Tile& tile) {
  const bool whole_rows = is_score(tile.tensor) && tile.j == kAllColumns;
  const std::string whole = tensor_name(info_of(tile.tensor).hue);
  if (is_of_split(tile.tensor)) {
    return fmt::format("{}{} (split {})", whole, subscript(tile.i), tile.j);
  }
  if (layout_of(tile.tensor) == TensorLayout::group_key_by_d) {
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

namespace {

std::string capitalized(std::string name) {
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return name;
}

/// "the consumer has", "both consumers have".
std::string consumers_have(int count) {
  if (count < 3) return count == 1 ? "the consumer has" : "both consumers have";
  return fmt::format("all {} consumers have", count);
}

/// Whether the dQ adder reads the tile: "dQ₂ (fp32)". Consumers read all others.
bool is_for_adder(const Tile& tile) {
  return tile.tensor == Tensor::dQ_accum;
}
/// Whether consumers write the tile, each writing its share.
bool is_by_consumers(const Tile& tile) {
  return is_for_adder(tile) || tile.tensor == Tensor::dS;
}

/// The tile of a barrier; for LSE, also D, which shares the barriers.
std::string guarded_name(const Tile& tile) {
  if (tile.tensor != Tensor::LSE) return tile_name(tile);
  Tile D = tile;
  D.tensor = Tensor::D;
  return tile_name(tile) + " and " + tile_name(D);
}

/// "K₃ is in buffer 2", "both consumers have read K₁ in buffer 2", "it has read K₁ in buffer 2".
std::string event_of(const TileOp& op) {
  const Barrier barrier = op.barrier();
  const Tile& tile = barrier.tile;
  const bool arrives = op.kind == OpKind::arrive;
  const TileShare share = TileShare::from_part(tile.part);
  const std::string name = guarded_name(tile);
  if (share.of != TileShare::Of::whole) {
    return fmt::format("{} of {} is on chip", name, agent_name(consumer(share.number)));
  }
  const std::string place = fmt::format("in buffer {}", tile.slot);
  if (barrier.signals == Barrier::Signals::empty) {
    const std::string readers = arrives              ? "it has"
                                : is_for_adder(tile) ? "the dQ adder has"
                                                     : consumers_have(barrier.arrivals);
    return fmt::format("{} read {} {}", readers, name, place);
  }
  if (!is_by_consumers(tile)) {
    const bool two = tile.tensor == Tensor::LSE;
    return fmt::format("{} {} {}", name, two ? "are" : "is", place);
  }
  return fmt::format("{} written {} {}", arrives ? "it has" : consumers_have(barrier.arrivals),
                     name, place);
}

/// The sentence of a wait or arrive, which begins with `agent`.
std::string barrier_sentence(const TileOp& op, const std::string& agent) {
  return fmt::format(fmt::runtime(info_of(op.kind).sentence), fmt::arg("agent", agent),
                     fmt::arg("event", event_of(op)), fmt::arg("phase", op.barrier().phase));
}

}  // namespace

std::string stuck_words(const StuckAgent& stuck) {
  TileOp op;
  op.kind = OpKind::wait;
  op.set_barrier(stuck.barrier);
  return barrier_sentence(op, agent_name(stuck.agent));
}

std::string_view reason_of(const TileOp& op, std::string_view reason_of_line) {
  if (!op.is_of_barrier()) return reason_of_line;
  const Barrier barrier = op.barrier();
  const bool by_consumers = is_by_consumers(barrier.tile), adds = is_for_adder(barrier.tile);
  if (barrier.signals == Barrier::Signals::full) {
    if (op.kind == OpKind::arrive) {
      return by_consumers ? "When every consumer has arrived, all parts of the tile may be read."
                          : "Agents waiting for the tile may read it now.";
    }
    if (adds) return "Each consumer writes some rows of dQ; until all arrive, some are missing.";
    return by_consumers ? "dQ sums over all keys: each consumer also needs dS of the others."
           : barrier.tile.tensor == Tensor::LSE
               ? "The statistics loader is loading it; until then, the buffer holds its previous "
                 "contents."
               : "The producer is loading it; until then, the buffer holds its previous contents.";
  }
  if (op.kind == OpKind::wait) {
    if (adds) return "If written earlier, the next tile would overwrite one not yet added.";
    return by_consumers ? "If written earlier, the next tile would overwrite one still being read."
                        : "If loaded earlier, the next tile would overwrite one still being read.";
  }
  if (adds) return "The consumers may write the next tile there.";
  return by_consumers ? "When every consumer has arrived, all may write the next tile there."
         : barrier.tile.tensor == Tensor::LSE
             ? "When every consumer has arrived, the statistics loader may load the next ones "
               "there."
             : "When every consumer has arrived, the producer may load the next tile there.";
}

std::string describe_op(const TileOp& op, const TileGrid& grid) {
  if (op.skipped) {
    TileOp whole = op;  // a skipped operation moves nothing
    whole.skipped = whole.unreached = false;
    return describe_op(whole, grid);
  }
  const std::string agent = agent_name(op.agent);
  if (op.is_of_barrier()) return barrier_sentence(op, capitalized(agent));
  if (op.agent != Agent::block) {
    TileOp plain = op;
    plain.agent = Agent::block;
    const TileShare share = TileShare::from_part(op.dest_tiles[0].part);
    const bool for_one = op.agent == Agent::producer && share.of != TileShare::Of::whole;
    const std::string whose = for_one ? ", for " + agent_name(consumer(share.number)) : "";
    return fmt::format("{}{}: {}", capitalized(agent), whose, describe_op(plain, grid));
  }
  const auto& [a, b, c] = op.source_tiles;
  const Shape size = grid.shape(op.dest_tiles[0]);
  const ScoreFunction& score = grid.problem().score;
  using fmt::arg;
  return fmt::format(
      fmt::runtime(info_of(op.kind).sentence), arg("to", tile_name(op.dest_tiles[0])),
      arg("result", result_name(op)), arg("alpha", tile_name(op.dest_tiles[1])),
      arg("a", tile_name(a)), arg("b", tile_name(b)), arg("c", tile_name(c)),
      arg("P", in_place(Tensor::S, Tensor::P, a)), arg("maxima", of_rows("row maxima", a)),
      arg("sums", of_rows("row sums", a)),
      arg("size", fmt::format("{} × {}", size.rows, size.cols)),
      arg("bytes", moved_bytes(op, grid)),
      arg("products",
          fmt::format("{} multiply-adds, no bytes move", flops_of(op, grid).matmul / 2)),
      arg("cap", score.soft_cap.value_or(0.0)), arg("kept", score.dropout.scale()));
}

std::string op_label(const TileOp& op) {
  const auto name = [&](std::size_t source) {
    return info_of(op.source_tiles[source].tensor).label;
  };
  const bool one_a_row = has_one_number_a_row(op.source_tiles[0]);
  using fmt::arg;
  return fmt::format(fmt::runtime(info_of(op.kind).label), arg("a", name(0)), arg("b", name(1)),
                     arg("c", name(2)), arg("maxima", one_a_row ? "max" : "rowmax"),
                     arg("sums", one_a_row ? "+" : "rowsum"));
}

std::string_view dropped_prefix(const TileOp& op) {
  return op.unreached ? "Never reached: " : op.skipped ? "Dropped: " : "";
}

std::string op_listing(const TileOp& op) {
  // A share of an agent: "/q1" of the queries, "/k1" of the keys; else a part of d
  const auto part_of = [&](const Tile& tile) -> std::string {
    const TileShare share = TileShare::from_part(tile.part);
    const bool by_agents = op.agent != Agent::block;
    if (by_agents && share.of != TileShare::Of::whole) {
      return fmt::format("/{}{}", share.of == TileShare::Of::queries ? 'q' : 'k', share.number);
    }
    return tile.part > 0 ? fmt::format("/{}", tile.part) : "";
  };
  const auto print = [&](const Tile& tile) {
    const auto plain = [](std::int32_t number) { return std::to_string(number); };
    return fmt::format("{}{}{}{}{}", to_string(tile.tensor), indices(tile, plain),
                       tile.j == kAllColumns ? "*" : "", part_of(tile), tile.last_use ? "!" : "");
  };
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{:2} ", op.line);
  if (op.agent != Agent::block) fmt::format_to(out, "{:<18}", agent_name(op.agent));
  fmt::format_to(out, "{:<14}", to_string(op.kind));
  if (op.is_of_barrier()) {
    const Barrier barrier = op.barrier();
    const bool full = barrier.signals == Barrier::Signals::full;
    fmt::format_to(out, " {} {} in slot {}, phase {}", print(barrier.tile), full ? "full" : "empty",
                   barrier.tile.slot, barrier.phase);
  }
  for (const Tile& tile : op.dests()) fmt::format_to(out, " {}", print(tile));
  if (op.source_count > 0) fmt::format_to(out, " <-");
  for (const Tile& tile : op.sources()) fmt::format_to(out, " {}", print(tile));
  return fmt::to_string(text);
}

}  // namespace attnscope
