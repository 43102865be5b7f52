/// The properties of each kind of operation, one row each: its operands, its short name and its
/// sentence.
#pragma once

#include <algorithm>
#include <array>

#include "sim/ops/tile_op.h"

namespace attnscope {

struct OpInfo {
  OpKind kind;
  std::uint8_t dests, sources;  ///< tiles that it writes and reads
  /// Its short name, shown beside arrows: a, b and c are the names of its sources; `maxima` and
  /// `sums` depend on its first source's values per row. Empty if the tiles say enough.
  std::string_view label;
  /// A sentence about what it did: `to` is its destination, `result` the destination named by its
  /// new contents; a, b and c are its sources, P the first source as probabilities, `maxima` and
  /// `sums` those of its rows. `event` is the event that a barrier's phase signals to the `agent`
  /// that waits or arrives.
  std::string_view sentence;
};

inline constexpr auto kOpInfo = std::to_array<OpInfo>({
    {OpKind::load, 1, 1, "load", "{a} ({size}) is loaded: {bytes} bytes requested."},
    {OpKind::store, 1, 1, "store", "{to} ({size}) is stored: {bytes} bytes requested."},
    {OpKind::fill_zero, 1, 0, "", "{to} ({size}) starts at 0, on chip."},
    {OpKind::fill_minus_inf, 1, 0, "", "{to} ({size}) starts at -inf, on chip."},
    {OpKind::scores, 1, 2, "{a} {b}ᵀ", "{to} = scale · {a} {b}ᵀ ({size}): {products}."},
    {OpKind::mask, 1, 1, "", "Hidden keys of {to} become -inf."},
    {OpKind::row_max, 1, 1, "{maxima}", "{to} = row maxima of {a}."},
    {OpKind::running_max, 2, 1, "{maxima}",
     "{to} = max({to}, {maxima}); {alpha} = exp(old - new)."},
    {OpKind::exp, 1, 2, "exp", "{result} = exp({a} - {b}) ({size}): on chip, no bytes move."},
    {OpKind::row_sum, 1, 1, "{sums}", "{to} = row sums of {P}."},
    {OpKind::add_row_sum, 1, 1, "{sums}", "{to} = {to} + {sums}."},
    {OpKind::rescale, 1, 1, "rescale", "{to} = {a} · {to}, row by row."},
    {OpKind::accumulate, 1, 2, "{a} {b}", "{to} = {to} + {a} {b} ({size}): {products}."},
    {OpKind::normalize, 1, 1, "divide", "{result} = {result} / {a}, row by row."},
    {OpKind::log_sum_exp, 1, 2, "{a} + log {b}", "{to} = {a} + log {b}."},
    {OpKind::convert, 1, 1, "round", "{to} = {a}, rounded."},
    {OpKind::product_transposed, 1, 2, "{a} {b}ᵀ", "{to} = {a} {b}ᵀ ({size}): {products}."},
    {OpKind::accumulate_transposed, 1, 2, "{a}ᵀ {b}",
     "{to} = {to} + {a}ᵀ {b} ({size}): {products}."},
    {OpKind::gradient_product, 1, 2, "{a} {b}",
     "{to} = {to} + scale · {a} {b} ({size}): {products}."},
    {OpKind::gradient_product_transposed, 1, 2, "{a}ᵀ {b}",
     "{to} = {to} + scale · {a}ᵀ {b} ({size}): {products}."},
    {OpKind::row_dot, 1, 2, "rowsum ∘", "{to} = row sums of {a} ∘ {b}."},
    {OpKind::add_row_dot, 1, 2, "rowsum ∘", "{to} = {to} + row sums of {a} ∘ {b}."},
    {OpKind::softmax_gradient, 1, 3, "{a} ∘ ({b} - {c})", "{result} = {a} ∘ ({b} - {c})."},
    {OpKind::add, 1, 1, "+", "{to} = {to} + {a}."},
    {OpKind::atomic_add, 1, 1, "atomic add",
     "{a} is added to {to} atomically, in L2: {bytes} bytes requested."},
    {OpKind::soft_cap, 1, 1, "", "{to} = {cap} · tanh({to} / {cap})."},
    {OpKind::soft_cap_slope, 1, 1, "1 - ({a} / cap)²",
     "{to} = 1 - ({a} / {cap})², the derivative of the cap."},
    {OpKind::alibi, 1, 1, "", "{to} is reduced by slope · distance between query and key."},
    {OpKind::dropout, 1, 1, "dropout",
     "{result} = {P} where dropout keeps it, times {kept:.4g}; else 0."},
    {OpKind::multiply, 1, 1, "∘ {a}", "{result} = {result} ∘ {a}."},
    {OpKind::scale, 1, 1, "", "{to} = scale · {to} ({size})."},
    {OpKind::mask_gradient, 1, 1, "", "Hidden keys of {to} become 0."},
    {OpKind::dropout_factors, 1, 0, "",
     "{to} ({size}): 0 where dropout drops, 1 / (1 - p) elsewhere."},
    {OpKind::wait, 0, 0, "wait", "{agent} waits until {event} (phase {phase})."},
    {OpKind::arrive, 0, 0, "arrive", "{agent} arrives at the barrier: {event} (phase {phase})."},
});

constexpr const OpInfo& info_of(OpKind kind) {
  return kOpInfo[static_cast<std::size_t>(kind)];
}

/// Whether the label and the sentence name no more sources than the operation has.
constexpr bool names_its_operands(const OpInfo& info) {
  const auto names = [](std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  for (const std::string_view text : {info.label, info.sentence}) {
    const int named = names(text, "{c}") ? 3 : names(text, "{b}") ? 2 : names(text, "{a}") ? 1 : 0;
    if (named > info.sources) return false;
  }
  return names(info.sentence, "{alpha}") == (info.dests > 1);
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
