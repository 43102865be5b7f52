/// Numbers with their units for people, four digits each.
#pragma once

#include <string>

namespace attnscope {

/// "17.31 GB": traffic, tensors and HBM, in powers of 1000 (on-chip memory and L2: capacity_text).
std::string bytes_text(double bytes);
/// "68.72 GFLOP".
std::string flops_text(double flops);
/// "12.34 us".
std::string seconds_text(double seconds);
/// "+0.12 %"; a gap of ten times and more as "65.45 x".
std::string gap_percent_text(double percent);

}  // namespace attnscope
