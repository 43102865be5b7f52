#include "app/panels/ledger/traffic_formulas.h"

#include <algorithm>

#include "reference/block_mask.h"

namespace attnscope::app {

namespace {

/// Sums over the tiles that a mask does not skip, computed from the mask alone, without the
/// schedules.
struct Visits {
  Index keys = 0;          ///< sum over row tiles of the keys in the column tiles that each visits
  Index rows = 0;          ///< sum over visited tiles of their query rows
  Index keys_seen = 0;     ///< keys in the column tiles that any row tile visits
  Index keys_in_band = 0;  ///< keys_seen, ignoring the block mask
};

/// For each column tile, whether a row of [first_row, past_row) sees one of its keys.
std::vector<bool> column_tiles_seen(const AttentionProblem& problem, const Tiling& tiling,
                                    Index first_row, Index past_row, Index b) {
  std::vector<bool> seen(static_cast<std::size_t>(ceil_div(problem.N_kv, tiling.Bc)), false);
  KeyRange previous;
  for (Index row = first_row; row < past_row; ++row) {
    const KeyRange keys = problem.keys_of(row, b);
    if (keys == previous || keys.size() == 0) continue;
    previous = keys;
    for (Index j = keys.begin / tiling.Bc; j * tiling.Bc < keys.end; ++j) {
      seen[static_cast<std::size_t>(j)] = true;
    }
  }
  return seen;
}

/// The visits of batch entry `b`, which may have a separate key length: with skips_padded_keys,
/// keys beyond it do not count, as in ScheduleOptions.
Visits count_visits(const AttentionProblem& problem, const Tiling& tiling, Index b,
                    bool skips_padded_keys) {
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  const Index key_end = skips_padded_keys && problem.has_key_lengths()
                            ? problem.key_lengths[static_cast<std::size_t>(b)]
                            : problem.N_kv;
  const auto keys_of_tile = [&](Index j) {
    return std::max<Index>(0, std::min((j + 1) * tiling.Bc, key_end) - j * tiling.Bc);
  };
  std::vector<bool> seen(static_cast<std::size_t>(Tc), false);
  std::vector<bool> in_band = seen;
  Visits visits;
  for (Index i = 0; i * tiling.Br < problem.N; ++i) {
    const Index first_row = i * tiling.Br;
    const Index past_row = std::min(first_row + tiling.Br, problem.N);
    const std::vector<bool> of_rows = column_tiles_seen(problem, tiling, first_row, past_row, b);
    for (Index j = 0; j < Tc; ++j) {
      if (!of_rows[static_cast<std::size_t>(j)]) continue;
      in_band[static_cast<std::size_t>(j)] = true;
      if (problem.block_mask != nullptr && !problem.block_mask->contains(i, j)) continue;
      seen[static_cast<std::size_t>(j)] = true;
      visits.keys += keys_of_tile(j);
      visits.rows += past_row - first_row;
    }
  }
  for (Index j = 0; j < Tc; ++j) {
    if (seen[static_cast<std::size_t>(j)]) visits.keys_seen += keys_of_tile(j);
    if (in_band[static_cast<std::size_t>(j)]) visits.keys_in_band += keys_of_tile(j);
  }
  return visits;
}

/// A number and its notation in formulas: a symbol, or an expression of symbols.
struct Term {
  Index value = 0;
  std::string text;
};
Term operator*(const Term& a, const Term& b) {
  return {a.value * b.value, a.text + " · " + b.text};
}
Term operator+(const Term& a, const Term& b) {
  return {a.value + b.value, a.text + " + " + b.text};
}

Term times(Index count, const Term& term) {
  return count == 1 ? term : Term{count, std::to_string(count)} * term;
}

TrafficFormula reads(Tensor tensor, const Term& bytes, bool per_kv_head = false) {
  return {tensor, false, bytes.value, bytes.text, per_kv_head};
}
TrafficFormula writes(Tensor tensor, const Term& bytes, bool per_kv_head = false) {
  return {tensor, true, bytes.value, bytes.text, per_kv_head};
}

/// The number of keys whose K and V the backward pass loads: the keys in every column tile that is
/// not all padding, or only in the tiles that are used.
Index count_loaded_keys(const FormulaRequest& request, const Visits& visits) {
  const AttentionProblem& problem = request.run.problem;
  if (request.options.variant.skip_unused_kv) return visits.keys_seen;
  if (!problem.has_key_lengths()) return problem.N_kv;
  const Index length = problem.key_lengths[static_cast<std::size_t>(request.b)];
  if (request.options.skips_padded_keys) return length;
  return std::min(ceil_div(length, request.run.tiling.Bc) * request.run.tiling.Bc, problem.N_kv);
}

/// The symbols of a request's formulas.
struct Symbols {
  explicit Symbols(const FormulaRequest& request)
      : problem(request.run.problem),
        options(request.options),
        visits(count_visits(problem, request.run.tiling, request.b, options.skips_padded_keys)),
        Tr{ceil_div(problem.N, request.run.tiling.Br), "Tr"},
        Tc{ceil_div(problem.N_kv, request.run.tiling.Bc), "Tc"},
        rows{visits.rows, "Σ_j (rows that see j)"},
        keys_loaded{count_loaded_keys(request, visits), "(keys loaded)"},
        carried(options.variant.carry == Carry::fp32 ? wide : e()) {
    if (visits.rows == Tc.value * problem.N) rows.text = "Tc · N";
    if (keys_loaded.value == problem.N_kv) keys_loaded.text = "N_kv";
  }
  Term N() const { return {problem.N, "N"}; }
  Term N_kv() const { return {problem.N_kv, "N_kv"}; }
  Term d() const { return {problem.d, "d"}; }
  Term e() const { return {size_bytes(problem.dtype), "e"}; }

