/// The text that the timeline by SM shows about its runs.

#include <fmt/format.h>

#include <cmath>

#include "app/draw/format.h"
#include "app/panels/timeline/timeline.h"
#include "app/report/measured_trace.h"
#include "app/report/report_text.h"

namespace attnscope::app {

namespace {

std::string_view words_of(UpperRun kind) {
  constexpr std::string_view kWords[] = {"predicted, calibrated, cold L2",
                                         "predicted, estimated, cold L2", "lower bound"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string sm_time_text(Index ps) {
  return ps == 0 ? "0" : draw::format_seconds(static_cast<double>(ps) * 1e-12);
}

std::string_view upper_word(UpperRun kind) {
  return kind == UpperRun::lower_bound ? "lower bound" : "predicted";
}

namespace {

/// ", slowed 1.8× by tracing"; empty if recording its steps made the pass less than 10 % longer.
std::string slowed_text(const KernelTrace& trace) {
  if (trace.plain_time_s <= 0.0 || trace.time_s < 1.1 * trace.plain_time_s) return "";
  return fmt::format(", slowed {:.2g}× by tracing", trace.time_s / trace.plain_time_s);
}

/// The headings without the number of busy SMs.
std::vector<std::string> run_headings(const SmRunPair& pair) {
  const std::string_view launch = launch_words(pair.launch);
  const std::string upper =
      fmt::format("{} on {}, {}", words_of(pair.kind), pair.gpu, sm_time_text(pair.upper.end_ps));
  const std::string brief =
      fmt::format("{}, {}", words_of(pair.kind), sm_time_text(pair.upper.end_ps));
  if (!pair.trace) {
    return {fmt::format("{} · {}", launch, upper), fmt::format("{} · {}", launch, brief), brief,
            fmt::format("{}, {}", upper_word(pair.kind), sm_time_text(pair.upper.end_ps))};
  }
  const std::string& device = pair.trace->header.device.name;
  const std::string_view date = std::string_view(pair.trace->header.date).substr(0, 10);
  const std::string recorded =
      fmt::format("below: recorded on {}, {}, warm L2{}, {}", device, date,
                  slowed_text(*pair.trace), sm_time_text(pair.recorded.end_ps));
  const std::string brief_recorded =
      fmt::format("below: recorded on {}, warm L2{}, {}", device, slowed_text(*pair.trace),
                  sm_time_text(pair.recorded.end_ps));
  return {fmt::format("{} · above: {} · {}", launch, upper, recorded),
          fmt::format("{} · above: {} · {}", launch, brief, recorded),
          fmt::format("above: {} · {}", brief, recorded),
          fmt::format("above: {} · {}", brief, brief_recorded),
          fmt::format("above: {} · below: recorded on {}", upper_word(pair.kind), device),
          fmt::format("below: recorded on {}", device),
          fmt::format("recorded: {}", device)};
}

}  // namespace

std::string busy_sms_text(const SmRunPair& pair) {
  const Index upper = pair.upper.busy_sms();
  const Index recorded = pair.trace ? pair.recorded.busy_sms() : upper;
  if (upper == recorded) return fmt::format("{} of {} SMs busy", upper, pair.sm_count);
  return fmt::format("SMs busy: {} {}, {} recorded, of {}", upper, upper_word(pair.kind), recorded,
                     pair.sm_count);
}

std::vector<std::string> sm_headings(const SmRunPair& pair) {
  std::vector<std::string> headings = run_headings(pair);
  for (std::string& heading : headings) heading = busy_sms_text(pair) + " · " + heading;
  return headings;
}

std::string_view about_upper(UpperRun kind) {
  switch (kind) {
    case UpperRun::calibrated:
      return "Predicted: thread blocks start in the order of the launch, as soon as an SM has "
             "room. Each waits for its first tiles (pale), runs steps at the cycles that the "
             "calibration measured, and waits for its last stores. L2 is empty at first; a "
             "recorded run begins with a warm one.";
    case UpperRun::estimated:
      return "Predicted: the cycles of a step are estimated from the measured rates of the SM's "
             "units, because such steps are not calibrated. A pale block waits for tiles or "
             "stores. L2 is empty at first; a recorded run begins with a warm one, and recording "
             "its steps takes time, which dominates a run of a few µs.";
    case UpperRun::lower_bound:
      break;
  }
  return "Lower bound: each SM has an equal share of the datasheet's bandwidth and peak rates, "
         "which "
         "its resident thread blocks divide equally.\nThe ledger's lower bound assumes that the "
         "whole GPU works on the pass: it is shorter where SMs stay idle here.";
}

std::string other_label(const SmRunPair& pair) {
  return "Not the run on the screen: " + describe(*pair.trace);
}

std::string compare_block(const SmRunPair& pair, const BlockId& id) {
  std::string text = fmt::format("block {} of head {}", id.block, id.head);
  if (id.batch > 0) text += fmt::format(", batch {}", id.batch);
  const auto add = [&](std::string_view kind, const SmRun& run, char before) {
    const SmBlock* const block = run.find(id);
    if (block == nullptr) return;
    text += fmt::format("{} {} on SM {}, {} to {}", before, kind, block->sm,
                        sm_time_text(block->begin_ps), sm_time_text(block->end_ps));
  };
  add(upper_word(pair.kind), pair.upper, ':');
  add("recorded", pair.recorded, ';');
  return text;
}

std::string compare_row(const Snapshot& snapshot, const SmRunPair& pair) {
  const SoftmaxRow& model = snapshot.softmax_row;
  if (!pair.trace || !pair.same_run || !model.known || model.j < 0) return {};
  const TracedRow* row =
      find_row(*pair.trace, snapshot.run->batch, snapshot.run->head, model.query);
  if (row == nullptr || static_cast<std::size_t>(model.j) >= row->states.size()) return {};
  const kernels::TraceRow& seen = row->states[static_cast<std::size_t>(model.j)];
  std::string text = fmt::format("row {} after column tile {}:", model.query, model.j);
  const auto add = [&text](std::string_view name, const std::optional<double>& modelled,
                           float recorded) {
    text += fmt::format(" {} {} modelled, {} recorded ·", name,
                        modelled ? draw::format_value(*modelled) : "not yet",
                        std::isnan(recorded) ? "unavailable" : draw::format_value(recorded));
  };
  add("m", model.m, seen.m);
  add("l", model.l, seen.l);
  add("alpha", model.alpha, seen.alpha);
  text.resize(text.size() - std::string_view(" ·").size());
  return text;
}

}  // namespace attnscope::app
