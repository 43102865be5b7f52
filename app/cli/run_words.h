/// What a run is: in words, for the first line of an answer, and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "reference/run_spec.h"

namespace attnscope::cli {

/// "B 2, H 8 (2 KV), N 1024, N_kv 1024, d 64, bf16, mask causal, softcap 30".
std::string problem_words(const AttentionProblem& problem);
/// "flash2 backward, B 2, ..., 64x64 tiles".
std::string run_words(const ResolvedRun& run);

/// Whose choice it is that the run rounds O (dQ) between passes over j; empty where it does not.
std::string_view rounding_note(const ResolvedRun& run);

/// {"problem", "algorithm", "kernel", "pass", "tiling", "carry", "inputs"} of a kernel's run, as a
/// recording has them.
nlohmann::ordered_json run_identity(const ResolvedRun& run);

}  // namespace attnscope::cli
