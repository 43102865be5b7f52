/// The IO theorems of arXiv 2205.14135 beside the counts: bytes as functions of N, d, M, block size
/// and density.
///
///   Theorem 2      standard: Theta(N d + N^2); FlashAttention: Theta(N^2 d^2 / M)
///   Theorem 5      the same for the backward passes
///   Proposition 4  block-sparse: Theta(N d + N^2 d^2 s / M), s the fraction of nonzero tiles
///   Proposition 3 no exact algorithm moves o(N^2 d^2 / M) for all M in [d, N d] at once
///
/// The theorems do not state their constants. Proposition 3 is not a bound at a given M: Saha and
/// Ye (arXiv 2402.07443) prove Omega(N^2 d^2 / M) for M >= d^2, forward, and give an algorithm that
/// moves less if M < d^2.
///
/// M counts elements of on-chip memory. The mask is none: the theorems are about dense attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace attnscope {

/// The axis of the curve.
enum class IoAxis : std::uint8_t { seq_len, head_dim, sram_bytes, block_cols, density };
constexpr std::array<std::string_view, 5> enum_names(IoAxis) {
  return {"seq-len", "head-dim", "sram-bytes", "block-cols", "density"};
}

/// Values that show the scaling along the axis, for a problem of typical size.
std::vector<double> usual_values(IoAxis axis);

/// One head of a size for which d <= M <= N d, the theorems' range, holds on every shipped GPU: N
/// 8192, d 64, fp16.
AttentionProblem usual_io_problem();

struct IoQuestion {
  AttentionProblem problem;  ///< everything not on the axis
  PassKind pass = PassKind::forward;
  GpuDescription gpu;  ///< M is its shared memory per thread block, unless the axis sets it
  IoAxis axis = IoAxis::seq_len;
  std::vector<double> values;  ///< along the axis: N = N_kv, d, bytes, Bc, or s in (0, 1]
};

/// One value of the axis. Bytes over batch and heads; "counted" comes from the schedules.
struct IoPoint {
  double value = 0;
  SimulationReport counted;  ///< flash1; block_sparse on the density axis
  double density = 1;        ///< s, of the mask that was drawn
  Index sram_elems = 0;      ///< M; along Bc and the density, 4 d Bc
  bool in_range = true;      ///< d <= M <= N d, where the theorems hold
  double formula_bytes = 0;  ///< every term of the closed form; exact if the tiles divide N
  /// Its leading term, 12 (forward) or 20 (backward) N N_kv d^2 s / M elements: 3 or 5 matrices of
  /// N d elements for each of N_kv / Bc column tiles, with Bc = M / 4d.
  double leading_term_bytes = 0;
  Index standard_bytes = 0;  ///< counted, as the paper counts standard attention
  /// N N_kv d^2 s / M elements: the order of the lower bound with the constant 1; along the
  /// density, it is not a proven bound. Nothing unless d^2 <= M <= N d.
  std::optional<double> lower_bound_order_bytes;
  double compulsory_bytes = 0;  ///< inputs once and outputs once
};

/// Explains M on the density axis: "M = 4 d Bc = 4 x 64 x 16 = 4096 elements: 64 tiles of
/// keys for the mask to choose among".
std::string density_sram_words(const IoPoint& point);

/// The points in the order of the values; tilings follow the paper's rule, on the density axis with
/// an M small enough for 64 column tiles, so that a mask has enough tiles to choose from.
/// invalid_request for a value that is not valid on the axis, a mask, or both passes at once;
/// `cancel` as in simulate().
Result<std::vector<IoPoint>> io_curve(const IoQuestion& question,
                                      const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
