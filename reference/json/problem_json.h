/// The "problem" and "tiling" objects of every AttnScope JSON file (simulations, recordings,
/// scenes):
///   {"batch","heads","kv_heads","seq_len","kv_len","head_dim","dtype","mask"}, {"Br","Bc"}
/// and, where the problem has them: "softcap": C, "alibi": "standard" or the slopes, "dropout":
/// {"probability","seed","first_batch","first_head"}, "key_lengths", "cu_seqlens_q",
/// "cu_seqlens_k": lists of integers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reference/attention_problem.h"
#include "reference/json/json_document.h"

namespace attnscope {

nlohmann::json problem_to_json(const AttentionProblem& problem);
/// Br first, in documents that keep their order.
nlohmann::ordered_json tiling_to_json(const Tiling& tiling);

/// A valid problem, else JsonFieldError. "seq_len" and "head_dim" are required; the others default
/// as on the command line: batch 1, heads 1, kv_heads = heads, kv_len = seq_len, bf16, mask none.
AttentionProblem problem_from_json(const JsonObject& object);

/// A valid tiling, else JsonFieldError. "Br" and "Bc" are required.
Tiling tiling_from_json(const JsonObject& object);

}  // namespace attnscope
