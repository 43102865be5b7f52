#include "app/panels/traffic_formulas.h"

#include <algorithm>

#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

constexpr bool kRead = false;
constexpr bool kWrite = true;

std::vector<TrafficFormula> flash2(const AttentionProblem& p, const Tiling& t, const Visits& v) {
  const Index e = size_bytes(p.dtype);
  const bool all_tiles = v.keys == ceil_div(p.N, t.Br) * p.N_kv;
  const std::string keys = all_tiles ? "Tr · N_kv · d · e" : "d · e · Σ_i (keys that i visits)";
  return {{Tensor::Q, kRead, p.N * p.d * e, "N · d · e"},
          {Tensor::K, kRead, v.keys * p.d * e, keys},
          {Tensor::V, kRead, v.keys * p.d * e, keys},
          {Tensor::O, kWrite, p.N * p.d * e, "N · d · e"},
          {Tensor::LSE, kWrite, p.N * kStatisticBytes, "4 · N"}};
}

std::vector<TrafficFormula> flash1(const AttentionProblem& p, const Tiling& t, const Visits& v,
                                   const ScheduleOptions& options) {
  const Index e = size_bytes(p.dtype);
  const bool wide = options.variant.carry == Carry::fp32;
  const Index carried = wide ? 4 : e;
  const Tensor O = wide ? Tensor::O_carry : Tensor::O;
  const bool all_tiles = v.rows == ceil_div(p.N_kv, t.Bc) * p.N;
  const std::string sweeps = all_tiles ? "Tc · N" : "Σ_j (rows that see j)";
  const Index keys = options.variant.skip_unused_kv ? v.keys_seen : v.keys_in_band;
  const std::string once = keys == p.N_kv ? "N_kv · d · e" : "(keys that are seen) · d · e";
  std::vector<TrafficFormula> all{
      {Tensor::Q, kRead, v.rows * p.d * e, sweeps + " · d · e"},
      {Tensor::K, kRead, keys * p.d * e, once},
      {Tensor::V, kRead, keys * p.d * e, once},
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
      {Tensor::V, kRead, Tr * p.N_kv * p.d * e, "Tr · N_kv · d · e"},
      {Tensor::O, kWrite, p.N * p.d * e, "N · d · e"}};
  // The product reads what dropout left of P, where there is dropout
  const bool drops = p.score.has_dropout();
  if (drops) all.push_back({Tensor::P_drop, kWrite, scores, "N · N_kv · e"});
  all.push_back({drops ? Tensor::P_drop : Tensor::P, kRead, scores, "N · N_kv · e"});
  if (options.standard_writes_lse) {
    all.push_back({Tensor::LSE, kWrite, p.N * kStatisticBytes, "4 · N"});
  }
  return all;
}

/// flash2's sweep for every split of the keys, and the launch that merges their parts.
std::vector<TrafficFormula> split_kv(const AttentionProblem& p, const Tiling& t, const Visits& v,
                                     const ScheduleOptions& options) {
  std::vector<TrafficFormula> all = flash2(p, t, v);
  const Index O_bytes = options.splits * p.N * p.d * kStatisticBytes;
  const Index LSE_bytes = options.splits * p.N * kStatisticBytes;
  all.front().bytes *= options.splits;
  all.front().text = "splits · " + all.front().text;
  for (const bool write : {kWrite, kRead}) {
    all.push_back({Tensor::O_split, write, O_bytes, "splits · N · d · 4"});
    all.push_back({Tensor::LSE_split, write, LSE_bytes, "splits · N · 4"});
  }
  return all;
}

std::vector<TrafficFormula> forward_formulas(const FormulaRequest& request,
                                             const Algorithm& algorithm, const Visits& visits) {
  const AttentionProblem& problem = request.run.problem;
  if (algorithm.splits_keys) return split_kv(problem, request.run.tiling, visits, request.options);
  switch (algorithm.softmax) {
    case SoftmaxForm::whole_rows:
      return standard(problem, request.run.tiling, request.options);
    case SoftmaxForm::divided_often:
      return flash1(problem, request.run.tiling, visits, request.options);
    case SoftmaxForm::divided_once:
      return flash2(problem, request.run.tiling, visits);
  }
  return {};
}

/// Adds the formulas of another pass: those of the same tensor and direction are summed.
void add(std::vector<TrafficFormula>& all, const std::vector<TrafficFormula>& others) {
  for (const TrafficFormula& other : others) {
    const auto same = std::ranges::find_if(all, [&](const TrafficFormula& formula) {
      return formula.tensor == other.tensor && formula.write == other.write;
    });
    if (same == all.end()) {
      all.push_back(other);
    } else {
      same->bytes += other.bytes;
      same->text += " + " + other.text;
    }
  }
}

}  // namespace

std::vector<TrafficFormula> traffic_formulas(const FormulaRequest& request) {
  const Algorithm* algorithm = find_algorithm(request.run.algorithm());
  if (algorithm == nullptr || !to_string(request.options.variant).empty()) return {};
  const Visits visits = count_visits(request.run.problem, request.run.tiling, request.b,
                                     request.options.skips_padded_keys);
  std::vector<TrafficFormula> all;
  if (request.run.pass() != PassKind::backward) all = forward_formulas(request, *algorithm, visits);
  if (request.run.pass() != PassKind::forward)
    add(all, gradient_formulas(request, *algorithm, visits));
  return all;
}

}  // namespace attnscope::app
