/// Masks, score functions, padding and packing with which kernels are tested, separately and
/// together.
#pragma once

#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// A change to a problem whose sizes are known.
using Feature = void (*)(AttentionProblem&);

inline void add_window(AttentionProblem& p) {
  p.mask = Mask::window(37, 5);
}
inline void add_top_left_window(AttentionProblem& p) {
  p.mask = Mask::window(20, 60);
  p.mask.alignment = Mask::Alignment::top_left;
}
inline void add_causal(AttentionProblem& p) {
  p.mask = Mask::causal();
}
inline void add_soft_cap(AttentionProblem& p) {
  p.score.soft_cap = 1.5;  // smaller than the scores, so that it changes them
}
inline void add_alibi(AttentionProblem& p) {
  p.score.alibi_slopes = standard_alibi_slopes(p.heads);
}
inline void add_dropout(AttentionProblem& p) {
  p.score.dropout = {
      .probability = 0.17, .seed = 123456789012345, .first_batch = 2, .first_head = 1};
}
inline void add_key_lengths(AttentionProblem& p) {
  p.key_lengths = {p.N_kv, p.N_kv / 3};
}
inline void pack(AttentionProblem& p, const std::vector<Index>& key_eighths) {
  p.batch = 1;
  for (const Index eighth : {0, 1, 1, 3, 4, 7, 8}) p.cu_seqlens_q.push_back(p.N * eighth / 8);
  for (const Index eighth : key_eighths) p.cu_seqlens_k.push_back(p.N_kv * eighth / 8);
}
inline void add_packing(AttentionProblem& p) {
  pack(p, {0, 2, 3, 4, 4, 7, 8});
}
/// Packs sequences, none of which has one key: with dropout, the gradients of Q and K of such a
/// sequence vanish except for the rounding error of the stored O, from which D is computed and
/// which the tolerance rule does not include.
inline void add_packing_of_many_keys(AttentionProblem& p) {
  pack(p, p.N_kv < 16 ? std::vector<Index>{0, 0, 0, 0, 0, 8, 8}
                      : std::vector<Index>{0, 2, 3, 4, 4, 7, 8});
}

struct NamedFeatures {
  const char* name;
  std::vector<Feature> features;
};

inline const NamedFeatures kFeatures[] = {
    {"window", {add_window}},
    {"top-left window", {add_top_left_window}},
    {"soft cap", {add_soft_cap}},
    {"alibi", {add_alibi}},
    {"dropout", {add_dropout}},
    {"key lengths", {add_key_lengths}},
    {"packed", {add_packing}},
    {"causal soft cap", {add_causal, add_soft_cap}},
    {"causal alibi", {add_causal, add_alibi}},
    {"causal dropout", {add_causal, add_dropout}},
    {"causal key lengths", {add_causal, add_key_lengths}},
    {"causal packed", {add_causal, add_packing}},
    {"everything padded", {add_window, add_soft_cap, add_alibi, add_dropout, add_key_lengths}},
    {"everything packed",
     {add_window, add_soft_cap, add_alibi, add_dropout, add_packing_of_many_keys}},
};

}  // namespace attnscope::kernels
