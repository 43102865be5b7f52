#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/ledger/ledger_panel.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

void draw_byte_counter(const Snapshot& snapshot, const PanelContext& context) {
  const FontRef& font = context.fonts.ui_bold;
  const Bytes so_far = sum(snapshot.bytes_so_far);
  const Bytes whole = sum(snapshot.run->head_bytes);
  const Rect inner = context.rect.shrunk(context.px(14.0f), 0.0f);

  // The bar begins where the widest text would end, so that it does not move
  constexpr float kMostOfText = 0.85f;
  constexpr Index kLongestExact = 9'999'999;
  const std::string all = draw::format_bytes(whole.total());
  const float number =
      std::max(font.measure(all).x,
               font.measure(draw::format_bytes(std::min(whole.total(), kLongestExact))).x);
  const auto width_with = [&](std::string_view about) {
    return number + font.measure(fmt::format(" of {} {}", all, about)).x;
  };
  std::string_view about = "requested, this head, modelled";
  if (width_with(about) > kMostOfText * inner.width()) about = "requested, modelled";
  draw::text(context, font, {inner.min.x, inner.center().y - font.size * 0.5f}, context.theme.text,
             fmt::format("{} of {} {}", draw::format_bytes(so_far.total()), all, about));
  const float left = inner.min.x + width_with(about) + context.px(12.0f);
  const float half = context.px(7.0f);
  const Rect bar{{left, inner.center().y - half}, {inner.max.x, inner.center().y + half}};
  draw::fill(context, bar, context.theme.track, half);
  const auto share =
      static_cast<float>(so_far.total()) / static_cast<float>(std::max<Index>(whole.total(), 1));
  const Rect done{bar.min, {bar.min.x + bar.width() * share, bar.max.y}};
  if (done.width() > 2.0f * half) draw::fill(context, done, context.theme.accent, half);
  context.named_rects.add("ledger.counter", bar);
}

}  // namespace attnscope::app
