#include "app/draw/zoom.h"

#include <algorithm>
#include <cmath>

namespace attnscope::app::draw {

namespace {

constexpr double kZoomOfANotch = 0.8;
constexpr double kScrollOfANotch = 0.15;

}  // namespace

void ZoomedAxis::zoom(double factor, double position, const ZoomLimits& limits) {
  const double fixed = share(position);
  const double most = std::min(limits.most, 1.0);
  const double size_now = std::clamp(size() * factor, std::min(limits.least, most), most);
  begin = std::clamp(fixed - position * size_now, 0.0, 1.0 - size_now);
  end = begin + size_now;
}

void ZoomedAxis::scroll(double share) {
  const double size_now = size();
  begin = std::clamp(begin + share * size_now, 0.0, 1.0 - size_now);
  end = begin + size_now;
}

void ZoomedAxis::show(double first, double last) {
  if (first >= begin && last <= end) return;
  scroll(position(0.5 * (first + last)) - 0.5);
}

bool zoom_by_wheel(const Rect& rect, ZoomedAxis* x, ZoomedAxis* y, const ZoomLimits& x_limits,
                   const ZoomLimits& y_limits) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel == 0.0f && io.MouseWheelH == 0.0f) return false;
  if (!ImGui::IsWindowHovered() || !rect.contains(io.MousePos)) return false;
  const auto notches = static_cast<double>(io.MouseWheel);
  const auto sideways = static_cast<double>(io.KeyShift ? io.MouseWheel : io.MouseWheelH);
  if (x != nullptr) x->scroll(-kScrollOfANotch * sideways);
  if (io.KeyShift) return true;
  if (io.KeyCtrl) {
    if (y != nullptr) y->scroll(-kScrollOfANotch * notches);
    return true;
  }
  const double factor = std::pow(kZoomOfANotch, notches);
  if (x != nullptr) x->zoom(factor, (io.MousePos.x - rect.min.x) / rect.width(), x_limits);
  if (y != nullptr) y->zoom(factor, (io.MousePos.y - rect.min.y) / rect.height(), y_limits);
  return true;
}

}  // namespace attnscope::app::draw
