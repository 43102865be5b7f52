/// What a run is, in words.
#pragma once

#include <string>
#include <string_view>

#include "reference/run_spec.h"

namespace attnscope {

/// "B 2, H 8 (2 KV), N 1024, N_kv 1024, d 64, bf16, mask causal, softcap 30".
std::string problem_words(const AttentionProblem& problem);
/// "flash2 backward, B 2, ..., 64x64 tiles".
std::string run_words(const ResolvedRun& run);
/// "flash2, N 1024, d 64, B 16, H 32, bf16, causal": only what differs from the usual.
std::string run_title(const ResolvedRun& run);

/// States whose choice it is that the run rounds O (dQ) between passes over j; empty if it does
/// not.
std::string_view rounding_note(const ResolvedRun& run);

// The names of launches for readers. Files, JSON and profiler ranges keep the internal name.

/// "row sums D" of "row_dots"; an unknown name is returned unchanged.
std::string_view launch_words(std::string_view name);

}  // namespace attnscope
