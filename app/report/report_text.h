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

/// "17.31 GB": traffic, tensors and HBM, in powers of 1000 (on-chip memory and L2: capacity_text).
std::string bytes_text(double bytes);
inline std::string bytes_text(Index bytes) {
  return bytes_text(static_cast<double>(bytes));
}
/// "68.72 GFLOP".
std::string flops_text(double flops);
inline std::string flops_text(Index flops) {
  return flops_text(static_cast<double>(flops));
}
/// "12.34 us".
std::string seconds_text(double seconds);
/// "1.71 GHz".
std::string clock_text(double hz);

/// Lines of cells; the first one is the header.
using Lines = std::vector<std::vector<std::string>>;

enum class Align : std::uint8_t { left, right };

/// The lines in columns, aligned as given. Control characters in a cell become '?'.
std::string table_text(const Lines& lines, const std::vector<Align>& align);
/// `left_columns` columns, from the left, are aligned left, the others right.
std::string table_text(const Lines& lines, std::size_t left_columns = 1);

/// "B 2, H 8 (2 KV), N 1024, N_kv 1024, d 64, bf16, mask causal, softcap 30".
std::string problem_words(const AttentionProblem& problem);
/// "flash2 backward, B 2, ..., 64x64 tiles".
std::string run_words(const ResolvedRun& run);
/// "flash2, N 1024, d 64, B 16, H 32, bf16, causal": other fields only if they are unusual.
std::string run_title(const ResolvedRun& run);
/// run_title() of the row's run, with the instructions of the kernel's products if recorded.
std::string run_title(const RecordingRow& row);

/// If the run rounds O (dQ) between passes over j, a note that says why; else empty.
std::string_view rounding_note(const ResolvedRun& run);

// The names of launches for readers. Files, JSON and profiler ranges keep the internal name.

/// "row sums D" of "row_dots"; an unknown name is returned unchanged.
std::string_view launch_words(std::string_view name);

}  // namespace attnscope
