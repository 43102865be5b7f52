#include "app/view_state.h"

#include <initializer_list>

namespace attnscope::app {

namespace {

/// The one of these that has the name.
template <typename Enum>
std::optional<Enum> named(std::string_view name, std::initializer_list<Enum> all) {
  for (const Enum each : all) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::op:
      return "op";
    case Granularity::tile:
      return "tile";
    case Granularity::outer_loop:
      return "outer_loop";
  }
  return "op";
}

std::optional<Granularity> parse_granularity(std::string_view name) {
  return named(name, {Granularity::op, Granularity::tile, Granularity::outer_loop});
}

std::string_view to_string(MemoryTab tab) {
  return tab == MemoryTab::warps ? "warps" : "memory";
}

std::optional<MemoryTab> parse_memory_tab(std::string_view name) {
  for (MemoryTab each : {MemoryTab::memory, MemoryTab::warps}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

std::string_view to_string(TimelineTab tab) {
  return tab == TimelineTab::sms ? "sms" : "operations";
}

std::optional<TimelineTab> parse_timeline_tab(std::string_view name) {
  for (TimelineTab each : {TimelineTab::operations, TimelineTab::sms}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

std::string_view to_string(SoftmaxTab tab) {
  return tab == SoftmaxTab::why_online ? "why_online" : "row";
}

std::optional<SoftmaxTab> parse_softmax_tab(std::string_view name) {
  for (SoftmaxTab each : {SoftmaxTab::row, SoftmaxTab::why_online}) {
    if (to_string(each) == name) return each;
  }
  return std::nullopt;
}

std::string_view to_string(RaceClock clock) {
  return clock == RaceClock::tiles ? "tiles" : "requested_bytes";
}

std::optional<RaceClock> parse_race_clock(std::string_view name) {
  return named(name, {RaceClock::requested_bytes, RaceClock::tiles});
}

std::string_view to_string(ExplainTab tab) {
  return tab == ExplainTab::cuda_source ? "cuda_source" : "pseudo_code";
}

std::optional<ExplainTab> parse_explain_tab(std::string_view name) {
  return named(name, {ExplainTab::pseudo_code, ExplainTab::cuda_source});
}

std::string_view to_string(LedgerScope scope) {
  return scope == LedgerScope::whole_pass ? "whole_pass" : "so_far";
}

std::optional<LedgerScope> parse_ledger_scope(std::string_view name) {
  return named(name, {LedgerScope::so_far, LedgerScope::whole_pass});
}

}  // namespace attnscope::app
