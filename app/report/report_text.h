/// Text of reports: numbers of four digits with their units; aligned columns; the names of
/// problems, runs and launches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/run_spec.h"

namespace attnscope {

struct RecordingRow;  // kernels/recording/recording.h

/// Bytes of traffic, tensors and HBM as text, "17.31 GB", in powers of 1000 (for on-chip memory and
/// L2: capacity_text).
std::string bytes_text(double bytes);
inline std::string bytes_text(Index bytes) {
  return bytes_text(static_cast<double>(bytes));
}
/// Operations as text: "68.72 GFLOP".
std::string flops_text(double flops);
inline std::string flops_text(Index flops) {
  return flops_text(static_cast<double>(flops));
}
/// A time as text: "12.34 us".
std::string seconds_text(double seconds);
/// A clock as text: "1.71 GHz".
std::string clock_text(double hz);

/// Lines of cells; the first one is the header.
using Lines = std::vector<std::vector<std::string>>;

enum class Align : std::uint8_t { left, right };

/// The lines as aligned columns. Control characters in a cell become '?'.
std::string table_text(const Lines& lines, const std::vector<Align>& align);
/// The same with the first `left_columns` columns aligned left, the others right.
std::string table_text(const Lines& lines, std::size_t left_columns = 1);

/// The problem's fields: "B 2, H 8 (2 KV), N 1024, N_kv 1024, d 64, bf16, mask causal, softcap 30".
std::string problem_words(const AttentionProblem& problem);
/// The run with its problem and tiling: "flash2 backward, B 2, ..., 64x64 tiles".
std::string run_words(const ResolvedRun& run);
/// The choices that differ from their defaults, each after a comma: ", deterministic dQ, stages=1".
std::string choices_text(const RunSpec& spec);
/// The run in short, "flash2, N 1024, d 64, B 16, H 32, bf16, causal": other fields only if they
/// are unusual.
std::string run_title(const ResolvedRun& run);
/// run_title() of the row's run, with the instructions of the kernel's products if recorded.
std::string run_title(const RecordingRow& row);

/// The note that says why the run rounds O (dQ) between passes over j; empty if it does not.
std::string_view rounding_note(const ResolvedRun& run);

// The names of launches for readers. Files, JSON and profiler ranges keep the internal name.

/// The launch's name for readers, "row sums D" for "row_dots"; an unknown name is returned
/// unchanged.
std::string_view launch_words(std::string_view name);

}  // namespace attnscope
