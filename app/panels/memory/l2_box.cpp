#include "app/panels/memory/l2_box.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "app/draw/format.h"
#include "app/draw/wordings.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "reference/message_text.h"

namespace attnscope::app {

namespace {

/// The text about the last operation; about the next one while that is animated, or if the last one
/// moves no bytes.
std::string words_at_playhead(const Snapshot& snapshot, const PanelContext& context,
                              const L2Answers& answers) {
  const RunInfo& run = *snapshot.run;
  const bool animated = context.op_fraction > 0.0f;
  const auto last = animated ? std::nullopt : answer_at(run, answers, snapshot.step);
  if (last) return answer_words(*last, snapshot.op, run.gpu);
  const auto next = answer_at(run, answers, snapshot.step + 1);
  if (!next) return "";
  return (animated ? "" : "next: ") + answer_words(*next, snapshot.next_op, run.gpu);
}

constexpr std::string_view kAbout =
    "L2, modelled: all heads' thread blocks run on the GPU's SMs, and L2 keeps the most recently "
    "used pieces of tensors, in sets of 16. It is empty at first. On large GPUs it has two "
    "partitions, each next to half of the SMs: data that both halves read is cached twice. A miss "
    "in the SM's own partition is served by the other one, or by DRAM. A block's first load is a "
    "hit "
    "if another block or an earlier launch has moved the same data.";

}  // namespace

L2View view_l2(const RunInfo& run, const std::atomic<bool>* cancel) {
  const BlockPlacement placement = kernel_placement(run.totals, run.gpu);
  return L2View{answers_of_head(run.resolved(), run.gpu, placement, run.batch, run.head,
                                kQuickTransfers, cancel),
                bandwidths_of(run.gpu)};
}

std::optional<L2Answer> answer_at(const RunInfo& run, const L2Answers& answers, Index step) {
  const auto launch = std::ranges::find_if(
      run.launches, [&](const StepSpan& span) { return step >= span.begin && step < span.end; });
  if (launch == run.launches.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(launch - run.launches.begin());
  if (run.pass.launches[index].blocks_per_head(run.grids[index]) == 1) {
    return answers.find(index, 0, step - launch->begin);
  }
  // A launch of several blocks has one iteration of the outer loop for each block
  const auto first = std::ranges::lower_bound(run.outer, launch->begin, {}, &StepSpan::begin);
  const auto past = std::ranges::upper_bound(run.outer, step, {}, &StepSpan::begin);
  if (past <= first) return std::nullopt;
  return answers.find(index, past - first - 1, step - std::prev(past)->begin);
}

std::string answer_words(const L2Answer& answer, const TileOp& op, const GpuDescription& gpu) {
  const bool is_load = op.kind == OpKind::load;
  const Tensor tensor = is_load ? op.sources()[0].tensor : op.dests()[0].tensor;
  const std::string what =
      fmt::format("{} {}", is_load ? "load" : (op.kind == OpKind::atomic_add ? "add to" : "store"),
                  display_name(tensor));
  if (answer.total() == 0) return what + ": counted with a neighbouring tile";
  if (op.kind == OpKind::store) return what + ": kept until it is evicted";
  std::string parts;
  const auto add = [&](Index bytes, std::string_view words) {
    if (bytes == 0) return;
    const double percent = 100.0 * static_cast<double>(bytes) / static_cast<double>(answer.total());
    parts += fmt::format("{}{}", parts.empty() ? "" : ", ", words);
    if (bytes < answer.total()) parts += fmt::format(" {:.0f} %", percent);
  };
  add(answer.hit_bytes, "hit");
  add(answer.other_bytes, "miss, in the other partition");
  add(answer.dram_bytes, "miss, from " + dram_name(gpu));
  return fmt::format("{}: {}", what, parts);
}

void L2Box::update(const std::shared_ptr<const RunInfo>& run) {
  const RunOfWork key{run};
  if (!view_.wants(key)) return;
  view_.start(key, [waiting = run](WorkControl& control) mutable {
    const auto followed = std::exchange(waiting, nullptr);  // the run is released afterwards
    return view_l2(*followed, &control.cancel_flag());
  });
}

float L2Box::height(const PanelContext& context, float panel_height) {
  const float line = draw::line_height(context.fonts.small);
  if (panel_height < 11.0f * line) return 0.0f;
  return line + (panel_height < 20.0f * line ? 0.0f : context.px(8.0f));
}

float L2Box::height_below(const PanelContext& context, float panel_height) {
  const float line = draw::line_height(context.fonts.small);
  return panel_height < 26.0f * line ? 0.0f : line;
}

const L2View* L2Box::fresh_view(const Snapshot& snapshot) const {
  const L2View* const view = view_.latest();
  return view != nullptr && *view_.latest_key() == RunOfWork{snapshot.run} ? view : nullptr;
}

const Bandwidths* L2Box::bandwidths(const Snapshot& snapshot) const {
  const L2View* const view = fresh_view(snapshot);
  return view != nullptr ? &view->bandwidths : nullptr;
}

void L2Box::draw_frame(const PanelContext& context, const Rect& rect) const {
  draw::fill(context, rect, context.theme.inset, context.px(4.0f));
  draw::outline(context, rect, context.theme.inset_border, 1.0f, context.px(4.0f));
  context.named_rects.add("memory.l2", rect);
}

void L2Box::draw_text(const Snapshot& snapshot, const PanelContext& context,
                      const Rect& rect) const {
  const RunInfo& run = *snapshot.run;
  const FontRef& font = context.fonts.small;
  const Theme& theme = context.theme;
  const L2View* const view = fresh_view(snapshot);
  std::string words, about = std::string(kAbout);
  if (view != nullptr && view->answers) {
    words = words_at_playhead(snapshot, context, view->answers.value());
    if (view->answers.value().are_of_another_head()) {
      about += "\nAll heads move the same pieces: a head that was followed represents this one.";
    }
  } else if (view != nullptr) {
    words = "not followed: " + attnscope::words(view->answers.error(), Reader::screen);
  } else if (view_.busy()) {
    words = "modelling…";
  }

  // Text on a patch, so that arrows do not cross it
  const float margin = context.px(8.0f);
  const std::string name = "L2, " + capacity_text(run.gpu.l2_bytes);
  constexpr std::string_view kSeparators[] = {" · ", ", "};
  const std::vector<std::string> wordings =
      draw::wordings_of(words.empty() ? name : fmt::format("{} · {}", name, words), kSeparators);
  const std::string shown = draw::wording_in_lines(font, wordings, rect.width() - 2.0f * margin, 1);
  const ImVec2 at{rect.min.x + margin, rect.center().y - font.size * 0.5f};
  draw::fill(context,
             {{at.x - 2.0f, at.y}, {at.x + font.measure(shown).x + 2.0f, at.y + font.size}},
             theme.inset);
  draw::text(context, font, at, theme.text, shown);
  if (!hovered(rect)) return;
  if (!words.empty()) about = fmt::format("{}\n{}", words, about);
  if (view != nullptr) {
    for (const Bandwidth* each : {&view->bandwidths.of_l2, &view->bandwidths.of_dram}) {
      about += "\n" + each->wordings().front();
    }
  }
  tooltip(context, about, rect);
}

}  // namespace attnscope::app
