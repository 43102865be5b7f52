/// The properties of each tensor, one row each: its layout in memory and its appearance on the
/// screen.
#pragma once

#include <algorithm>
#include <array>

#include "sim/ops/tile_op.h"

namespace attnscope {

/// A tensor's rows and columns: queries or keys by d, the keys of every query head of a group by d,
/// queries by keys, one number per query; d numbers, or one number, per query and split.
enum class TensorLayout : std::uint8_t {
  query_by_d,
  key_by_d,
  group_key_by_d,
  query_by_key,
  query_by_one,
  query_by_split_d,
  query_by_split,
};
/// An element's type in HBM.
enum class ElementType : std::uint8_t {
  problem,    ///< the problem's precision
  statistic,  ///< a number per row: kStatisticBytes
  fp32,
  byte,  ///< kept or dropped, as frameworks store it
};

struct TensorInfo {
  Tensor tensor;
  TensorLayout layout;
  ElementType in_hbm;
  bool is_operand;          ///< of a matrix product: its tiles on chip are in shared memory
  bool is_gradient;         ///< of the loss: hatched on the screen
  Tensor hue;               ///< the tensor whose colour it shares; for a part, the whole tensor
  std::string_view symbol;  ///< as the papers print it, in sentences: "m~", "O (fp32)"
  std::string_view label;   ///< in boxes with little room: "O fp32"
};

// clang-format off
inline constexpr auto kTensorInfo = [] {
  using enum Tensor;
  using enum TensorLayout;
  using enum ElementType;
  constexpr bool operand = true, gradient = true, other = false, value = false;
  return std::to_array<TensorInfo>({
    {Q,         query_by_d,       problem,   operand, value,    Q,     "Q",           "Q"},
    {K,         key_by_d,         problem,   operand, value,    K,     "K",           "K"},
    {V,         key_by_d,         problem,   operand, value,    V,     "V",           "V"},
    {O,         query_by_d,       problem,   other,   value,    O,     "O",           "O"},
    {LSE,       query_by_one,     statistic, other,   value,    LSE,   "LSE",         "LSE"},
    {S,         query_by_key,     problem,   other,   value,    S,     "S",           "S"},
    {P,         query_by_key,     problem,   operand, value,    P,     "P",           "P"},
    {m,         query_by_one,     statistic, other,   value,    m,     "m",           "m"},
    {l,         query_by_one,     statistic, other,   value,    l,     "l",           "l"},
    {alpha,     query_by_one,     statistic, other,   value,    alpha, "alpha",       "alpha"},
    {m_tile,    query_by_one,     statistic, other,   value,    m,     "m~",          "m~"},
    {l_tile,    query_by_one,     statistic, other,   value,    l,     "l~",          "l~"},
    {beta,      query_by_one,     statistic, other,   value,    alpha, "beta",        "beta"},
    {O_carry,   query_by_d,       fp32,      other,   value,    O,     "O (fp32)",    "O fp32"},
    {dO,        query_by_d,       problem,   operand, gradient, dO,    "dO",          "dO"},
    {dQ,        query_by_d,       problem,   other,   gradient, dQ,    "dQ",          "dQ"},
    {dK,        key_by_d,         problem,   other,   gradient, dK,    "dK",          "dK"},
    {dV,        key_by_d,         problem,   other,   gradient, dV,    "dV",          "dV"},
    {dP,        query_by_key,     problem,   other,   gradient, dP,    "dP",          "dP"},
    {dS,        query_by_key,     problem,   operand, gradient, dS,    "dS",          "dS"},
    {D,         query_by_one,     statistic, other,   value,    D,     "D",           "D"},
    {dQ_accum,  query_by_d,       fp32,      other,   gradient, dQ,    "dQ (fp32)",   "dQ fp32"},
    {dK_heads,  group_key_by_d,   problem,   other,   gradient, dK,    "dK/head",     "dK/head"},
    {dV_heads,  group_key_by_d,   problem,   other,   gradient, dV,    "dV/head",     "dV/head"},
    {P_drop,    query_by_key,     problem,   operand, value,    P,     "P~",          "P~"},
    {T,         query_by_key,     problem,   other,   value,    alpha, "T",           "T"},
    {O_split,   query_by_split_d, fp32,      other,   value,    O,     "O (split)",   "O parts"},
    {LSE_split, query_by_split,   fp32,      other,   value,    LSE,   "LSE (split)", "LSE parts"},
    {Z,         query_by_key,     byte,      other,   value,    alpha, "Z",           "Z"},
  });
}();
// clang-format on

constexpr const TensorInfo& info_of(Tensor tensor) {
  return kTensorInfo[static_cast<std::size_t>(tensor)];
}

constexpr TensorLayout layout_of(Tensor tensor) {
  return info_of(tensor).layout;
}
/// Whether the tensor has a value for each query and key, as S, P and their gradients do.
constexpr bool is_score(Tensor tensor) {
  return layout_of(tensor) == TensorLayout::query_by_key;
}
/// Whether tile (i, j) belongs to row tile i and split j of the keys: "O₀ (split 2)".
constexpr bool is_of_split(Tensor tensor) {
  const TensorLayout layout = layout_of(tensor);
  return layout == TensorLayout::query_by_split_d || layout == TensorLayout::query_by_split;
}
/// Whether each row of its tiles belongs to a key: K, V and their gradients.
constexpr bool is_by_keys(Tensor tensor) {
  const TensorLayout layout = layout_of(tensor);
  return layout == TensorLayout::key_by_d || layout == TensorLayout::group_key_by_d;
}

static_assert(kTensorInfo.size() == kTensorCount);
static_assert(std::ranges::all_of(kTensors,
                                  [](Tensor tensor) {
                                    return info_of(tensor).tensor == tensor &&
                                           info_of(info_of(tensor).hue).hue == info_of(tensor).hue;
                                  }),
              "a row for each tensor, in the order of the enumeration; a hue is its own hue");

}  // namespace attnscope
