#include "app/cli/measured_trace.h"

#include <fmt/format.h>

#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/cli/text_stream.h"
#include "app/report/measured_trace.h"
#include "app/report/table.h"
#include "kernels/client/kernel_library.h"
#include "kernels/resolve.h"
#include "kernels/trace/trace_plan.h"
#include "reference/nearest_name.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace {

constexpr std::string_view kTracesFolder = "recordings/traces";

/// Runs the instrumented kernel of the options. Whatever can be refused without a GPU is.
Result<KernelTrace> trace_now(const GivenOptions& given) {
  const auto spec = parse_run_of(given, kernels::kernel_algorithms());
  if (!spec) return spec.error();
  Index row_step = 0;
  constexpr Index kMostRows = 1'000'000'000;
  if (auto error = read_whole(given, "rows", 0, kMostRows, row_step)) return *error;
  const auto run = kernels::resolve(spec.value());
  if (!run) return run.error();
  if (const auto plan = kernels::plan_trace(run.value(), row_step); !plan) return plan.error();

  const auto library = KernelLibrary::load();
  if (!library) return library.error();
  return library.value()->trace(run.value(), row_step);
}

Result<KernelTrace> saved_trace(const std::string& name) {
  const auto path = find_asset(kTracesFolder, name);
  if (!path) return path.error();
  return read_kernel_trace(path.value());
}

std::string summary_text(const KernelTrace& trace, Index events, const std::string& path) {
  const Lines lines = {
      {"trace", "measured, recorded by the kernel"},
      {"run", describe(trace)},
      {"when", trace.header.date},
      {"thread blocks", std::to_string(trace.blocks.size())},
      {"steps", std::to_string(trace.step_count())},
      {"events", std::to_string(events)},
      {"rows with m, l, alpha", std::to_string(trace.rows.size())},
      {"launch, first block to last", seconds_text(static_cast<double>(trace.end_ps()) * 1e-12)},
      {"pass with / without recording",
       fmt::format("{} / {}", seconds_text(trace.time_s), seconds_text(trace.plain_time_s))},
      {"SM clock, seen", fmt::format("{:.0f} MHz", trace.sm_clock_mhz)},
      {"global timer, least step seen", trace.timer_step_ns
                                            ? fmt::format("{} ns", *trace.timer_step_ns)
                                            : "unavailable: the readings lie too far apart"},
  };
  return fmt::format("{}wrote {}: open it at https://ui.perfetto.dev or chrome://tracing\n",
                     table_text(lines), printable(path));
}

/// The first field that was given, as an error: all of them, or those that the model alone has.
std::optional<Error> refuse_fields(const GivenOptions& given, bool all, std::string_view why) {
  for (const RunField& field : run_fields()) {
    const bool of_kernel = field.target != FieldTarget::model && field.key != "block_mask";
    if (!given.has(field.option) || (of_kernel && !all)) continue;
    return invalid_field(ErrorCode::not_applicable, field.key,
                         fmt::format("{} is of no use here: {}", field_name(field.key), why));
  }
  return std::nullopt;
}

}  // namespace

std::vector<OptionSpec> measured_trace_options() {
  return {{"measured", "", "trace the real kernel on this machine's GPU, recorded inside it"},
          {"rows", "STEP", "with --measured: m, l and alpha of every STEP-th row [0: none]"},
          {"save", "FILE", "with --measured: keep the trace for --recording and for the app"},
          {"recording", "NAME|FILE", "the trace of a real run that was saved before"}};
}

bool asks_for_measured(const GivenOptions& given) {
  return given.has("measured") || given.has("recording");
}

std::optional<Error> check_measured_options(const GivenOptions& given) {
  if (given.has("measured") && given.has("recording")) {
    return invalid_request("--measured and --recording are two runs; give one of them");
  }
  for (const char* option : {"rows", "save"}) {
    if (!given.has(option) || given.has("measured")) continue;
    return invalid_request(fmt::format("--{} goes with --measured", option));
  }
  if (!asks_for_measured(given)) return std::nullopt;
  if (given.has("block-order")) {
    return invalid_request(
        "--block-order is the model's; on a real GPU the hardware chooses the order");
  }
  if (given.has("recording")) {
    return refuse_fields(given, true, "--recording names a run that has its own; leave it out");
  }
  return refuse_fields(given, false,
                       "it is the model's, --measured traces the kernel as it is: leave it out");
}

std::optional<Error> run_measured_trace(const GivenOptions& given, const std::string& path) {
  const auto save = given.text("save");
  if (save && *save != "-") {
    if (auto error = check_writable("save", *save)) return error;
  }
  const auto trace =
      given.has("recording") ? saved_trace(*given.text("recording")) : trace_now(given);
  if (!trace) return trace.error();
  if (save) {
    if (auto error = write_text(*save, kernel_trace_text(trace.value()))) return error;
  }

  auto stream = TextStream::open(path);
  if (!stream) return stream.error();
  Index events = 0;
  write_measured_trace(
      trace.value(), [&stream](std::string_view piece) { return stream.value().write(piece); },
      events);
  if (auto error = stream.value().finish()) return error;
  if (path == "-" || save == "-") return std::nullopt;
  return write_text("-", summary_text(trace.value(), events, path));
}

}  // namespace attnscope::cli
