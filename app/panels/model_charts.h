/// Memory of a whole model against N: where each algorithm runs out.
#pragma once

#include <string>
#include <vector>

#include "app/panels/shown_chart.h"
#include "app/work_control.h"
#include "reference/result.h"
#include "sim/studies/model_memory.h"

namespace attnscope::app {

/// What the curves depend on; the model is usual_model().
struct ModelKey {
  ModelMode mode = ModelMode::training;
  std::string gpu;
  bool operator==(const ModelKey&) const = default;
};

/// Peak memory of one algorithm at ascending lengths.
struct ModelCurve {
  AttentionChoice choice;
  std::vector<std::pair<Index, double>> peak_bytes;  ///< N, bytes
  Index largest_length = 0;                          ///< that fits; 0: none
};

Result<std::vector<ModelCurve>> count_models(const ModelKey& key, const GpuDescription& gpu,
                                             WorkControl& control);

ShownChart model_chart(const ModelKey& key, const std::vector<ModelCurve>& curves,
                       const GpuDescription& gpu, const Theme& theme);

}  // namespace attnscope::app
