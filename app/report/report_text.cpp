#include "app/report/report_text.h"

#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "kernels/recording/recording.h"
#include "reference/block_mask.h"
#include "reference/message_text.h"
#include "sim/accuracy.h"

namespace attnscope {

namespace {

std::string scaled(double value, std::string_view unit) {
  const auto [number, prefix] = with_si_prefix(value, 999.95);
  return fmt::format("{:.4g} {}{}", number, prefix, unit);
}

}  // namespace

std::string bytes_text(double bytes) {
  return scaled(bytes, "B");
}
std::string flops_text(double flops) {
  return scaled(flops, "FLOP");
}

std::string seconds_text(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string clock_text(double hz) {
  return fmt::format("{:.2f} GHz", hz * 1e-9);
}

std::string table_text(const Lines& lines, const std::vector<Align>& align) {
  // A cell may contain text from a file; a line break in it would forge a line of the table
  Lines cells;
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    auto& shown = cells.emplace_back();
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t c = 0; c < line.size(); ++c) {
      shown.push_back(one_line(line[c]));
      widths[c] = std::max(widths[c], shown[c].size());
    }
  }

  std::string text;
  for (const auto& line : cells) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      row += c == 0 ? "" : "  ";
      row += align[c] == Align::left ? fmt::format("{:<{}}", line[c], widths[c])
                                     : fmt::format("{:>{}}", line[c], widths[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string table_text(const Lines& lines, std::size_t left_columns) {
  std::size_t columns = left_columns;
  for (const auto& line : lines) columns = std::max(columns, line.size());
  std::vector<Align> align(columns, Align::right);
  std::fill_n(align.begin(), left_columns, Align::left);
  return table_text(lines, align);
}

std::string problem_words(const AttentionProblem& problem) {
  const std::string extras = extras_text(problem);
  return fmt::format("B {}, H {} ({} KV), N {}, N_kv {}, d {}, {}, mask {}{}{}", problem.batch,
                     problem.heads, problem.kv_heads, problem.N, problem.N_kv, problem.d,
                     to_string(problem.dtype), to_string(problem.mask), extras.empty() ? "" : ", ",
                     extras);
}

std::string run_words(const ResolvedRun& run) {
  const std::string variant = to_string(run.asked.variant);
  return fmt::format("{} {}{}, {}, {}x{} tiles", run.algorithm(), to_string(run.pass()),
                     variant.empty() ? "" : fmt::format(" ({})", variant),
                     problem_words(run.asked.problem), run.tiling.Br, run.tiling.Bc);
}

std::string_view rounding_note(const ResolvedRun& run) {
  return rounded_output_note(run.algorithm(), run.asked.variant.carry, run.problem.dtype);
}

std::string choices_text(const RunSpec& spec) {
  const Carry carry = spec.variant.carry;
  std::string words;
  if (carry != Carry::problem) words += fmt::format(", carry {}", to_string(carry));
  if (spec.variant.visit_hidden) words += ", hidden tiles visited";
  if (spec.deterministic) words += ", deterministic dQ";
  for (const auto& [name, value] : spec.switches) words += fmt::format(", {}={}", name, value);
  return words;
}

std::string run_title(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  std::string title = run.algorithm();
  const std::string& kernel = run.asked.kernel;
  if (!kernel.empty() && kernel != run.algorithm()) title += fmt::format(" ({})", kernel);
  if (run.pass() != PassKind::forward) title += fmt::format(" {}", to_string(run.pass()));
  title +=
      fmt::format(", N {}, d {}, B {}, H {}", problem.N, problem.d, problem.batch, problem.heads);
  if (problem.kv_heads != problem.heads) title += fmt::format(" ({} KV)", problem.kv_heads);
  if (problem.N_kv != problem.N) title += fmt::format(", N_kv {}", problem.N_kv);
  title += fmt::format(", {}", to_string(problem.dtype));
  if (!problem.mask.is_none()) title += ", " + to_string(problem.mask);
  if (problem.block_mask) title += ", block mask " + problem.block_mask->text();
  if (const std::string extras = extras_text(problem); !extras.empty()) title += ", " + extras;
  title += choices_text(run.asked);
  if (run.files_hash != 0) title += ", own tensors";
  if (run.files_hash == 0 && run.asked.inputs != InputSpec{}) {
    title += fmt::format(", {} inputs of seed {}", to_string(run.asked.inputs.kind),
                         run.asked.inputs.seed);
  }
  if (run.tiling.Br > 0) title += fmt::format(", tiles {}x{}", run.tiling.Br, run.tiling.Bc);
  return one_line(title);
}

std::string run_title(const RecordingRow& row) {
  const bool named = row.measurement && !row.measurement->instructions.empty();
  return run_title(row.run) + (named ? ", " + one_line(row.measurement->instructions) : "");
}

namespace {

constexpr std::pair<std::string_view, std::string_view> kLaunches[] = {
    // Tiled algorithms
    {"initialise", "initial values"},
    {"forward", "tiled attention"},
    {"lse", "log-sum-exp LSE"},
    {"convert", "convert fp32 sums"},
    {"preprocess", "row sums D"},
    {"row_dots", "row sums D"},
    {"backward", "gradients"},
    {"sum_heads", "sum over query heads"},
    {"partial", "each split alone"},
    {"combine", "merge the splits"},

    // Standard attention, forward
    {"scores", "scores S"},
    {"scale", "scale S"},
    {"mask", "mask S"},
    {"scale_mask", "scale and mask S"},
    {"softmax", "softmax P"},
    {"dropout", "dropout of P"},
    {"output", "output O"},

    // The same for the backward pass
    {"recompute_scores", "scores S, again"},
    {"recompute_scale", "scale S, again"},
    {"recompute_mask", "mask S, again"},
    {"recompute_scale_mask", "scale and mask S, again"},
    {"recompute_softmax", "softmax P, again"},
    {"recompute_dropout", "dropout of P, again"},
    {"recompute_output", "output O, again"},

    // Standard attention, backward
    {"dV", "gradient dV"},
    {"dP", "gradient dP"},
    {"dropout_gradient", "dropout of dP"},
    {"dS", "gradient dS"},
    {"mask_gradient", "mask dS"},
    {"scale_gradient", "scale dS"},
    {"mask_scale_gradient", "mask and scale dS"},
    {"dQ", "gradient dQ"},
    {"dK", "gradient dK"},
};

}  // namespace

std::string_view launch_words(std::string_view name) {
  for (const auto& [launch, words] : kLaunches) {
    if (launch == name) return words;
  }
  return name;
}

}  // namespace attnscope
