#include "app/panels/traffic_formulas.h"

#include <algorithm>

namespace attnscope::app {

namespace {

/// What the mask leaves of the tile grid, from the mask's band alone.
struct Visits {
  Index keys = 0;         ///< sum over row tiles of the keys in the column tiles that each visits
  Index rows = 0;         ///< sum over visited tiles of their query rows
  Index keys_once = 0;    ///< keys in the column tiles that any row tile visits
  Index output_rows = 0;  ///< query rows of row tiles that visit any
};

Visits count_visits(const AttentionProblem& problem, const Tiling& tiling) {
  Visits visits;
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const auto keys_before = [&](Index tile) { return std::min(tile * tiling.Bc, problem.N_kv); };
  Index first_seen = Tc;
  Index past_seen = 0;
  for (Index row = 0; row < problem.N; row += tiling.Br) {
    const Index last = std::min(row + tiling.Br, problem.N) - 1;

    // The band moves right with the query: the first row sees the leftmost key, the last the
    // rightmost
    const KeyRange first_keys = problem.keys_of(row);
    const KeyRange last_keys = problem.keys_of(last);
    Index begin = std::max<Index>(first_keys.begin, 0);
    const Index end = std::min(last_keys.end, problem.N_kv);
    if (first_keys.begin >= first_keys.end)
      begin = std::min(begin, std::max<Index>(last_keys.begin, 0));
    if (begin >= end) continue;
    const Index first_tile = begin / tiling.Bc;
    const Index past_tile = ceil_div(end, tiling.Bc);
    visits.keys += keys_before(past_tile) - keys_before(first_tile);
    visits.rows += (last - row + 1) * (past_tile - first_tile);
    visits.output_rows += last - row + 1;
    first_seen = std::min(first_seen, first_tile);
    past_seen = std::max(past_seen, past_tile);
  }
  if (past_seen > first_seen) visits.keys_once = keys_before(past_seen) - keys_before(first_seen);
  return visits;
}

constexpr bool kRead = false;
constexpr bool kWrite = true;

std::vector<TrafficFormula> flash2(const AttentionProblem& p, const Visits& v) {
  const Index e = size_bytes(p.dtype);
  const std::string keys =
      p.mask.is_none() ? "Tr · N_kv · d · e" : "d · e · Σ_i (keys that i visits)";
  return {{Tensor::Q, kRead, p.N * p.d * e, "N · d · e"},
          {Tensor::K, kRead, v.keys * p.d * e, keys},
          {Tensor::V, kRead, v.keys * p.d * e, keys},
          {Tensor::O, kWrite, p.N * p.d * e, "N · d · e"},
          {Tensor::LSE, kWrite, p.N * kStatisticBytes, "4 · N"}};
}

std::vector<TrafficFormula> flash1(const AttentionProblem& p, const Visits& v, Carry carry) {
  const Index e = size_bytes(p.dtype);
  const bool wide = carry == Carry::fp32;
  const Index carried = wide ? 4 : e;
  const Tensor O = wide ? Tensor::O_carry : Tensor::O;
  const std::string sweeps = p.mask.is_none() ? "Tc · N" : "Σ_j (rows that see j)";
  std::vector<TrafficFormula> all{
      {Tensor::Q, kRead, v.rows * p.d * e, sweeps + " · d · e"},
      {Tensor::K, kRead, v.keys_once * p.d * e, "N_kv · d · e"},
      {Tensor::V, kRead, v.keys_once * p.d * e, "N_kv · d · e"},
      {O, kRead, v.rows * p.d * carried, sweeps + (wide ? " · d · 4" : " · d · e")},
      {O, kWrite, v.rows * p.d * carried, sweeps + (wide ? " · d · 4" : " · d · e")}};
  if (wide) {
    all[3].bytes += p.N * p.d * carried;  // read once more by the launch that rounds it
    all[3].text += " + N · d · 4";
    all.push_back({Tensor::O, kWrite, p.N * p.d * e, "N · d · e"});
  }
  for (const Tensor tensor : {Tensor::l, Tensor::m}) {
    all.push_back({tensor, kRead, v.rows * kStatisticBytes, sweeps + " · 4"});
    all.push_back({tensor, kWrite, v.rows * kStatisticBytes, sweeps + " · 4"});
  }
  return all;
}

std::vector<TrafficFormula> standard(const AttentionProblem& p, const Tiling& t,
                                     const ScheduleOptions& options) {
  const Index e = size_bytes(p.dtype);
  const Index scores = p.N * p.N_kv * e;
  const Index Tr = ceil_div(p.N, t.Br);
  const Index Tc = ceil_div(p.N_kv, t.Bc);
  const Index sweeps = options.softmax_panel_cols == 0 ? 1 : 2;
  std::vector<TrafficFormula> all{
      {Tensor::Q, kRead, Tc * p.N * p.d * e, "Tc · N · d · e"},
      {Tensor::K, kRead, Tr * p.N_kv * p.d * e, "Tr · N_kv · d · e"},
      {Tensor::S, kWrite, scores, "N · N_kv · e"},
      {Tensor::S, kRead, sweeps * scores, sweeps == 1 ? "N · N_kv · e" : "2 · N · N_kv · e"},
      {Tensor::P, kWrite, scores, "N · N_kv · e"},
      {Tensor::P, kRead, scores, "N · N_kv · e"},
      {Tensor::V, kRead, Tr * p.N_kv * p.d * e, "Tr · N_kv · d · e"},
      {Tensor::O, kWrite, p.N * p.d * e, "N · d · e"}};
  if (options.standard_writes_lse) {
    all.push_back({Tensor::LSE, kWrite, p.N * kStatisticBytes, "4 · N"});
  }
  return all;
}

}  // namespace

std::vector<TrafficFormula> traffic_formulas(std::string_view algorithm,
                                             const AttentionProblem& problem, const Tiling& tiling,
                                             const ScheduleOptions& options) {
  if (algorithm == "standard") return standard(problem, tiling, options);
  const Visits visits = count_visits(problem, tiling);
  if (algorithm == "flash1") return flash1(problem, visits, options.carry);
  if (algorithm == "flash2") return flash2(problem, visits);
  return {};
}

}  // namespace attnscope::app
