/// attnscope-cli measure: times the real kernel and reads its hardware counters.
#pragma once

#include "app/cli/command_line.h"
#include "kernels/recording/recording.h"
#include "reference/result.h"

namespace attnscope::cli {

CommandSpec measure_command();

/// Nothing when the options can be understood; sizes that do not fit together come later, as
/// measure_once()'s error.
std::optional<Error> check_measure_options(const GivenOptions& given);

/// A recording of one row, of two for --pass both: the measurement, or the error of a run that the
/// GPU could not do. With --out the rows are in that file as well.
Result<Recording> measure_once(const GivenOptions& given);

}  // namespace attnscope::cli
