/// The tile of standard's output product, as its bytes tell: a library chooses it apart from that
/// of the scores.
#pragma once

#include <optional>

#include "kernels/recording/recording.h"

namespace attnscope {

/// The recorded bytes of a counter in a launch of the run.
std::optional<double> launch_counter(const RecordingRow& run, std::string_view launch,
                                     std::string_view counter_name);

/// How often the launch "output" read V, when P was read once; nothing without its bytes, or when
/// they are fewer than those of P.
std::optional<double> output_V_reads(const RecordingRow& run);

/// Rows of O for each of which V was read once. Nothing when the bytes fit no whole number of reads
/// within 1 %, or when fewer than 16 rows share one, which is no tile of V any more.
std::optional<Index> fitted_output_rows(const RecordingRow& run);

}  // namespace attnscope