  const AttentionProblem& problem;
  const ScheduleOptions& options;
  Visits visits;
  Term Tr, Tc;
  Term rows;         ///< query rows of the tiles that are visited
  Term keys_loaded;  ///< keys that the backward pass loads
  Term statistic{kStatisticBytes, "4"};
  Term wide{4, "4"};  ///< bytes of an element in fp32
  Term carried;  ///< bytes of an element of flash1's O or dQ in HBM between sweeps over the keys
};

std::vector<TrafficFormula> flash2_forward(const Symbols& s) {
  const bool all_tiles = s.visits.keys == s.Tr.value * s.problem.N_kv;
  const Term keys = all_tiles ? s.Tr * s.N_kv() * s.d() * s.e()
                              : s.d() * s.e() * Term{s.visits.keys, "Σ_i (keys that i visits)"};
  return {reads(Tensor::Q, s.N() * s.d() * s.e()), reads(Tensor::K, keys), reads(Tensor::V, keys),
          writes(Tensor::O, s.N() * s.d() * s.e()), writes(Tensor::LSE, s.statistic * s.N())};
}

std::vector<TrafficFormula> flash1_forward(const Symbols& s) {
  const bool in_fp32 = s.options.variant.carry == Carry::fp32;
  const Tensor O = in_fp32 ? Tensor::O_carry : Tensor::O;
  Term keys{s.options.variant.skip_unused_kv ? s.visits.keys_seen : s.visits.keys_in_band, "N_kv"};
  if (keys.value != s.problem.N_kv) keys.text = "(visible keys)";
  const Term sweeps = s.rows * s.d() * s.carried;
  // The launch that rounds O reads it again
  std::vector<TrafficFormula> all{
      reads(Tensor::Q, s.rows * s.d() * s.e()), reads(Tensor::K, keys * s.d() * s.e()),
      reads(Tensor::V, keys * s.d() * s.e()),
      reads(O, in_fp32 ? sweeps + s.N() * s.d() * s.wide : sweeps), writes(O, sweeps)};
  if (in_fp32) all.push_back(writes(Tensor::O, s.N() * s.d() * s.e()));
  for (const Tensor tensor : {Tensor::l, Tensor::m}) {
    all.push_back(reads(tensor, s.rows * s.statistic));
    all.push_back(writes(tensor, s.rows * s.statistic));
  }
  return all;
}

std::vector<TrafficFormula> standard_forward(const Symbols& s) {
  const Term scores = s.N() * s.N_kv() * s.e();
  const Index sweeps = s.options.softmax_panel_cols == 0 ? 1 : 2;
  std::vector<TrafficFormula> all{
      reads(Tensor::Q, s.Tc * s.N() * s.d() * s.e()),
      reads(Tensor::K, s.Tr * s.N_kv() * s.d() * s.e()), writes(Tensor::S, scores),
      reads(Tensor::S, times(sweeps, scores)), writes(Tensor::P, scores)};
  // With dropout, the product reads P after dropout
  const bool drops = s.problem.score.has_dropout();
  if (drops) all.push_back(writes(Tensor::P_drop, scores));
  all.push_back(reads(drops ? Tensor::P_drop : Tensor::P, scores));
  all.push_back(reads(Tensor::V, s.Tr * s.N_kv() * s.d() * s.e()));
  all.push_back(writes(Tensor::O, s.N() * s.d() * s.e()));
  if (s.options.standard_writes_lse) all.push_back(writes(Tensor::LSE, s.statistic * s.N()));
  return all;
}

/// The formulas of flash2's sweep for every split of the keys, and of the launch that merges them.
std::vector<TrafficFormula> split_kv_forward(const Symbols& s) {
  const Term splits{s.options.splits, "splits"};
  const Term O_parts = splits * s.N() * s.d() * s.wide;
  const Term LSE_parts = splits * s.N() * s.statistic;
  std::vector<TrafficFormula> all = flash2_forward(s);
  all.front() = reads(Tensor::Q, splits * s.N() * s.d() * s.e());
  for (const auto direction : {writes, reads}) {
    all.push_back(direction(Tensor::O_split, O_parts, false));
    all.push_back(direction(Tensor::LSE_split, LSE_parts, false));
  }
  return all;
}

/// Adds dK and dV: written directly, or, if query heads share a KV head, first for each query head.
void add_key_gradients(const Symbols& s, std::vector<TrafficFormula>& all) {
  const Term bytes = s.N_kv() * s.d() * s.e();
  const Term group{s.options.heads_per_kv_head, "(heads of the group)"};
  if (group.value > 1) {
    for (const Tensor tensor : {Tensor::dK_heads, Tensor::dV_heads}) {
      all.push_back(writes(tensor, bytes));
      all.push_back(reads(tensor, group * bytes, true));
    }
  }
  for (const Tensor tensor : {Tensor::dK, Tensor::dV}) {
    all.push_back(writes(tensor, bytes, group.value > 1));
  }
}

std::vector<TrafficFormula> flash2_backward(const Symbols& s) {
  const Term keys = s.keys_loaded * s.d() * s.e();
  const Term once = s.N() * s.d() * s.e();
  const Term sweeps = s.rows * s.d() * s.e();
  const Term zeros{(s.N() * s.d() * s.wide).value, "N · d · 4, zeros,"};
  Term adds = s.rows * s.d() * s.wide;
  adds.text += ", atomic adds";
  std::vector<TrafficFormula> all{reads(Tensor::Q, sweeps),
                                  reads(Tensor::K, keys),
                                  reads(Tensor::V, keys),
                                  reads(Tensor::O, {once.value, "N · d · e, for D"}),
                                  reads(Tensor::dO, sweeps + once),
                                  reads(Tensor::LSE, s.rows * s.statistic),
                                  writes(Tensor::D, s.statistic * s.N()),
                                  reads(Tensor::D, s.rows * s.statistic),
                                  writes(Tensor::dQ_accum, zeros + adds),
                                  reads(Tensor::dQ_accum, s.N() * s.d() * s.wide),
                                  writes(Tensor::dQ, once)};
  add_key_gradients(s, all);
  return all;
}

std::vector<TrafficFormula> flash1_backward(const Symbols& s) {
  const bool in_fp32 = s.options.variant.carry == Carry::fp32;
  const Tensor dQ = in_fp32 ? Tensor::dQ_accum : Tensor::dQ;
  const Term keys = s.keys_loaded * s.d() * s.e();
  const Term rows = s.rows * s.d() * s.e();
  const Term sweeps = s.rows * s.d() * s.carried;
  // The launch that rounds dQ reads it again
  std::vector<TrafficFormula> all{reads(Tensor::Q, rows),
                                  reads(Tensor::K, keys),
                                  reads(Tensor::V, keys),
                                  reads(Tensor::O, rows),
                                  reads(Tensor::dO, rows),
                                  reads(Tensor::l, s.rows * s.statistic),
                                  reads(Tensor::m, s.rows * s.statistic),
                                  reads(dQ, in_fp32 ? sweeps + s.N() * s.d() * s.wide : sweeps),
                                  writes(dQ, sweeps)};
  if (in_fp32) all.push_back(writes(Tensor::dQ, s.N() * s.d() * s.e()));
  add_key_gradients(s, all);
  return all;
}

std::vector<TrafficFormula> standard_backward(const Symbols& s) {
  const Term scores = s.N() * s.N_kv() * s.e();
  const Term rows = s.Tc * s.N() * s.d() * s.e();
  const Term keys = s.Tr * s.N_kv() * s.d() * s.e();
  const Index sweeps = s.options.gradient_panel_cols == 0 ? 1 : 2;
  // dV uses P after dropout, dS uses P itself; the cap's derivative needs S again
  const bool drops = s.problem.score.has_dropout();
  std::vector<TrafficFormula> all{reads(Tensor::Q, rows),
                                  reads(Tensor::K, keys),
                                  reads(Tensor::V, keys),
                                  reads(Tensor::dO, times(2, rows)),
                                  reads(Tensor::P, times(sweeps + (drops ? 0 : 1), scores)),
                                  writes(Tensor::dP, scores),
                                  reads(Tensor::dP, times(sweeps, scores)),
                                  writes(Tensor::dS, scores),
                                  reads(Tensor::dS, times(2, scores)),
                                  writes(Tensor::dQ, s.N() * s.d() * s.e())};
  if (drops) all.push_back(reads(Tensor::P_drop, scores));
  if (s.problem.score.soft_cap) all.push_back(reads(Tensor::S, scores));
  add_key_gradients(s, all);
  return all;
}

std::vector<TrafficFormula> forward_formulas(const Algorithm& algorithm, const Symbols& s) {
  if (algorithm.splits_keys) return split_kv_forward(s);
  if (algorithm.softmax == SoftmaxForm::whole_rows) return standard_forward(s);
  return algorithm.softmax == SoftmaxForm::divided_often ? flash1_forward(s) : flash2_forward(s);
}

/// The formulas of the backward pass alone (arXiv 2205.14135, Algorithms 3 and 4; 2307.08691,
/// Algorithm 2).
std::vector<TrafficFormula> backward_formulas(const Algorithm& algorithm, const Symbols& s) {
  if (!algorithm.has_backward) return {};
  if (algorithm.softmax == SoftmaxForm::whole_rows) return standard_backward(s);
  return algorithm.softmax == SoftmaxForm::divided_often ? flash1_backward(s) : flash2_backward(s);
}

/// Adds the formulas of another pass: formulas of the same tensor and direction are summed.
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
  ScheduleVariant variant = request.options.variant;
  variant.consumers = 0;  // agents and buffers do not change the bytes
  variant.stages = 1;
  if (algorithm == nullptr || !to_string(variant).empty()) return {};
  const Symbols symbols(request);
  std::vector<TrafficFormula> all;
  if (request.run.pass() != PassKind::backward) all = forward_formulas(*algorithm, symbols);
  if (request.run.pass() != PassKind::forward) {
    add(all, backward_formulas(*algorithm, symbols));
  }
  return all;
}

}  // namespace attnscope::app
