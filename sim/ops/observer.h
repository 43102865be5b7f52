/// The interface of all observers of a schedule. They receive a stream of tile operations, launch
/// by launch and thread block by thread block. A counting observer can also count a part of the
/// stream several times without receiving it again.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/checked_count.h"
#include "sim/ops/agents.h"
#include "sim/ops/tile_grid.h"
#include "sim/ops/tile_op.h"

namespace attnscope {

/// One thread block of a launch.
struct BlockId {
  Index batch = 0;
  Index head = 0;
  Index block = 0;  ///< within the head
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// The grid outlives the launch. HBM persists between launches; on-chip memory does not.
  virtual void begin_launch(std::string_view /*name*/, const TileGrid& /*grid*/) {}
  virtual void begin_block(const BlockId& /*block*/) {}
  /// Consecutive operations of the current block; called repeatedly until the block ends.
  virtual void observe(std::span<const TileOp> ops) = 0;
  /// These agents of the current block wait forever, and no other agent can continue, as in a
  /// deliberately broken run. The operations that they do not reach follow, marked as unreached.
  virtual void deadlock(std::span<const StuckAgent> /*stuck*/) {}
  virtual void end_block() {}
  virtual void end_launch() {}
};

/// An observer that sums over operations or records which ones occur: it needs equal parts of the
/// stream only once. Open marks nest; the last one is closed first.
class CountingObserver : public Observer {
 public:
  /// Marks the beginning of a part that may occur again.
  virtual void mark() = 0;
  /// Whether repeating the operations since the last mark would add the same counts again; false if
  /// the counts depend on state that has changed since the mark.
  virtual bool repeatable() const { return true; }
  /// Counts the operations since the last mark another `times` times, and closes the mark.
  virtual void repeat(Index times) = 0;
};

/// The sums at the open marks of a counting observer. `Counts` is an Index, a type with +=, - and *
/// by a count, or an array of these. repeat() throws CountTooLarge.
template <typename Counts>
class MarkedCounts {
 public:
  void mark(const Counts& now) { marks_.push_back(now); }
  void repeat(Counts& now, Index times) {
    if (times > 0) add_difference(now, marks_.back(), times);
    marks_.pop_back();
  }

 private:
  template <typename Value>
  static void add_difference(Value& now, const Value& before, Index times) {
    if constexpr (std::is_same_v<Value, Index>) {
      now = checked_sum(now, checked_product(now - before, times));
    } else if constexpr (requires { now += (now - before) * times; }) {
      now += (now - before) * times;
    } else {
      for (std::size_t n = 0; n < now.size(); ++n) add_difference(now[n], before[n], times);
    }
  }
  std::vector<Counts> marks_;
};

/// A counting observer that keeps the sums of each launch; `Counts` as in MarkedCounts.
template <typename Counts>
class LaunchCounter : public CountingObserver {
 public:
  void begin_launch(std::string_view /*name*/, const TileGrid& grid) override {
    grid_ = &grid;
    launches_.emplace_back();
  }
  void mark() override { marks_.mark(launches_.back()); }
  void repeat(Index times) override { marks_.repeat(launches_.back(), times); }

  /// One entry per launch, in the order in which they ran.
  const std::vector<Counts>& launches() const { return launches_; }

 protected:
  const TileGrid& grid() const { return *grid_; }
  Counts& counts() { return launches_.back(); }

 private:
  const TileGrid* grid_ = nullptr;
  std::vector<Counts> launches_;
  MarkedCounts<Counts> marks_;
};

}  // namespace attnscope
