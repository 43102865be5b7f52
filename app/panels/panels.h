/// The panels, each in a file of its own; make_panels() (app/panel.h) lists them.
#pragma once

#include <memory>

#include "app/panel.h"

namespace attnscope::app {

/// Charts, worked out in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
std::unique_ptr<Panel> make_charts_panel();

}  // namespace attnscope::app
