#include "app/panels/traffic_formulas.h"

#include <algorithm>

namespace attnscope::app {

namespace {

constexpr bool kRead = false;
constexpr bool kWrite = true;
constexpr Index kWideBytes = 4;  // dQ while it is added to

/// dK and dV: written at once, or, where query heads share a KV head, for each of them first.
void add_key_gradients(const FormulaRequest& request, std::vector<TrafficFormula>& all) {
  const AttentionProblem& p = request.run.problem;
  const Index bytes = p.N_kv * p.d * size_bytes(p.dtype);
  const std::string text = "N_kv · d · e";
  const Index group = request.options.heads_per_kv_head;
  if (group > 1) {
    for (const Tensor tensor : {Tensor::dK_heads, Tensor::dV_heads}) {
      all.push_back({tensor, kWrite, bytes, text});
      all.push_back({tensor, kRead, group * bytes, "(heads of the group) · " + text, true});
    }
  }
  for (const Tensor tensor : {Tensor::dK, Tensor::dV}) {
    all.push_back({tensor, kWrite, bytes, text, group > 1});
  }
}

/// Rows that all column tiles visit together, in words.
std::string sweeps_text(const FormulaRequest& request, const Visits& visits) {
  const AttentionProblem& p = request.run.problem;
  const bool all_tiles = visits.rows == ceil_div(p.N_kv, request.run.tiling.Bc) * p.N;
  return all_tiles ? "Tc · N" : "Σ_j (rows that see j)";
}

/// K and V are loaded for every column tile that is not all padding, or only for those that are
/// used.
Index loaded_keys(const FormulaRequest& request, const Visits& visits) {
  if (request.options.variant.skip_unused_kv) return visits.keys_seen;
  const AttentionProblem& p = request.run.problem;
  if (!p.has_key_lengths()) return p.N_kv;
  const Index length = p.key_lengths[static_cast<std::size_t>(request.b)];
  if (request.options.skips_padded_keys) return length;
  return std::min(ceil_div(length, request.run.tiling.Bc) * request.run.tiling.Bc, p.N_kv);
}

std::vector<TrafficFormula> flash2(const FormulaRequest& request, const Visits& v) {
  const AttentionProblem& p = request.run.problem;
  const Index e = size_bytes(p.dtype);
  const Index Nd = p.N * p.d;
  const Index keys = loaded_keys(request, v) * p.d * e;
  const std::string sweeps = sweeps_text(request, v);
  const std::string once = keys == p.N_kv * p.d * e ? "N_kv · d · e" : "(keys loaded) · d · e";
  std::vector<TrafficFormula> all{
      {Tensor::Q, kRead, v.rows * p.d * e, sweeps + " · d · e"},
      {Tensor::K, kRead, keys, once},
      {Tensor::V, kRead, keys, once},
      {Tensor::O, kRead, Nd * e, "N · d · e, for D"},
      {Tensor::dO, kRead, v.rows * p.d * e + Nd * e, sweeps + " · d · e + N · d · e"},
      {Tensor::LSE, kRead, v.rows * kStatisticBytes, sweeps + " · 4"},
      {Tensor::D, kWrite, p.N * kStatisticBytes, "4 · N"},
      {Tensor::D, kRead, v.rows * kStatisticBytes, sweeps + " · 4"},
      {Tensor::dQ_accum, kWrite, Nd * kWideBytes + v.rows * p.d * kWideBytes,
       "N · d · 4, zeros, + " + sweeps + " · d · 4, atomic adds"},
      {Tensor::dQ_accum, kRead, Nd * kWideBytes, "N · d · 4"},
      {Tensor::dQ, kWrite, Nd * e, "N · d · e"}};
  add_key_gradients(request, all);
  return all;
}

std::vector<TrafficFormula> flash1(const FormulaRequest& request, const Visits& v) {
  const AttentionProblem& p = request.run.problem;
  const Index e = size_bytes(p.dtype);
  const bool wide = request.options.variant.carry == Carry::fp32;
  const Index carried = wide ? kWideBytes : e;
  const Tensor dQ = wide ? Tensor::dQ_accum : Tensor::dQ;
  const Index keys = loaded_keys(request, v) * p.d * e;
  const std::string sweeps = sweeps_text(request, v);
  const std::string once = keys == p.N_kv * p.d * e ? "N_kv · d · e" : "(keys loaded) · d · e";
  const std::string carried_text = sweeps + (wide ? " · d · 4" : " · d · e");
  std::vector<TrafficFormula> all{{Tensor::Q, kRead, v.rows * p.d * e, sweeps + " · d · e"},
                                  {Tensor::K, kRead, keys, once},
                                  {Tensor::V, kRead, keys, once},
                                  {Tensor::O, kRead, v.rows * p.d * e, sweeps + " · d · e"},
                                  {Tensor::dO, kRead, v.rows * p.d * e, sweeps + " · d · e"},
                                  {Tensor::l, kRead, v.rows * kStatisticBytes, sweeps + " · 4"},
                                  {Tensor::m, kRead, v.rows * kStatisticBytes, sweeps + " · 4"},
                                  {dQ, kRead, v.rows * p.d * carried, carried_text},
                                  {dQ, kWrite, v.rows * p.d * carried, carried_text}};
  if (wide) {
    TrafficFormula& read = all[all.size() - 2];
    read.bytes += p.N * p.d * kWideBytes;  // once more by the launch that rounds it
    read.text += " + N · d · 4";
    all.push_back({Tensor::dQ, kWrite, p.N * p.d * e, "N · d · e"});
  }
  add_key_gradients(request, all);
  return all;
}

std::vector<TrafficFormula> standard(const FormulaRequest& request) {
  const AttentionProblem& p = request.run.problem;
  const Index e = size_bytes(p.dtype);
  const Index scores = p.N * p.N_kv * e;
  const Index Tr = ceil_div(p.N, request.run.tiling.Br);
  const Index Tc = ceil_div(p.N_kv, request.run.tiling.Bc);
  const Index rows = Tc * p.N * p.d * e;
  const Index keys = Tr * p.N_kv * p.d * e;
  const Index sweeps = request.options.gradient_panel_cols == 0 ? 1 : 2;
  const std::string square = "N · N_kv · e";
  const std::string row_panels = "Tc · N · d · e";
  const std::string key_panels = "Tr · N_kv · d · e";
  std::vector<TrafficFormula> all{
      {Tensor::Q, kRead, rows, row_panels},
      {Tensor::K, kRead, keys, key_panels},
      {Tensor::V, kRead, keys, key_panels},
      {Tensor::dO, kRead, 2 * rows, "2 · " + row_panels},
      {Tensor::dP, kWrite, scores, square},
      {Tensor::dP, kRead, sweeps * scores, sweeps == 1 ? square : "2 · " + square},
      {Tensor::dS, kWrite, scores, square},
      {Tensor::dS, kRead, 2 * scores, "2 · " + square},
      {Tensor::dQ, kWrite, p.N * p.d * e, "N · d · e"}};
  // dV is made of what dropout left of P, dS of P itself; the cap's derivative needs S again
  const auto squares = [&](Index count) {
    return count == 1 ? square : std::to_string(count) + " · " + square;
  };
  const bool drops = p.score.has_dropout();
  const Index P_reads = sweeps + (drops ? 0 : 1);
  all.push_back({Tensor::P, kRead, P_reads * scores, squares(P_reads)});
  if (drops) all.push_back({Tensor::P_drop, kRead, scores, square});
  if (p.score.soft_cap) all.push_back({Tensor::S, kRead, scores, square});
  add_key_gradients(request, all);
  return all;
}

}  // namespace

std::vector<TrafficFormula> gradient_formulas(const FormulaRequest& request,
                                              const Algorithm& algorithm, const Visits& visits) {
  if (!algorithm.has_backward) return {};
  switch (algorithm.softmax) {
    case SoftmaxForm::whole_rows:
      return standard(request);
    case SoftmaxForm::divided_often:
      return flash1(request, visits);
    case SoftmaxForm::divided_once:
      return flash2(request, visits);
  }
  return {};
}

}  // namespace attnscope::app
