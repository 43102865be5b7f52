/// The problems that traced kernels are tested on.
#pragma once

#include <string>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/block_pattern.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {

inline AttentionProblem problem_of(Index d, Index N, Index N_kv, Mask mask = Mask::none()) {
  return {.batch = 2,
          .heads = 4,
          .kv_heads = 2,
          .N = N,
          .N_kv = N_kv,
          .d = d,
          .dtype = DType::bf16,
          .mask = mask};
}

inline AttentionProblem fp32_problem(Index N, Index N_kv, Mask mask = Mask::none()) {
  AttentionProblem problem = problem_of(16, N, N_kv, mask);
  problem.dtype = DType::fp32;
  return problem;
}

/// Tiles of the block masks that block_sparse2 is traced with.
inline Tiling sparse_tiling(PassKind pass, Index d) {
  if (d == 16) return {16, 16};
  if (d == 64) return {128, 128};
  return pass == PassKind::forward ? Tiling{128, 64} : Tiling{64, 128};
}

/// Problems under block masks at several head dimensions, each with a row tile that sees nothing
/// and a column tile that no query sees.
inline std::vector<AttentionProblem> sparse_problems(PassKind pass) {
  std::vector<AttentionProblem> problems;
  for (const Index d : {16, 64, 128}) {
    const Tiling tiling = sparse_tiling(pass, d);
    const Index Tr = d == 16 ? 19 : 7;
    const Index Tc = d == 16 ? 26 : 9;
    for (const char* text : {"butterfly", "local-global:1,1", "uniform:0.3"}) {
      for (const Mask& mask : {Mask::none(), Mask::causal()}) {
        AttentionProblem problem = problem_of(d, Tr * tiling.Br - 4, Tc * tiling.Bc - 7, mask);
        problem.block_mask =
            make_block_mask(parse_block_pattern(text).value(), problem.N, problem.N_kv, tiling)
                .value();
        problems.push_back(problem);
      }
    }
    AttentionProblem empty_tiles = problem_of(d, 3 * tiling.Br - 5, 3 * tiling.Bc - 3);
    if (d == 16) empty_tiles.dtype = DType::fp16;
    empty_tiles.block_mask = test::listed_block_mask(tiling, 3, {{0, 2}, {}, {2}});
    problems.push_back(empty_tiles);
  }
  return problems;
}

/// Problems with windows, key lengths, packed sequences, soft-capping, ALiBi and dropout, alone and
/// together, at one head dimension.
inline std::vector<AttentionProblem> scored_problems() {
  constexpr Index d = 64;
  std::vector<AttentionProblem> problems;
  // Windows that exclude column tiles on both sides, and rows that see nothing
  problems.push_back(problem_of(d, 700, 900, Mask::window(150, 40)));
  problems.push_back(problem_of(d, 900, 700, Mask::window(200, 0)));
  problems.push_back(
      problem_of(d, 640, 640, {.left = 20, .right = 300, .alignment = Mask::Alignment::top_left}));

  // One batch entry that has whole column tiles of padding, one whose last tile is cut
  AttentionProblem padded = problem_of(d, 300, 409);
  padded.key_lengths = {100, 391};
  problems.push_back(padded);
  padded.mask = Mask::causal();
  padded.key_lengths = {409, 256};
  problems.push_back(padded);

  // Packed sequences, one of them without queries, and with tiles between two sequences that no
  // query sees
  AttentionProblem packed = problem_of(d, 733, 800);
  packed.batch = 1;
  packed.cu_seqlens_q = {0, 50, 50, 400, 733};
  packed.cu_seqlens_k = {0, 70, 400, 700, 800};
  problems.push_back(packed);
  packed.mask = Mask::causal();
  problems.push_back(packed);

  // Score functions
  AttentionProblem capped = problem_of(d, 300, 409, Mask::causal());
  capped.score.soft_cap = 1.5;
  capped.score.alibi_slopes = {0.03, 0.01, 0.003, 0.001};
  problems.push_back(capped);
  AttentionProblem dropped = problem_of(d, 300, 409);
  dropped.score.dropout = {.probability = 0.2, .seed = 7};
  problems.push_back(dropped);
  AttentionProblem all = padded;
  all.mask = Mask::window(150, 40);
  all.score = {capped.score.soft_cap, capped.score.alibi_slopes, dropped.score.dropout};
  problems.push_back(all);
  return problems;
}

/// The same for a kernel. Those of `block_sparse2` have a block mask but no key lengths: all batch
/// entries share the lists of tiles, so its program would differ from its schedule.
inline std::vector<AttentionProblem> scored_problems(std::string_view kernel) {
  std::vector<AttentionProblem> taken;
  for (AttentionProblem& problem : scored_problems()) {
    if (kernel == "block_sparse2") {
      if (problem.has_key_lengths()) continue;
      problem.block_mask = make_block_mask(parse_block_pattern("uniform:0.6").value(), problem.N,
                                           problem.N_kv, Tiling{128, 128})
                               .value();
    }
    taken.push_back(problem);
  }
  return taken;
}

}  // namespace attnscope::kernels
