#include "sim/schedule/schedules.h"

namespace attnscope {

namespace {

/// The tile of another tensor at the same position: the same queries and keys, slot and share.
Tile beside(Tile tile, Tensor tensor) {
  tile.tensor = tensor;
  return tile;
}

}  // namespace

void cap_keeping_slope(const TileGrid& g, Tile S, std::uint8_t line, Program& program) {
  if (!g.problem().score.soft_cap) return;
  program.at(line).soft_cap(S);
  program.soft_cap_slope(beside(S, Tensor::T), S);
}

namespace {

/// The bias and the mask, which have no gradient.
void bias_and_mask(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                   Program& program) {
  if (g.problem().score.has_alibi()) {
    program.at(lines.alibi).alibi(S);
  }
  if (masked) {
    program.at(lines.mask).mask(S);
  }
}

bool takes(ScoreStep step, const ScheduleOptions& options) {
  const ScoreStepFlags& taken = options.score_steps;
  switch (step) {
    case ScoreStep::soft_cap:
      return taken.soft_cap;
    case ScoreStep::alibi:
      return taken.alibi;
    case ScoreStep::dropout:
      return taken.dropout;
    case ScoreStep::no_dropout:
      return !taken.dropout;
    case ScoreStep::fused_mask:
      return !masks_apart(options);
    case ScoreStep::fused_dropout:
      return taken.dropout && !drops_apart(options);
    case ScoreStep::asked_lse:
      return options.standard_writes_lse;
    case ScoreStep::always:
      break;
  }
  return true;
}

}  // namespace

void shape_scores(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                  Program& program) {
  if (g.problem().score.soft_cap) {
    program.at(lines.soft_cap).soft_cap(S);
  }
  bias_and_mask(g, S, masked, lines, program);
}

void shape_scores_keeping_slope(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                                Program& program) {
  cap_keeping_slope(g, S, lines.soft_cap, program);
  bias_and_mask(g, S, masked, lines, program);
}

void apply_cap_slope(const TileGrid& g, Tile dS, Tile S, std::uint8_t line, Program& program) {
  if (!g.problem().score.soft_cap) return;
  program.at(line).multiply(dS, last_use(beside(S, Tensor::T)));
}

void add_to_dv(const TileGrid& g, Tile dV, Tile P, Tile dO, const ValueGradientLines& lines,
               Program& program) {
  if (!g.problem().score.has_dropout()) {
    program.at(lines.plain).accumulate_transposed(dV, P, dO);
    return;
  }
  const Tile P_drop = beside(P, Tensor::P_drop);
  program.at(lines.drop).dropout(P_drop, P);
  program.at(lines.dropped).accumulate_transposed(dV, last_use(P_drop), dO);
}

void drop(const TileGrid& g, Tile tile, std::uint8_t line, Program& program) {
  if (!g.problem().score.has_dropout()) return;
  program.at(line).dropout(tile, tile);
}

void show_only_taken_steps(const ScheduleOptions& options, Pass& pass) {
  for (Launch& launch : pass.launches) {
    auto shown = std::make_shared<ShownCode>();
    for (const PseudoLine& line : launch.pseudo_code) {
      shown->line_numbers.push_back(static_cast<std::uint8_t>(shown->lines.size()));
      if (takes(line.when, options)) shown->lines.push_back(line);
    }
    launch.shown = shown;
    launch.pseudo_code = shown->lines;
  }
}

}  // namespace attnscope
