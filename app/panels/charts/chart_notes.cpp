#include "app/panels/charts/chart_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace attnscope::app {

namespace {

/// How far along a sweep an algorithm spends more time waiting than working.
struct Wait {
  std::string algorithm;
  double up_to = 0.0;
  bool everywhere = false;
  bool by_idle_sms = false;  ///< true: idle SMs; false: launches, first loads, last stores
};

/// The symbol on the axis: "N".
std::string_view axis_symbol_of(const SweepKey& key) {
  switch (key.over) {
    case ChartAxis::heads:
      return "H";
    case ChartAxis::head_dim:
      return "d";
    case ChartAxis::block_size:
      return "Br";
    case ChartAxis::density:
      return "density";
    default:
      return key.is_prefill() ? "N" : "N_kv";
  }
}

/// The values, from the smallest on, at which an algorithm mostly waits; nothing if it mostly works
/// at the smallest.
std::optional<Wait> wait_of(const SizeSweep& sweep, std::string_view algorithm) {
  std::optional<Wait> wait;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm() != algorithm || !point.report.time) continue;
    const PartSeconds parts = point.report.time->parts();
    const auto part = [&](TimePart each) { return parts[static_cast<std::size_t>(each)]; };
    const double latency_s = part(TimePart::overhead) + part(TimePart::waiting);
    const double idle_s = part(TimePart::idle);
    if (latency_s + idle_s <= 0.5 * point.report.time->seconds) {
      if (wait) wait->everywhere = false;
      return wait;
    }
    wait = Wait{point.algorithm(), point.value, true, idle_s > latency_s};
  }
  return wait;
}

std::string words_of(const Wait& wait, const SweepKey& key) {
  const std::string_view symbol = axis_symbol_of(key);
  if (wait.everywhere) return fmt::format("{} at every {}", wait.algorithm, symbol);
  return fmt::format("{} up to {} = {}", wait.algorithm, symbol, axis_tick(key.over, wait.up_to));
}

/// "N 1024, N_kv 1024, d 64, B 16, H 32, bf16, causal".
std::string problem_words(const AttentionProblem& problem) {
  std::string words = fmt::format("N {}", problem.N);
  if (problem.N_kv != problem.N) words += fmt::format(", N_kv {}", problem.N_kv);
  words += fmt::format(", d {}, B {}, H {}, {}", problem.d, problem.batch, problem.heads,
                       to_string(problem.dtype));
  if (!problem.mask.is_none()) words += fmt::format(", {}", to_string(problem.mask));
  return words;
}

/// The distance between two problems: the octaves between their sizes, plus one for each other
/// setting that differs.
double distance(const AttentionProblem& a, const AttentionProblem& b) {
  const auto octaves = [](Index x, Index y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  return octaves(a.N, b.N) + octaves(a.N_kv, b.N_kv) + octaves(a.d, b.d) +
         octaves(a.batch * a.heads, b.batch * b.heads) + (a.dtype == b.dtype ? 0.0 : 1.0) +
         (a.mask == b.mask ? 0.0 : 1.0);
}

}  // namespace

ChartNote latency_note(const SizeSweep& sweep) {
  std::map<bool, std::vector<std::string>> waits;  // by Wait::by_idle_sms
  std::optional<double> largest;                   // Wait::up_to, if not everywhere
  std::string last;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm() == last) continue;
    last = point.algorithm();
    const auto wait = wait_of(sweep, last);
    if (!wait) continue;
    waits[wait->by_idle_sms].push_back(words_of(*wait, sweep.key));
    if (!wait->everywhere) largest = std::max(largest.value_or(0.0), wait->up_to);
  }
  if (waits.empty()) return {};
  std::vector<std::string> causes;
  for (const auto& [by_idle_sms, words] : waits) {
    const std::string_view cause = by_idle_sms ? "idle SMs (few thread blocks)" : "launch latency";
    causes.push_back(fmt::format("mostly {}: {}", cause, fmt::join(words, ", ")));
  }
  const std::string_view symbol = axis_symbol_of(sweep.key);
  const std::string range =
      largest ? fmt::format("up to {} = {}", symbol, axis_tick(sweep.key.over, *largest))
              : fmt::format("at every {}", symbol);
  return {fmt::format("predicted times: not bytes but {}", fmt::join(causes, "; ")),
          fmt::format("{}: mostly launch latency or idle SMs, not bytes", range),
          fmt::format("{}: latency, not bytes", range)};
}

ChartNote tiles_note(const SizeSweep& sweep, const ResolvedRun& shown) {
  const auto point = std::ranges::find_if(sweep.points, [&](const SweepPoint& each) {
    return each.algorithm() == shown.algorithm() && each.report.run.problem == shown.problem;
  });
  if (point == sweep.points.end() || sweep.key.over == ChartAxis::block_size) return {};
  const Tiling& tiling = point->report.run.tiling;
  if (tiling == shown.tiling) return {};
  const bool varies = std::ranges::any_of(sweep.points, [&](const SweepPoint& each) {
    return each.algorithm() == shown.algorithm() && each.report.run.tiling != tiling;
  });
  return {fmt::format("{} here uses its kernel's tiles ({} × {}{}); the ledger's run has {} × {}",
                      shown.algorithm(), tiling.Br, tiling.Bc, varies ? " at this point" : "",
                      shown.tiling.Br, shown.tiling.Bc),
          "not the ledger run's tiles"};
}

ChartNote no_recording_note(const SizeSweep& sweep, const GpuDescription& gpu,
                            const Measurements& measurements) {
  if (sweep.key.run.pass == PassKind::both) {
    return {"recordings cover one pass: choose forward or backward to see them",
            "recordings: single pass"};
  }
  const MeasuredRun* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const auto* runs : {&measurements.recorded, &measurements.measured}) {
    for (const MeasuredRun& run : *runs) {
      const bool may_be_shown = run.row.measurement && run.row.run.pass() == sweep.key.run.pass &&
                                describes(gpu, run.provenance.on.device);
      if (!may_be_shown) continue;
      const double far = distance(run.row.run.problem, sweep.key.run.problem);
      if (!(far < least)) continue;
      least = far;
      nearest = &run;
    }
  }
  if (nearest == nullptr) {
    return {
        fmt::format("no {} pass recorded on {}", to_string(sweep.key.run.pass), gpu.display_name),
        "no recording"};
  }
  return {
      fmt::format("no run with these settings recorded on {}; nearest: {}, {}", gpu.display_name,
                  nearest->row.run.algorithm(), problem_words(nearest->row.run.problem)),
      "no recording of these settings"};
}

std::vector<ChartNote> size_notes(const SizeSweep& sweep, ChartQuantity quantity,
                                  const ResolvedRun& shown, bool has_recorded,
                                  const GpuDescription& gpu, const Measurements& measurements) {
  if (quantity == ChartQuantity::memory) return {};  // the same in all tiles, and not recorded
  const bool of_time = quantity == ChartQuantity::time || quantity == ChartQuantity::rate;
  std::vector<ChartNote> notes;
  if (of_time) notes.push_back(latency_note(sweep));
  notes.push_back(tiles_note(sweep, shown));
  if (!has_recorded) notes.push_back(no_recording_note(sweep, gpu, measurements));
  std::erase_if(notes, [](const ChartNote& note) { return note.empty(); });
  return notes;
}

}  // namespace attnscope::app
