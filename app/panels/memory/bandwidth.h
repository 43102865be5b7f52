/// The bandwidth between two levels of memory, beside the arrows that cross from one to the other.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/draw/canvas.h"
#include "app/panels/parts/panel.h"
#include "sim/device/gpu_description.h"

namespace attnscope::app {

/// The bandwidth of reads by all SMs together.
struct Bandwidth {
  std::string between;                ///< "L2 to the SMs"
  std::optional<double> bytes_per_s;  ///< nothing if it was not measured
  std::string kind;                   ///< "measured", "what if", "datasheet", "not measured"
  std::string basis;                  ///< the source of the number, in lines of text

  /// The wordings of the text in the picture, the longest first; each names the kind.
  std::vector<std::string> wordings() const;
  /// The tooltip.
  std::string about() const;
};

/// The bandwidths on both sides of L2.
struct Bandwidths {
  Bandwidth of_l2, of_dram;
};

/// The bandwidths that the GPU's calibration measured, with the changes of a what-if; without a
/// calibration, the datasheet's bandwidth of DRAM. Reads files.
Bandwidths bandwidths_of(const GpuDescription& gpu);

/// Draws an arrow with the bandwidth between the levels above and below `band`, at the rightmost
/// place that overlaps no taken range; nothing if there is no room. Named rectangle:
/// "memory.bandwidth.NAME".
void draw_bandwidth(const PanelContext& context, std::string_view name, const Bandwidth& bandwidth,
                    const Rect& band, std::span<const draw::Range> taken);

}  // namespace attnscope::app
