/// The facts about each kind of operation, one row each: its operands and its sentence.
#pragma once

#include <algorithm>
#include <array>

#include "sim/ops/tile_op.h"

namespace attnscope {

struct OpInfo {
  OpKind kind;
  std::uint8_t dests, sources;  ///< tiles that it writes and reads
  /// What it did: `to` is its destination, `result` the same by what it now holds; a, b and c are
  /// its sources, P the first one as probabilities, `maxima` and `sums` those of its rows.
  std::string_view sentence;
};

inline constexpr auto kOpInfo = std::to_array<OpInfo>({
    {OpKind::load, 1, 1, "{a} ({size}) is loaded: {bytes} bytes requested."},
    {OpKind::store, 1, 1, "{to} ({size}) is stored: {bytes} bytes requested."},
    {OpKind::fill_zero, 1, 0, "{to} ({size}) starts at 0, on chip."},
    {OpKind::fill_minus_inf, 1, 0, "{to} ({size}) starts at -inf, on chip."},
    {OpKind::scores, 1, 2, "{to} = scale · {a} {b}ᵀ ({size}): {products}."},
    {OpKind::mask, 1, 1, "Hidden keys of {to} become -inf."},
    {OpKind::row_max, 1, 1, "{to} = row maxima of {a}."},
    {OpKind::running_max, 2, 1, "{to} = max({to}, {maxima}); {alpha} = exp(old - new)."},
    {OpKind::exp, 1, 2, "{result} = exp({a} - {b}) ({size}): on chip, no bytes move."},
    {OpKind::row_sum, 1, 1, "{to} = row sums of {P}."},
    {OpKind::add_row_sum, 1, 1, "{to} = {to} + {sums}."},
    {OpKind::rescale, 1, 1, "{to} = {a} · {to}, row by row."},
    {OpKind::accumulate, 1, 2, "{to} = {to} + {a} {b} ({size}): {products}."},
    {OpKind::normalize, 1, 1, "{result} = {result} / {a}, row by row."},
    {OpKind::log_sum_exp, 1, 2, "{to} = {a} + log {b}."},
    {OpKind::convert, 1, 1, "{to} = {a}, rounded."},
    {OpKind::product_transposed, 1, 2, "{to} = {a} {b}ᵀ ({size}): {products}."},
    {OpKind::accumulate_transposed, 1, 2, "{to} = {to} + {a}ᵀ {b} ({size}): {products}."},
    {OpKind::gradient_product, 1, 2, "{to} = {to} + scale · {a} {b} ({size}): {products}."},
    {OpKind::gradient_product_transposed, 1, 2,
     "{to} = {to} + scale · {a}ᵀ {b} ({size}): {products}."},
    {OpKind::row_dot, 1, 2, "{to} = row sums of {a} ∘ {b}."},
    {OpKind::add_row_dot, 1, 2, "{to} = {to} + row sums of {a} ∘ {b}."},
    {OpKind::softmax_gradient, 1, 3, "{result} = {a} ∘ ({b} - {c})."},
    {OpKind::add, 1, 1, "{to} = {to} + {a}."},
    {OpKind::atomic_add, 1, 1, "{a} is added to {to} atomically, in L2: {bytes} bytes requested."},
    {OpKind::soft_cap, 1, 1, "{to} = {cap} · tanh({to} / {cap})."},
    {OpKind::soft_cap_slope, 1, 1, "{to} = 1 - ({a} / {cap})², the derivative of the cap."},
    {OpKind::alibi, 1, 1, "{to} is lowered by slope · distance of query and key."},
    {OpKind::dropout, 1, 1, "{result} = {P} where dropout keeps it, times {kept:.4g}; else 0."},
    {OpKind::multiply, 1, 1, "{result} = {result} ∘ {a}."},
    {OpKind::scale, 1, 1, "{to} = scale · {to} ({size})."},
    {OpKind::mask_gradient, 1, 1, "Hidden keys of {to} become 0."},
    {OpKind::dropout_factors, 1, 0, "{to} ({size}): 0 where dropout drops, 1 / (1 - p) elsewhere."},
});

constexpr const OpInfo& info_of(OpKind kind) {
  return kOpInfo[static_cast<std::size_t>(kind)];
}

/// Whether the sentence names no more sources than the operation has.
constexpr bool names_its_operands(const OpInfo& info) {
  const auto names = [&](std::string_view part) {
    return info.sentence.find(part) != std::string_view::npos;
  };
  const int named = names("{c}") ? 3 : names("{b}") ? 2 : names("{a}") ? 1 : 0;
  return named <= info.sources && names("{alpha}") == (info.dests > 1);
}

static_assert(kOpInfo.size() == kOpKindCount);
static_assert(
    [] {
      for (int kind = 0; kind < kOpKindCount; ++kind) {
        const OpInfo& info = info_of(OpKind(kind));
        if (info.kind != OpKind(kind) || !names_its_operands(info)) return false;
      }
      return true;
    }(),
    "a row for each kind, in the order of the enumeration");

}  // namespace attnscope
