#include "app/seek/thing.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/snapshot/describe_op.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

template <typename Test>
bool any_operand(const TileOp& op, const Test& test) {
  return std::ranges::any_of(op.dests(), test) || std::ranges::any_of(op.sources(), test);
}

template <typename Visit>
void for_each_operand(const TileOp& op, const Visit& visit) {
  std::ranges::for_each(op.dests(), visit);
  std::ranges::for_each(op.sources(), visit);
}

/// The smallest span that holds both.
Span joined(const std::optional<Span>& span, const Span& other) {
  if (!span) return other;
  return {std::min(span->begin, other.begin), std::max(span->end, other.end)};
}

/// Adds the elements of a tensor to what is highlighted.
void add(Tensor tensor, const Area& area, const AttentionProblem& problem, Highlight& highlight) {
  highlight.tensors.set(static_cast<std::size_t>(tensor));
  switch (layout_of(tensor)) {
    case TensorLayout::key_by_d:
      highlight.keys = joined(highlight.keys, area.rows);
      return;
    case TensorLayout::group_key_by_d:  // the keys of each query head, one after another
      highlight.group_row = area.rows.begin / problem.N_kv * problem.N_kv;
      highlight.keys = joined(highlight.keys, {area.rows.begin - highlight.group_row,
                                               area.rows.end - highlight.group_row});
      return;
    case TensorLayout::query_by_key:
      highlight.keys = joined(highlight.keys, area.cols);
      break;
    case TensorLayout::query_by_d:
    case TensorLayout::query_by_one:
    case TensorLayout::query_by_split_d:
    case TensorLayout::query_by_split:
      break;
  }
  highlight.queries = joined(highlight.queries, area.rows);
}

void add_line(const CodeLine& line, const Snapshot& snapshot, Highlight& highlight) {
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  if (line.launch != launch) return;
  highlight.tensors = snapshot.run->line_operands[launch][line.line].all;
  const TileGrid& grid = snapshot.run->grids[launch];
  const Index row = grid.row_begin(snapshot.i);
  highlight.queries = Span{row, row + grid.rows_of(snapshot.i)};
  if (snapshot.j == kAllColumns) return;
  const Index col = grid.col_begin(snapshot.j);
  highlight.keys = Span{col, col + grid.cols_of(snapshot.j)};
}

}  // namespace

Area area_of(const RunInfo& run, std::size_t launch, const Tile& tile) {
  const TileGrid& grid = run.grids[launch];
  const Shape origin = grid.origin(tile);
  const Shape shape = grid.shape(tile);
  return {{origin.rows, origin.rows + shape.rows}, {origin.cols, origin.cols + shape.cols}};
}

bool touches(const Thing& thing, const RunInfo& run, const Operation& operation) {
  const auto meets = [&](const Tile& tile, const Area& area) {
    return area_of(run, operation.launch, tile).meets(area);
  };
  if (const auto* scores = std::get_if<ScoreTile>(&thing)) {
    return any_operand(operation.op, [&](const Tile& tile) {
      return is_score(tile.tensor) && meets(tile, scores->area);
    });
  }
  if (const auto* memory = std::get_if<MemoryTile>(&thing)) {
    return any_operand(operation.op, [&](const Tile& tile) {
      return !tile.on_chip() && tile.tensor == memory->tensor && meets(tile, memory->area);
    });
  }
  if (const auto* chip = std::get_if<ChipTile>(&thing)) {
    return any_operand(operation.op, [&](const Tile& tile) {
      return tile.on_chip() && tile.tensor == chip->tensor && meets(tile, chip->area);
    });
  }
  if (const auto* line = std::get_if<CodeLine>(&thing)) {
    return line->launch == operation.launch && line->line == operation.op.line;
  }
  return std::get<Operation>(thing) == operation;
}

std::string in_words(const Thing& thing) {
  if (std::holds_alternative<ScoreTile>(thing)) return "this tile of the scores";
  if (const auto* memory = std::get_if<MemoryTile>(&thing)) {
    return fmt::format("this tile of {}", tensor_name(memory->tensor));
  }
  if (const auto* chip = std::get_if<ChipTile>(&thing)) {
    return fmt::format("this tile of {} on chip", tensor_name(chip->tensor));
  }
  return std::holds_alternative<CodeLine>(thing) ? "this line" : "this operation";
}

std::optional<Area> Highlight::part_of(Tensor tensor, const Shape& shape) const {
  if (!tensors[static_cast<std::size_t>(tensor)]) return std::nullopt;
  const Span all_rows{0, shape.rows};
  const Span all_cols{0, shape.cols};
  switch (layout_of(tensor)) {
    case TensorLayout::key_by_d:
      if (!keys) return std::nullopt;
      return Area{*keys, all_cols};
    case TensorLayout::group_key_by_d:
      if (!keys) return std::nullopt;
      return Area{{group_row + keys->begin, group_row + keys->end}, all_cols};
    case TensorLayout::query_by_key:
      if (!queries && !keys) return std::nullopt;
      return Area{queries.value_or(all_rows), keys.value_or(all_cols)};
    case TensorLayout::query_by_d:
    case TensorLayout::query_by_one:
    case TensorLayout::query_by_split_d:
    case TensorLayout::query_by_split:
      break;
  }
  if (!queries) return std::nullopt;
  return Area{*queries, all_cols};
}

Highlight highlight_of(const Thing& thing, const Snapshot& snapshot) {
  const RunInfo& run = *snapshot.run;
  const AttentionProblem& problem = run.problem();
  Highlight highlight;
  highlight.group_row = run.head % problem.heads_per_kv_head() * problem.N_kv;
  if (const auto* scores = std::get_if<ScoreTile>(&thing)) {
    highlight.queries = scores->area.rows;
    highlight.keys = scores->area.cols;
    highlight.tensors.set();
  } else if (const auto* memory = std::get_if<MemoryTile>(&thing)) {
    add(memory->tensor, memory->area, problem, highlight);
  } else if (const auto* chip = std::get_if<ChipTile>(&thing)) {
    add(chip->tensor, chip->area, problem, highlight);
  } else if (const auto* line = std::get_if<CodeLine>(&thing)) {
    add_line(*line, snapshot, highlight);
  } else {
    const auto& operation = std::get<Operation>(thing);
    for_each_operand(operation.op, [&](const Tile& tile) {
      add(tile.tensor, area_of(run, operation.launch, tile), problem, highlight);
    });
  }
  return highlight;
}

bool is_line_of(const Thing& thing, const CodeLine& line, const RunInfo& run) {
  const LineOperands& operands = run.line_operands[line.launch][line.line];
  if (std::holds_alternative<ScoreTile>(thing)) {
    return std::ranges::any_of(kTensors, [&](Tensor tensor) {
      return is_score(tensor) && operands.all[static_cast<std::size_t>(tensor)];
    });
  }
  if (const auto* memory = std::get_if<MemoryTile>(&thing)) {
    return operands.in_memory[static_cast<std::size_t>(memory->tensor)];
  }
  if (const auto* chip = std::get_if<ChipTile>(&thing)) {
    return operands.all[static_cast<std::size_t>(chip->tensor)];
  }
  if (const auto* pointed = std::get_if<CodeLine>(&thing)) {
    return pointed->launch == line.launch && pointed->line == line.line;
  }
  const auto& operation = std::get<Operation>(thing);
  return operation.launch == line.launch && operation.op.line == line.line;
}

}  // namespace attnscope::app
