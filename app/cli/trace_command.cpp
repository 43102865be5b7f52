/// attnscope-cli trace: the modelled run, or a real one, as a Chrome trace that Perfetto opens.

#include <fmt/core.h>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/measured_trace.h"
#include "app/report/report_text.h"
#include "kernels/measure/gpu.h"
#include "kernels/measure/trace/trace_plan.h"
#include "kernels/resolve.h"
#include "reference/json/json_document.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"
#include "sim/trace/chrome_trace.h"

namespace attnscope::cli {

namespace {

std::optional<BlockOrder> parse_block_order(std::string_view text) {
  if (text == "ascending") return BlockOrder{BlockOrder::Kind::ascending};
  if (text == "descending") return BlockOrder{BlockOrder::Kind::descending};
  if (text == "shuffled") return BlockOrder{BlockOrder::Kind::shuffled};
  return std::nullopt;
}

/// The text below the summary's table, which says where the trace is.
std::string written_text(const std::string& path) {
  return fmt::format("wrote {}: open it at https://ui.perfetto.dev or chrome://tracing\n",
                     printable(path));
}

std::string summary_text(const TraceSummary& summary) {
  const SimulationReport& report = summary.report;
  const Lines lines = {
      {"trace", "modelled"},
      {"operations", std::to_string(report.tile_ops)},
      {"events", std::to_string(summary.events)},
      {"bytes requested", bytes_text(report.requested.total())},
      {"end, lower bound", seconds_text(static_cast<double>(summary.end_ps) * 1e-12)},
  };
  return table_text(lines);
}

/// Traces the kernel of the options on the GPU, after every check that needs no GPU.
Result<KernelTrace> trace_now(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, kernels::kernel_names()));
  ATTNSCOPE_TRY(const auto row_step, read_whole(given, "rows", 0, 1'000'000'000, Index{0}));
  ATTNSCOPE_TRY(const auto checked, kernels::resolve(spec));
  // The GPU is not known yet; with less shared memory, tiles are smaller and the trace is larger
  const auto least = kernels::plan_trace(checked, row_step, {});
  if (!least) return least.error();

  ATTNSCOPE_TRY(const auto gpu, Gpu::open());
  ATTNSCOPE_TRY(const auto run, kernels::resolve(spec, gpu->target()));
  show_progress("tracing the kernel");
  if (auto error = compile_with_progress(*gpu, run, kernels::RunUse::trace)) return *error;
  auto trace = gpu->trace(run, row_step);
  clear_progress();
  return trace;
}

Result<KernelTrace> saved_trace(const std::string& name) {
  ATTNSCOPE_TRY(const auto path, find_asset(kTracesFolder, name));
  return read_kernel_trace(path);
}

std::string summary_text(const KernelTrace& trace, Index events) {
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
      {"SM clock, measured", fmt::format("{:.0f} MHz", trace.sm_clock_mhz)},
      {"global timer, smallest step observed", trace.timer_step_ns
                                                   ? fmt::format("{} ns", *trace.timer_step_ns)
                                                   : "unavailable: the readings are too far apart"},
  };
  return table_text(lines);
}

/// An error for the first given field, among all fields or only among the model's.
std::optional<Error> refuse_fields(const GivenOptions& given, bool all, std::string_view why) {
  for (const RunField& field : run_fields()) {
    const bool of_kernel = field.target != FieldTarget::model && field.key != "block_mask";
    if (!given.has(field.option) || (of_kernel && !all)) continue;
    return not_applicable(field.key, "{} does not apply: {}", field_name(field.key), why);
  }
  return std::nullopt;
}

/// invalid_request unless the options of a real run, recorded now on this machine's GPU or saved
/// before, can be combined.
std::optional<Error> check_measured_options(const GivenOptions& given) {
  const bool measured = given.has("measured");
  const bool recorded = given.has("recording");
  if (measured && recorded) {
    return invalid_request("--measured and --recording cannot be combined; give one of them");
  }
  for (const char* option : {"rows", "save", "deterministic", "knob"}) {
    if (measured || !given.has(option)) continue;
    if (!recorded) return invalid_request("--{} requires --measured", option);
    return invalid_request("--{} does not apply: --recording shows a saved run; leave it out",
                           option);
  }
  if ((measured || recorded) && given.has("block-order")) {
    return invalid_request(
        "--block-order applies only to the model; on a real GPU the hardware chooses the order");
  }
  if (recorded) {
    return refuse_fields(
        given, true, "--recording shows a saved run, whose fields are fixed; leave the field out");
  }
  if (!measured) return std::nullopt;
  return refuse_fields(
      given, false,
      "it is an option of the model, and --measured traces the real kernel; leave the option out");
}

/// Writes the real run's Chrome trace to `path`, and with --save the trace itself.
std::optional<Error> run_measured_trace(const GivenOptions& given, const std::string& path) {
  ATTNSCOPE_TRY(auto save, parse_output(given, "save"));
  ATTNSCOPE_TRY(const auto trace,
                given.has("recording") ? saved_trace(*given.text("recording")) : trace_now(given));
  std::string text;
  std::optional<Error> too_large;
  if (!save.empty()) {
    text = kernel_trace_text(trace);
    too_large = check_json_size(save, text.size());
    if (too_large) save.clear();
  }
  Index events = 0;
  const auto write = [&](FileWriter& output) -> std::optional<Error> {
    write_measured_trace(
        trace, [&](std::string_view piece) { return output.write(piece); }, events);
    return std::nullopt;
  };
  return write_documents(
      {text_document(save, std::move(text)), {path, write}},
      [&] { return summary_text(trace, events) + written_text(path); }, std::move(too_large));
}

/// Writes the model's Chrome trace to `path`.
std::optional<Error> run_modelled_trace(const GivenOptions& given, const std::string& path) {
  ATTNSCOPE_TRY(const auto order, read_choice(given, "block-order", parse_block_order,
                                              "ascending, descending or shuffled", BlockOrder{}));
  ATTNSCOPE_TRY(const auto model, parse_model_run(given));

  int shown = -1;
  const auto progress = [&shown](double fraction) {
    const int percent = static_cast<int>(100 * fraction);
    if (percent == shown) return;
    shown = percent;
    show_progress(fmt::format("writing the trace: {} %", percent));
  };
  TraceSummary summary;
  const auto write = [&](FileWriter& output) -> std::optional<Error> {
    auto written = write_trace(
        model.run, model.gpu, order,
        [&output](std::string_view piece) { return output.write(piece); }, progress);
    clear_progress();
    if (!written) return written.error();
    summary = std::move(written).value();
    return std::nullopt;
  };
  return write_documents({{path, write}}, [&] {
    return summary_text(summary) + written_text(path) +
           "the times are a lower bound from the datasheet's peak rates, not a prediction\n";
  });
}

std::optional<Error> run_trace(const GivenOptions& given) {
  if (!given.has("out"))
    return invalid_request("--out is required: the trace file, or - for standard output");
  ATTNSCOPE_TRY(const auto path, parse_output(given, "out"));
  if (auto error = check_measured_options(given)) return error;
  const bool is_real = given.has("measured") || given.has("recording");
  return is_real ? run_measured_trace(given, path) : run_modelled_trace(given, path);
}

}  // namespace

CommandSpec trace_command() {
  return {
      .name = "trace",
      .summary = "Writes the modelled run, or a real one, as a Chrome trace (opens in Perfetto).",
      .options = joined(
          {{{"out", "FILE", "required; the trace file, - is standard output", false, writes_file()},
            {"block-order", "ORDER", "ascending, descending or shuffled [ascending]"},
            {"measured", "",
             "trace the real kernel on this machine's GPU; the kernel records itself"},
            {"rows", "STEP", "with --measured: m, l and alpha of every STEP-th row [0: none]"},
            {"save", "FILE",
             "with --measured: save the trace for --recording; the app shows those in "
             "assets/recordings/traces",
             false, writes_file("a recorded trace")},
            {"recording", "NAME|FILE", "the saved trace of a real run", false, reads_trace()}},
           run_options(FieldTarget::model,
                       {"inputs", "seed", "q", "k", "v", "do", "round_to_storage"}),
           with_help(
               field_options({"deterministic", "switches"}),
               {{"deterministic", "", "with --measured, backward pass: add to dQ in a fixed order"},
                {"knob", "",
                 "with --measured: optimisations to change; see attnscope-cli knobs [the "
                 "kernel's]"}})}),
      .run = run_trace};
}

}  // namespace attnscope::cli
