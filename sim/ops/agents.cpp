#include "sim/ops/agents.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/check.h"

namespace attnscope {

std::string agent_name(Agent agent) {
  switch (agent) {
    case Agent::block:
      return "";
    case Agent::producer:
      return "producer";
    case Agent::statistics_loader:
      return "statistics loader";
    case Agent::dQ_adder:
      return "dQ adder";
    default:
      return fmt::format("consumer {}", number_of(agent));
  }
}

void Agents::add(Agent agent, std::span<const TileOp> ops) {
  auto found = std::ranges::find(agents_, agent, &Sequence::agent);
  if (found == agents_.end()) found = agents_.insert(found, Sequence{agent, {}});
  found->ops.insert(found->ops.end(), ops.begin(), ops.end());
}

Index& Agents::arrivals_at(const Barrier& barrier) {
  const std::size_t slot = barrier.tile.slot;
  ATTNSCOPE_CHECK(slot, <=, kMostSlots);
  return arrivals_[static_cast<std::size_t>(barrier.tile.tensor)]
                  [2 * slot + static_cast<std::size_t>(barrier.signals)];
}

bool Agents::is_complete(const Barrier& barrier) {
  return arrivals_at(barrier) >= Index{barrier.arrivals} * (barrier.phase + 1);
}

bool Agents::advance(Sequence& sequence, const Emit& emit) {
  const std::size_t begin = sequence.next;
  for (; !sequence.ended(); ++sequence.next) {
    const TileOp& op = sequence.ops[sequence.next];
    if (op.kind == OpKind::wait && !op.skipped && !is_complete(op.barrier())) break;
    if (op.kind == OpKind::arrive && !op.skipped) ++arrivals_at(op.barrier());
    emit(op);
  }
  return sequence.next > begin;
}

void Agents::run(const Emit& emit, const Report& report) {
  for (bool any_ran = true; any_ran;) {
    any_ran = false;
    for (Sequence& sequence : agents_) any_ran = advance(sequence, emit) || any_ran;
  }

  std::vector<StuckAgent> stuck;
  for (const Sequence& sequence : agents_) {
    if (sequence.ended()) continue;
    stuck.push_back({sequence.agent, sequence.ops[sequence.next].barrier()});
  }
  if (!stuck.empty()) report(stuck);
  for (Sequence& sequence : agents_) {
    for (; !sequence.ended(); ++sequence.next) {
      TileOp& op = sequence.ops[sequence.next];
      op.skipped = op.unreached = true;
      emit(op);
    }
  }
  agents_.clear();
  arrivals_ = {};
}

}  // namespace attnscope
