/// The steps of a traced kernel: their names, and the units that they keep busy.
#pragma once

#include <string_view>

#include "kernels/device/trace_buffer.cuh"

namespace attnscope::kernels {

/// "load Q_i", "S = scale Q_i K_j^T"; unique.
std::string_view step_name(TraceStep step);

enum class StepClass : std::uint8_t { waiting, memory, matrix, other };
StepClass step_class(TraceStep step);

/// Whether the step's tile has a row index, and a column index.
bool has_row_tile(TraceStep step);
bool has_column_tile(TraceStep step);

}  // namespace attnscope::kernels
