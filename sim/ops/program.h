/// The vocabulary in which a schedule describes one thread block's program. Each call emits one
/// TileOp to the observers; at(line) names the pseudo-code line of the calls that follow, agent()
/// the agent that executes them.
#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <vector>

#include "reference/run_break.h"
#include "sim/ops/agents.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// The operations of a launch dropped by a run's break.
struct DroppedOps {
  std::optional<std::uint8_t> line;  ///< index into the launch's pseudo-code; unset: any
  std::optional<OpKind> kind;        ///< unset: any
  std::optional<Tensor> tensor;      ///< of the first destination, or the barrier; unset: any
  std::optional<Occurrence> only;    ///< unset: all of them

  /// Whether the operation is one of these, in any execution.
  bool matches(const TileOp& op) const {
    return (!line || *line == op.line) && (!kind || *kind == op.kind) &&
           (!tensor || *tensor == op.dest_tiles[0].tensor);
  }
};

class Program {
 public:
  explicit Program(std::span<Observer* const> observers)
      : observers_(observers.begin(), observers.end()) {}
  /// For counting only: loops (tile_loop.h) run once for equal tiles.
  explicit Program(std::span<CountingObserver* const> counters)
      : observers_(counters.begin(), counters.end()), counters_(counters.begin(), counters.end()) {}

  /// The thread block whose program this is; set before it starts.
  void begin_block(const BlockId& block) { block_ = block; }
  const BlockId& block() const { return block_; }

  /// The numbers of at()'s lines in the pseudo-code shown; empty: unchanged.
  void number_lines(std::span<const std::uint8_t> line_numbers) { line_numbers_ = line_numbers; }

  /// Marks these operations of the thread block as skipped, until the next call.
  void drop(const std::optional<DroppedOps>& dropped) {
    dropped_ = dropped;
    times_matched_ = 0;
  }

  /// The agent that executes the operations that follow, until the next call. A block's agents are
  /// written one after another but run concurrently (agents.h); if only counts matter, they run in
  /// the order in which they are written.
  void agent(Agent agent) {
    flush();
    agent_ = agent;
  }
  void wait(const Barrier& barrier) { emit_barrier(OpKind::wait, barrier); }
  void arrive(const Barrier& barrier) { emit_barrier(OpKind::arrive, barrier); }

  /// Names the pseudo-code line of the operations that follow: `program.at(update_l).rescale(...)`.
  Program& at(std::uint8_t line) {
    line_ = line_numbers_.empty() ? line : line_numbers_[line];
    return *this;
  }

  // Memory
  void load(Tile on_chip) { load(on_chip, on_chip.in_hbm()); }
  void load(Tile on_chip, Tile hbm) { emit(OpKind::load, on_chip, hbm); }
  void load(std::initializer_list<Tile> on_chip) {
    for (const Tile& tile : on_chip) load(tile);
  }
  void store(Tile on_chip) { store(on_chip, on_chip.in_hbm()); }
  void store(Tile on_chip, Tile hbm) { emit(OpKind::store, hbm, on_chip); }
  void store(std::initializer_list<Tile> on_chip) {
    for (const Tile& tile : on_chip) store(tile);
  }
  void fill_zero(Tile dest) { emit(OpKind::fill_zero, dest); }
  void fill_zero(std::initializer_list<Tile> dests) {
    for (const Tile& dest : dests) fill_zero(dest);
  }
  void fill_minus_inf(Tile dest) { emit(OpKind::fill_minus_inf, dest); }
  void atomic_add(Tile on_chip, Tile hbm) { emit(OpKind::atomic_add, hbm, on_chip); }
  void convert(Tile dest, Tile source) { emit(OpKind::convert, dest, source); }

  // Matrix products
  void scores(Tile S, Tile Q, Tile K) { emit(OpKind::scores, S, Q, K); }
  void accumulate(Tile dest, Tile a, Tile b) { emit(OpKind::accumulate, dest, a, b); }
  void product_transposed(Tile dest, Tile a, Tile b) {
    emit(OpKind::product_transposed, dest, a, b);
  }
  void accumulate_transposed(Tile dest, Tile a, Tile b) {
    emit(OpKind::accumulate_transposed, dest, a, b);
  }
  void gradient_product(Tile dest, Tile dS, Tile b) { emit(OpKind::gradient_product, dest, dS, b); }
  void gradient_product_transposed(Tile dest, Tile dS, Tile b) {
    emit(OpKind::gradient_product_transposed, dest, dS, b);
  }

