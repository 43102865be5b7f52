/// A run's fields in AttnScope's JSON files (simulations, recordings, scenes), at the paths given
/// by the table of fields (reference/run_fields.h):
///   {"problem": {"batch","heads","kv_heads","seq_len","kv_len","head_dim","dtype","mask", ...},
///    "algorithm", "pass", "tiling": {"Br","Bc"}, "carry", "gpu", "inputs": {"kind","seed"}, ...}
/// A field with its default value is omitted unless RunField::always_stored is set.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reference/json/json_document.h"
#include "reference/run_fields.h"

namespace attnscope {

/// Writes the spec's fields into the document and removes omitted ones. Other members of the
/// document are kept.
void store_run(const RunSpec& spec, nlohmann::json& document);

/// The spec in the object; a missing field takes its value from `defaults`. Throws JsonFieldError
/// with the field's path for a wrong type or value, a problem that cannot be computed, or a
/// "problem" without "seq_len" or "head_dim". The fields in the member `left_out` are not read.
RunSpec run_from_json(const JsonObject& root, const RunSpec& defaults = {},
                      std::string_view left_out = {});

/// Throws JsonFieldError if the object has a member that is no field of a run.
void check_run_members(const JsonObject& root);

/// Only the "problem" object.
nlohmann::json problem_to_json(const AttentionProblem& problem);
/// The tiling as an object; Br comes first, in documents that keep their members' order.
nlohmann::ordered_json tiling_to_json(const Tiling& tiling);
Tiling tiling_from_json(const JsonObject& object);

}  // namespace attnscope
