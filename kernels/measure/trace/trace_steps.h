/// The steps of a traced kernel: their names, the units that they keep busy, and the steps of the
/// pseudo-code that they represent.
#pragma once

#include <string_view>

#include "kernels/device/trace_buffer.cuh"
#include "reference/step.h"

namespace attnscope::kernels {

/// "load Q_i", "S = scale Q_i K_j^T"; unique.
std::string_view step_name(TraceStep step);

enum class StepClass : std::uint8_t { waiting, memory, matrix, other };
StepClass step_class(TraceStep step);

/// Whether the step's tile has a row index, and a column index.
bool has_row_tile(TraceStep step);
bool has_column_tile(TraceStep step);

/// Whether the hook represents this step of the pseudo-code or a part of it: one step loads K_j and
/// V_j, each of which has its own hook.
bool is_part_of(TraceStep hook, Step step);

}  // namespace attnscope::kernels
