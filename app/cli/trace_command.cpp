/// attnscope-cli trace: the modelled run as a Chrome trace that Perfetto opens.

#include <fmt/core.h>

#include "app/cli/commands.h"
#include "app/cli/measured_trace.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/cli/simulate_command.h"
#include "app/cli/text_stream.h"
#include "app/report/table.h"
#include "reference/nearest_name.h"
#include "sim/trace/write_trace.h"

namespace attnscope::cli {

namespace {

std::optional<BlockOrder> parse_block_order(std::string_view text) {
  if (text == "ascending") return BlockOrder{BlockOrder::Kind::ascending};
  if (text == "descending") return BlockOrder{BlockOrder::Kind::descending};
  if (text == "shuffled") return BlockOrder{BlockOrder::Kind::shuffled};
  return std::nullopt;
}

std::string summary_text(const TraceSummary& summary, const std::string& path) {
  const SimulationReport& report = summary.report;
  const Lines lines = {
      {"trace", "modelled"},
      {"operations", std::to_string(report.tile_ops)},
      {"events", std::to_string(summary.events)},
      {"bytes requested", bytes_text(report.requested.total())},
      {"end, lower bound", seconds_text(static_cast<double>(summary.end_ps) * 1e-12)},
  };
  return fmt::format(
      "{}wrote {}: open it at https://ui.perfetto.dev or chrome://tracing\n"
      "the times are a lower bound from the datasheet's peak rates, not a prediction\n",
      table_text(lines), printable(path));
}

std::optional<Error> run_trace(const GivenOptions& given) {
  const auto path = given.text("out");
  if (!path)
    return invalid_request("--out is required: the trace's file, or - for standard output");
  if (*path != "-") {
    if (auto error = check_writable("out", *path)) return error;
  }
  if (auto error = check_apart(given)) return error;
  if (auto error = check_measured_options(given)) return error;
  if (asks_for_measured(given)) return run_measured_trace(given, *path);
  BlockOrder order;
  if (auto error = read_choice(given, "block-order", parse_block_order,
                               "ascending, descending or shuffled", order)) {
    return error;
  }
  const auto model = parse_model_run(given);
  if (!model) return model.error();

  auto stream = TextStream::open(*path);
  if (!stream) return stream.error();
  int shown = -1;
  const auto progress = [&shown](double fraction) {
    const int percent = static_cast<int>(100 * fraction);
    if (percent == shown) return;
    shown = percent;
    show_progress(fmt::format("writing the trace: {} %", percent));
  };
  const auto summary = write_trace(
      model.value().run, model.value().gpu, order,
      [&stream](std::string_view piece) { return stream.value().write(piece); }, progress);
  clear_progress();
  // A file that could not be written says why: its own error comes first
  const bool refused = !summary && summary.error().kind == Error::Kind::invalid_request;
  if (refused) return summary.error();
  if (auto error = stream.value().finish()) return error;
  if (!summary) return summary.error();
  if (*path == "-") return std::nullopt;
  return write_text("-", summary_text(summary.value(), *path));
}

}  // namespace

CommandSpec trace_command() {
  return {
      .name = "trace",
      .summary = "Writes the modelled run, or a real one, as a Chrome trace (opens in Perfetto).",
      .operand = "",
      .options =
          joined({{{"out", "FILE", "required; the trace's file, - is standard output"},
                   {"block-order", "ORDER", "ascending, descending or shuffled [ascending]"}},
                  measured_trace_options(),
                  run_options(FieldTarget::model,
                              {"inputs", "seed", "q", "k", "v", "do", "round_to_storage"})}),
      .run = run_trace};
}

}  // namespace attnscope::cli
