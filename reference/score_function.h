/// The operations on the scores between Q K^T and the product with V, apart from the mask. In this
/// order, as in the flash-attention sources:
///   S = cap tanh(S / cap)                      soft-capping
///   S = S - slope |k - (q + N_kv - N)|         ALiBi (arXiv 2108.12409), a slope per query head
///   P = softmax(S), l its undropped row sum
///   O = (Z o P) V, Z = 0 or 1 / (1 - p)        dropout (arXiv 2205.14135, Algorithm 2)
/// The mask is applied before the softmax. In a packed sequence, N and N_kv are the sequence's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/result.h"

namespace attnscope {

/// Dropout of P. The bits are those of dropout.h.
struct Dropout {
  double probability = 0;  ///< in [0, 1); 0 drops nothing
  std::uint64_t seed = 0;
  /// Index of the problem's first batch entry and query head in the batch for which the bits are
  /// drawn: nonzero for a problem that is part of a larger one.
  std::int64_t first_batch = 0;
  std::int64_t first_head = 0;

  /// The factor of a kept element.
  double scale() const { return 1.0 / (1.0 - probability); }
  bool operator==(const Dropout&) const = default;
};

struct ScoreFunction {
  std::optional<double> soft_cap;    ///< above 0
  std::vector<double> alibi_slopes;  ///< [H]; empty: no bias
  Dropout dropout;

  bool has_alibi() const { return !alibi_slopes.empty(); }
  bool has_dropout() const { return dropout.probability > 0; }
  bool is_plain() const { return !soft_cap && !has_alibi() && !has_dropout(); }
  bool operator==(const ScoreFunction&) const = default;
};

/// The usual geometric slopes: 2^(-8 (h + 1) / H) for head h of H.
std::vector<double> standard_alibi_slopes(std::int64_t heads);

/// "none", or for example "softcap 30, alibi, dropout 0.1 (seed 7)".
std::string to_string(const ScoreFunction& score);

/// Nothing if the score function is valid for a problem with this number of query heads.
std::optional<Error> validate(const ScoreFunction& score, std::int64_t heads);

}  // namespace attnscope
