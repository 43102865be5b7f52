/// The sliders of the panel "GPU", which change numbers of the modelled GPU by a factor.
#pragma once

#include "app/panels/parts/panel.h"
#include "reference/run_fields.h"
#include "sim/device/gpu_description.h"

namespace attnscope::app {

/// The value of a field of RunSpec::what_if as a multiple of the GPU's own number; 1 if it is
/// unset.
double what_if_multiple(const RunSpec& spec, const RunField& field, const GpuDescription& own);
/// Sets the field to this multiple of the GPU's own number; 1 unsets it.
void set_what_if(RunSpec& spec, const RunField& field, double multiple, const GpuDescription& own);

/// The height of all sliders, in pixels.
float what_if_height(const PanelContext& context);

/// Draws a slider for each field of RunSpec::what_if, from a quarter to four times the number of
/// `own`, the unchanged GPU. Dragging one requests the changed choice; a double click, or Enter,
/// restores the GPU's own number. Named rectangles: "gpu.slider.KEY", "gpu.reset".
void draw_what_if(const PanelContext& context, const RunSpec& choice, const GpuDescription& own,
                  const Rect& rect);

}  // namespace attnscope::app