  // Softmax
  void soft_cap(Tile S) { emit(OpKind::soft_cap, S, S); }
  void alibi(Tile S) { emit(OpKind::alibi, S, S); }
  void mask(Tile S) { emit(OpKind::mask, S, S); }
  void row_max(Tile m, Tile source) { emit(OpKind::row_max, m, source); }
  void running_max(Tile m, Tile alpha, Tile source) {
    TileOp& op = begin_op<2, 1>(OpKind::running_max);
    set(op.dest_tiles[0], m);
    set(op.dest_tiles[1], alpha);
    set(op.source_tiles[0], source);
    end_op();
  }
  void exp(Tile dest, Tile source, Tile m) { emit(OpKind::exp, dest, source, m); }
  void row_sum(Tile l, Tile source) { emit(OpKind::row_sum, l, source); }
  void add_row_sum(Tile l, Tile source) { emit(OpKind::add_row_sum, l, source); }
  void rescale(Tile dest, Tile factor) { emit(OpKind::rescale, dest, factor); }
  void normalize(Tile dest, Tile l) { emit(OpKind::normalize, dest, l); }
  void log_sum_exp(Tile LSE, Tile m, Tile l) { emit(OpKind::log_sum_exp, LSE, m, l); }

  void dropout_factors(Tile Z) { emit(OpKind::dropout_factors, Z); }
  void dropout(Tile dest, Tile source) { emit(OpKind::dropout, dest, source); }

  // Gradient of the softmax and of the soft cap
  void soft_cap_slope(Tile T, Tile S) { emit(OpKind::soft_cap_slope, T, S); }
  void multiply(Tile dest, Tile source) { emit(OpKind::multiply, dest, source); }
  void row_dot(Tile D, Tile a, Tile b) { emit(OpKind::row_dot, D, a, b); }
  void add_row_dot(Tile D, Tile a, Tile b) { emit(OpKind::add_row_dot, D, a, b); }
  void softmax_gradient(Tile dS, Tile P, Tile dP, Tile D) {
    emit(OpKind::softmax_gradient, dS, P, dP, D);
  }
  void mask_gradient(Tile dS) { emit(OpKind::mask_gradient, dS, dS); }
  void scale(Tile dest) { emit(OpKind::scale, dest, dest); }
  void add(Tile dest, Tile source) { emit(OpKind::add, dest, source); }

  // Repeated parts of the stream, if only counts matter
  bool counts_only() const { return !counters_.empty(); }
  /// Marks the operations from here on as a part that may be repeated.
  void mark();
  /// Whether repeating the operations since the last mark would add the same to every count.
  bool repeatable();
  /// Counts the operations since the last mark another `times` times, and closes the mark.
  void repeat(Index times);

  /// Ends the thread block: passes all remaining operations to the observers.
  void end_block();

 private:
  /// Passes the buffered operations on to the observers, or to their agent if the block has agents.
  void flush();
  void send();
  void run_agents();
  void mark_dropped();

  /// One destination and its sources, each stored field by field, because a counted sweep spends
  /// most of its time here.
  template <std::same_as<Tile>... Sources>
  void emit(OpKind kind, const Tile& dest, const Sources&... sources) {
    TileOp& op = begin_op<1, sizeof...(sources)>(kind);
    set(op.dest_tiles[0], dest);
    std::size_t index = 0;
    (set(op.source_tiles[index++], sources), ...);
    end_op();
  }

  template <std::size_t dest_count, std::size_t source_count>
  TileOp& begin_op(OpKind kind) {
    TileOp& op = buffer_[size_];
    op.kind = kind;
    op.line = line_;
    op.agent = agent_;
    op.dest_count = dest_count;
    op.source_count = source_count;
    return op;
  }
  void end_op() {
    if (++size_ == buffer_.size()) flush();
  }
  void emit_barrier(OpKind kind, const Barrier& barrier) {
    begin_op<0, 0>(kind).set_barrier(barrier);
    end_op();
  }
  static void set(Tile& to, const Tile& tile) {
    to.tensor = tile.tensor;
    to.slot = tile.slot;
    to.last_use = tile.last_use;
    to.part = tile.part;
    to.i = tile.i;
    to.j = tile.j;
  }

  BlockId block_;
  std::vector<Observer*> observers_;
  std::vector<CountingObserver*> counters_;
  std::span<const std::uint8_t> line_numbers_;
  std::optional<DroppedOps> dropped_;
  Index times_matched_ = 0;  ///< in this thread block
  Agents agents_;
  std::array<TileOp, 64> buffer_;  // one virtual call per observer for many operations
  std::size_t size_ = 0;
  std::uint8_t line_ = 0;
  Agent agent_ = Agent::block;
};

}  // namespace attnscope
