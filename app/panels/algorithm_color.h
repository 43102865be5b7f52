/// The colour of an algorithm, the same in every chart.
#pragma once

#include <string_view>

#include "app/theme.h"

namespace attnscope::app {

/// A colour by the algorithm's place in the catalog, so that each has one of its own; faint for
/// what is no algorithm of the catalog.
ImU32 algorithm_color(const Theme& theme, std::string_view algorithm);

}  // namespace attnscope::app
