#include "app/draw/axis.h"

#include <algorithm>
#include <cmath>

#include "app/draw/wordings.h"

namespace attnscope::app::draw {

float Axis::position(double value) const {
  if (logarithmic) {
    return static_cast<float>((std::log10(value) - std::log10(low)) /
                              (std::log10(high) - std::log10(low)));
  }
  return static_cast<float>((value - low) / (high - low));
}

double Axis::value(double position) const {
  if (!logarithmic) return low + position * (high - low);
  return std::pow(10.0, std::log10(low) + position * (std::log10(high) - std::log10(low)));
}

std::string name_that_fits(const Axis& axis, const FontRef& font, float width) {
  constexpr std::string_view kSeparators[] = {", ", " ("};
  return widest_that_fits(font, wordings_of(axis.name, kSeparators), width);
}

std::vector<Tick> visible_ticks(const Axis& axis, const std::vector<Tick>& own,
                                const ZoomedAxis& part, TickLabel label) {
  constexpr std::size_t kFew = 3;
  constexpr double kRounding = 1e-6;
  if (part.is_whole()) return own;
  std::vector<Tick> visible;
  for (const Tick& tick : own) {
    const double position = part.position(axis.position(tick.value));
    if (position >= -kRounding && position <= 1.0 + kRounding) visible.push_back(tick);
  }
  if (label == nullptr || visible.size() >= kFew) return visible;
  Axis narrow = axis;
  narrow.logarithmic = false;  // within a decade, ticks are at round steps
  narrow.low = axis.value(part.begin);
  narrow.high = axis.value(part.end);
  return ticks(narrow, 5, label);
}

std::vector<Tick> ticks(const Axis& axis, int most, TickLabel label) {
  std::vector<Tick> found;
  if (!(axis.high > axis.low) || most < 1) return found;
  if (axis.logarithmic) {
    const int first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
    const int every = std::max(1, (last - first + most) / most);
    for (int power = first; power <= last; power += every) {
      const double value = std::pow(10.0, power);
      found.push_back({value, label(value)});
    }
    return found;
  }

  // Steps of 1, 2 or 5 times a power of ten
  const double rough = (axis.high - axis.low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough * (1.0 - 1e-9)) step = factor * power;
  }
  const auto first = static_cast<int>(std::ceil(axis.low / step - 1e-9));
  const auto last = static_cast<int>(std::floor(axis.high / step + 1e-9));
  for (int k = first; k <= last; ++k) {
    const double value = step * k;
    found.push_back({value, label(value)});
  }
  return found;
}

}  // namespace attnscope::app::draw
