#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum ConvertLine : std::uint8_t { convert_rows, load_accum, round_dq, write_dq };
enum SumLine : std::uint8_t { sum_columns, start_sum, for_heads, load_head, add_head, write_sum };
// clang-format on

constexpr PseudoLine kConvertPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result."},
    {1, Step::load_fp32, "load dQ_i in fp32", "The sum of all column tiles' parts."},
    {1, Step::round, "round dQ_i to the problem's precision", "Rounded once, after the last add."},
    {1, Step::store_dQ, "store dQ_i", "The requested gradient."},
};
static_assert(has_each_step_once(kConvertPseudoCode));

constexpr PseudoLine kSumPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j of a KV head, in parallel",
     "Keys are independent."},
    {1, Step::start, "dK_j = 0; dV_j = 0", "The sums over the query heads start empty."},
    {1, Step::inner_loop, "for each query head of the group", "They all read this KV head."},
    {2, Step::load_head_gradients, "load its dK_j, dV_j", "Each query head has stored its part."},
    {2, Step::add_heads, "add them", "The gradient of a shared tensor is the sum over its uses."},
    {1, Step::store_key_gradients, "store dK_j, dV_j", "The gradients that the caller requested."},
};
static_assert(has_each_step_once(kSumPseudoCode));

void convert_dq(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile accumulated = g.row_tile(Tensor::dQ_accum, i);
  program.at(load_accum).load(accumulated);
  program.at(round_dq).convert(g.dQ(i), last_use(accumulated));
  program.at(write_dq).store(last_use(g.dQ(i)));
}

Tensor per_head(Tensor gradient) {
  return gradient == Tensor::dK ? Tensor::dK_heads : Tensor::dV_heads;
}

void sum_heads(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block);
  program.at(start_sum).fill_zero({g.dK(j), g.dV(j)});
  const auto heads = static_cast<std::int32_t>(g.options().heads_per_kv_head);
  for (const std::int32_t head : equal_parts(g, heads, program)) {
    const Tile dK_head{Tensor::dK_heads, 1, false, 0, head, j};
    const Tile dV_head{Tensor::dV_heads, 1, false, 0, head, j};
    program.at(load_head).load({dK_head, dV_head});
    program.at(add_head).add(g.dK(j), last_use(dK_head));
    program.add(g.dV(j), last_use(dV_head));
  }
  program.at(write_sum).store({last_use(g.dK(j)), last_use(g.dV(j))});
}

}  // namespace

bool loads_keys(const TileGrid& g, std::int32_t j) {
  const bool is_used = !g.options().variant.skip_unused_kv || !g.row_tiles_for(j).empty();
  return is_used && !g.is_padding(j);
}

void load_keys(const TileGrid& g, std::int32_t j, Program& program) {
  if (loads_keys(g, j)) program.load({g.K(j), g.V(j)});
}

void store_key_gradient(const TileGrid& g, Tile on_chip, Program& program) {
  const Index group = g.options().heads_per_kv_head;
  if (group == 1) {
    program.store(last_use(on_chip));
    return;
  }
  const auto head = static_cast<std::int32_t>(program.block().head % group);
  program.store(last_use(on_chip),
                {per_head(on_chip.tensor), Tile::kHbm, false, on_chip.part, head, on_chip.j});
}

void store_key_gradients(const TileGrid& g, std::int32_t j, Program& program) {
  store_key_gradient(g, g.dK(j), program);
  store_key_gradient(g, g.dV(j), program);
}

Launch convert_dq_launch() {
  return blind_launch({"convert", block_per_row_tile, convert_dq, kConvertPseudoCode});
}

void add_head_sum_launch(const ScheduleOptions& options, Pass& pass) {
  if (options.heads_per_kv_head == 1) return;
  Launch sum = blind_launch({"sum_heads", block_per_column_tile, sum_heads, kSumPseudoCode});
  sum.once_per_kv_head = sum.sums_group = true;
  pass.launches.push_back(sum);
}

}  // namespace attnscope
