/// A run's fields in AttnScope's JSON files (simulations, recordings, scenes), at the places that
/// the table of fields gives them (reference/run_fields.h):
///   {"problem": {"batch","heads","kv_heads","seq_len","kv_len","head_dim","dtype","mask", ...},
///    "algorithm", "pass", "tiling": {"Br","Bc"}, "carry", "gpu", "inputs": {"kind","seed"}, ...}
/// A field that is at its default is left out unless it is one that is always stored.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reference/json/json_document.h"
#include "reference/run_fields.h"

namespace attnscope {

/// Puts the spec's fields into the document, and takes those away that are left out. Other members
/// of the document stay.
void store_run(const RunSpec& spec, nlohmann::json& document);

/// The fields that the object has, over those of `defaults`. Throws JsonFieldError with the field's
/// path: a wrong type or value, a problem that cannot be computed, no "seq_len" or "head_dim" in
/// "problem".
RunSpec run_from_json(const JsonObject& root, const RunSpec& defaults = {});

/// Only the "problem" object.
nlohmann::json problem_to_json(const AttentionProblem& problem);
/// Br first, in documents that keep their order.
nlohmann::ordered_json tiling_to_json(const Tiling& tiling);
Tiling tiling_from_json(const JsonObject& object);

}  // namespace attnscope
