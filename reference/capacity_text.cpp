#include "reference/capacity_text.h"

#include <fmt/core.h>

namespace attnscope {

namespace {

/// The largest unit that leaves at least 1 before the point.
struct Unit {
  double bytes;
  const char* name;
};

Unit unit_for(Index bytes) {
  if (bytes >= Index{1} << 30) return {0x1p30, "GiB"};
  if (bytes >= Index{1} << 20) return {0x1p20, "MiB"};
  if (bytes >= Index{1} << 10) return {0x1p10, "KiB"};
  return {1.0, "B"};
}

/// Four digits, or all of those before the point.
std::string number_in(const Unit& unit, Index bytes) {
  const double value = static_cast<double>(bytes) / unit.bytes;
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::string capacity_text(Index bytes) {
  const Unit unit = unit_for(bytes);
  return fmt::format("{} {}", number_in(unit, bytes), unit.name);
}

std::string used_capacity_text(Index used_bytes, Index capacity_bytes) {
  const Unit unit = unit_for(capacity_bytes);
  return fmt::format("{} of {} {}", number_in(unit, used_bytes), number_in(unit, capacity_bytes),
                     unit.name);
}

}  // namespace attnscope
