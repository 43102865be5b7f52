/// The agents of a thread block's program, and the order in which they run: an agent runs until it
/// reaches a wait whose phase is not complete, then the next one runs. The order is the same on
/// every run; values do not depend on it as long as no wait or arrive is missing.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/tile_op.h"

namespace attnscope {

/// "producer", "dQ adder", "consumer 1"; "" for a program without agents.
std::string agent_name(Agent agent);

/// An agent that waits forever because no arrival completes the phase.
struct StuckAgent {
  Agent agent = Agent::block;
  Barrier barrier;
};

/// The agents of one thread block, in program order.
class Agents {
 public:
  using Emit = std::function<void(const TileOp&)>;
  using Report = std::function<void(std::span<const StuckAgent>)>;

  /// Appends operations to an agent's sequence.
  void add(Agent agent, std::span<const TileOp> ops);
  bool any() const { return !agents_.empty(); }
  /// Emits every operation once, then discards all of them; a skipped wait or arrive has no effect.
  /// If no agent can continue, reports what each agent waits for; the remaining operations follow,
  /// agent by agent, as skipped and unreached.
  void run(const Emit& emit, const Report& report);

 private:
  struct Sequence {
    Agent agent;
    std::vector<TileOp> ops;
    std::size_t next = 0;
    bool ended() const { return next == ops.size(); }
  };

  Index& arrivals_at(const Barrier& barrier);
  bool is_complete(const Barrier& barrier);
  /// Runs the agent until it has to wait; returns whether it ran at all.
  bool advance(Sequence& sequence, const Emit& emit);

  std::vector<Sequence> agents_;
  std::array<std::array<Index, 2 * (kMostSlots + 1)>, kTensorCount> arrivals_{};
};

}  // namespace attnscope
