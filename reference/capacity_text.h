/// Text for the capacity of on-chip memory and L2, and for the size of data kept there: in powers
/// of 1024, as in NVIDIA's guides. Traffic, tensors and HBM are in powers of 1000, as bandwidths
/// are (`bytes_text` of app/report/table.h, `format_bytes` of app/draw/format.h).
#pragma once

#include <string>

#include "reference/attention_problem.h"

namespace attnscope {

/// "512 B", "227 KiB", "98.05 KiB", "60 MiB": four digits.
std::string capacity_text(Index bytes);
/// "98.05 of 256 KiB": what is used, in the unit of the capacity.
std::string used_capacity_text(Index used_bytes, Index capacity_bytes);

}  // namespace attnscope
