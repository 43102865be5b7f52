/// What attnscope-cli measure shares with sweep.
#pragma once

#include "app/cli/command_line.h"
#include "app/cli/measuring_session.h"

namespace attnscope::cli {

/// Nothing when the options can be understood; sizes that do not fit together come later, as
/// measure_once()'s error.
std::optional<Error> check_measure_options(const GivenOptions& given, MeasuringSession& session);

/// A recording of one row, of two for --pass both: the measurement, or the error of a run that the
/// GPU could not do. With --out the rows are in that file as well.
Result<Recording> measure_once(const GivenOptions& given, MeasuringSession& session);

}  // namespace attnscope::cli
