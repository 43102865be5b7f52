/// The fields of a RunSpec, one table row each. The command line, scenes, recordings, the screen,
/// error messages and the guide all take a field's properties from its row.
#pragma once

#include <span>

#include "reference/run_field.h"

namespace attnscope {

/// All fields, in the order in which they are read: each comes after those that it depends on.
std::span<const RunField> run_fields();
/// The fields of RunSpec::what_if.
std::span<const RunField> what_if_fields();

}  // namespace attnscope
