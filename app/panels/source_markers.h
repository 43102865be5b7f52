/// Which line of a kernel's CUDA source does what a line of its schedule's pseudo-code says.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernels/catalog.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

/// Root-relative path of the file with the twin of a launch; empty for what a library computes and
/// for a variant's launch that no kernel has.
std::string_view source_of_launch(const kernels::KernelInfo& kernel, std::string_view launch,
                                  bool backward);

/// The index in `lines`, the text of `source`, of what does line `line` of `code`; -1 where the
/// source has nothing that does it.
int marker_line(std::string_view source, const std::vector<std::string_view>& lines,
                std::span<const PseudoLine> code, std::size_t line);

}  // namespace attnscope::app
