/// A run: its attention problem, data, tiles and GPU, all in one struct.
///
/// A RunSpec is the request; rules set its unset fields. It is made from options, a scene, a
/// recording or the screen through one table of fields (run_fields.h). resolve() (sim/resolve.h,
/// kernels/resolve.h) turns it into a ResolvedRun, the identity that caches, comparisons and
/// recordings use. Neither includes how a run is measured (repeats, cache state) or what the screen
/// shows.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/algorithm.h"
#include "reference/attention_problem.h"
#include "reference/block_pattern.h"
#include "reference/inputs.h"
#include "reference/result.h"
#include "reference/schedule_variant.h"
#include "reference/what_if.h"

namespace attnscope {

/// The rule that sets unspecified sides of a tile.
enum class TilingRule : std::uint8_t {
  by_default,  ///< flash1: `paper` if it fits, else `largest`; kernels: their own
  paper,       ///< Bc = ceil(M / 4d), Br = min(Bc, d) (arXiv 2205.14135, Algorithm 1, line 1)
  largest,     ///< the largest square tile that fits on the chip
  kernel,      ///< the GPU kernel's
};

constexpr std::array<std::string_view, 4> enum_names(TilingRule) {
  return {"", "paper", "largest", "kernel"};
}

struct RunSpec {
  /// resolve() draws its block mask from `block_mask` below, unless it is already set.
  AttentionProblem problem;
  std::string algorithm = "flash2";
  PassKind pass = PassKind::forward;
  std::optional<Index> Br;
  std::optional<Index> Bc;
  TilingRule tiling_rule = TilingRule::by_default;
  ScheduleVariant variant;
  std::optional<BlockPattern> block_mask;  ///< block-sparse attention: M over the tiling
  std::optional<Index> splits;  ///< split_kv: parts of the keys; unset: enough to fill the SMs
  bool separate_heads = false;  ///< split_kv: a tile per query head, not per group
  std::optional<Index> warps;   ///< of a thread block; unset: kPaperWarps
  std::optional<WarpPartition> warp_partition;  ///< unset: the algorithm's
  bool round_to_storage = false;                ///< the model rounds values where a kernel does
  bool fp32_accumulators = false;               ///< the model rounds on-chip results to fp32
  /// Whether a slot on chip holds the previous tile, rather than NaN, until its tile is loaded.
  bool stale_memory = false;
  bool deterministic = false;   ///< backward: dQ is bit-identical on every run
  bool allow_overflow = false;  ///< count a tiling even if it does not fit on the chip
  InputSpec inputs;
  InputPaths files;                             ///< instead of generated tensors
  std::string gpu = "h200";                     ///< a name in assets/gpus, or a file
  WhatIf what_if;                               ///< instead of the GPU's numbers
  std::string kernel;                           ///< unset: the algorithm's
  std::map<std::string, std::string> switches;  ///< of the kernel, which checks them

  /// The requested tiling; nothing unless Br and Bc are both set.
  std::optional<Tiling> tiling() const {
    return Br && Bc ? std::optional(Tiling{*Br, *Bc}) : std::nullopt;
  }
  void set_tiling(const Tiling& tiling) {
    Br = tiling.Br;
    Bc = tiling.Bc;
  }
  bool operator==(const RunSpec&) const = default;
};

/// The run with every rule applied.
struct ResolvedRun {
  RunSpec asked;
  /// The problem with its block mask drawn. If query_heads_per_tile > 1, the query heads of a group
  /// are packed into the rows of one head.
  AttentionProblem problem;
  Tiling tiling;
  Index splits = 1;
  Index query_heads_per_tile = 1;  ///< more than 1 if the heads of a group share a tile
  /// hash_of_inputs() of the user's own tensors, set by the function that reads them; 0 if the
  /// tensors are drawn.
  std::uint64_t files_hash = 0;

  const std::string& algorithm() const { return asked.algorithm; }
  PassKind pass() const { return asked.pass; }

  bool operator==(const ResolvedRun&) const = default;
};

/// Draws the requested block mask over the run's tiles, unless the problem has one. Errors as in
/// make_block_mask().
std::optional<Error> draw_block_mask(ResolvedRun& run, const std::atomic<bool>* cancel = nullptr);

/// Nothing if the fields are in range and consistent, whatever the device; else an error about
/// the first field that is not.
std::optional<Error> validate(const RunSpec& spec);

}  // namespace attnscope
