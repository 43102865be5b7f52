#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/report/report_text.h"
#include "app/report/time_words.h"
#include "reference/message_text.h"

namespace attnscope {
namespace {

/// DRAM counters see the whole device and the edges of the range: less exact than the SM port.
constexpr double kDramAgreementPercent = 5.0;

/// The recorded bytes of a counter in a launch of the run.
std::optional<double> launch_counter(const RecordingRow& run, std::string_view launch,
                                     std::string_view counter_name) {
  if (!run.measurement) return std::nullopt;
  for (const LaunchCounters& recorded : run.measurement->launches) {
    if (recorded.name != launch) continue;
    const auto found = recorded.counters.find(counter_name);
    if (found != recorded.counters.end()) return found->second;
  }
  return std::nullopt;
}

/// How often the launch "output" read V, when P was read once; nothing without its bytes, or when
/// they are fewer than those of P.
std::optional<double> output_V_reads(const RecordingRow& run) {
  const auto output_read = launch_counter(run, "output", counter::kRequestedReadBytes);
  if (!output_read) return std::nullopt;
  const AttentionProblem& problem = run.run.problem;
  const double heads = static_cast<double>(problem.batch * problem.heads);
  const double e = static_cast<double>(size_bytes(problem.dtype));
  const double P_bytes = heads * static_cast<double>(problem.N * problem.N_kv) * e;
  const double V_bytes = heads * static_cast<double>(problem.N_kv * problem.d) * e;
  if (*output_read <= P_bytes) return std::nullopt;
  return (*output_read - P_bytes) / V_bytes;
}

/// ", as for tiles of 128 x 256", or nothing when no usual tile fits within 2 %.
std::string tile_with(double inverse_sum) {
  constexpr std::array kPowers{64.0, 128.0, 256.0, 512.0, 32.0};
  constexpr std::array kOthers{96.0, 192.0, 384.0};
  const auto search = [&](const auto& rows, const auto& columns) -> std::string {
    for (double a : rows) {
      for (double b : columns) {
        if (std::abs(inverse_sum / (1.0 / a + 1.0 / b) - 1.0) > 0.02) continue;
        return fmt::format(", as for tiles of {:g} x {:g}", std::min(a, b), std::max(a, b));
      }
    }
    return "";
  };

  // A library's tiles are powers of two more often than not
  for (std::string found :
       {search(kPowers, kPowers), search(kPowers, kOthers), search(kOthers, kOthers)}) {
    if (!found.empty()) return found;
  }
  return "";
}

/// The tile that follows from the bytes of Q K^T, B H N N_kv d e (1/BM + 1/BN); empty without them.
std::string scores_tile_sentence(const SimulationReport& model, const RecordingRow& run) {
  const auto scores_read = launch_counter(run, "scores", counter::kRequestedReadBytes);
  if (!scores_read) return "";
  const AttentionProblem& problem = model.run.problem;
  const double recorded =
      *scores_read / (static_cast<double>(problem.batch * problem.heads) *
                      static_cast<double>(problem.N) * static_cast<double>(problem.N_kv) *
                      static_cast<double>(problem.d * size_bytes(problem.dtype)));
  const Tiling& tiling = model.run.tiling;
  const double assumed =
      1.0 / static_cast<double>(tiling.Br) + 1.0 / static_cast<double>(tiling.Bc);
  return fmt::format("; the bytes of Q K^T fit 1/BM + 1/BN = {:.5f}{} (modelled: {} x {}, {:.5f})",
                     recorded, tile_with(recorded), tiling.Br, tiling.Bc, assumed);
}

/// The tile that follows from the bytes of P V: P is read once, V once for every row tile of O;
/// empty without them.
std::string output_tile_sentence(const SimulationReport& model, const RecordingRow& run) {
  if (!launch_counter(run, "output", counter::kRequestedReadBytes)) return "";
  const auto V_reads = output_V_reads(run);
  if (!V_reads) return "; P V read less than the whole of P";
  const std::string text =
      fmt::format("; P V read V {:.4g} times, once for every {:.4g} rows of O", *V_reads,
                  static_cast<double>(model.run.problem.N) / *V_reads);
  const bool fitted = model.run.asked.variant.output_rows > 0;
  if (fitted) return text + " (the model takes this from its bytes)";
  return text + fmt::format(" (modelled: {})", model.run.tiling.Br);
}

/// Why standard's products read more than each operand once, or differ from the model: for both
/// products of the whole pass, else for the product of the launch.
std::string product_reason(const ComparisonLine& line, const SimulationReport& model,
                           const RecordingRow& run, const char* what) {
  const bool one_tile =
      model.run.problem.N <= model.run.tiling.Br && model.run.problem.N_kv <= model.run.tiling.Bc;
  if (one_tile && *line.gap_percent > 0) {
    return fmt::format(
        "the operands fit one tile, so no panel is read twice: {} are the library's own reads",
        bytes_text(*line.recorded - *line.modelled));
  }
  std::string reason = what;
  if (line.launch != "output") reason += scores_tile_sentence(model, run);
  if (line.launch != "scores") reason += output_tile_sentence(model, run);
  return reason;
}

std::string requested_reason(const ComparisonLine& line, const SimulationReport& model,
                             const RecordingRow& run) {
  const double gap = *line.gap_percent;
  const bool product =
      model.run.algorithm() == "standard" && line.quantity == "read" && line.launch != "softmax";
  if (std::abs(gap) <= kAgreementPercent) {
    const bool fitted =
        product && model.run.asked.variant.output_rows > 0 && line.launch != "scores";
    return fitted ? "agrees" + output_tile_sentence(model, run) : "agrees";
  }
  if (product) {
    return product_reason(line, model, run, "cuBLAS did not read its panels as modelled");
  }
  if (line.quantity == kAddedQuantity) {
    return "sectors that the L2 slices reduced are counted: adds that fill them in part, or that "
           "were merged on the way";
  }
  const std::string difference = bytes_text(*line.recorded - *line.modelled);
  if (line.quantity == "written" && gap > 0) {
    const bool single_rows = model.run.algorithm() == "split_kv" && model.run.problem.N == 1;
    return difference + " more written than the algorithm stores: " +
           (single_rows
                ? fmt::format("each 4-byte LSE store occupies a {}-byte sector", kSectorBytes)
                : "register spills, or stores that do not fill their sectors");
  }
  if (gap > 0) {
    return difference +
           " more read than the tiles hold: sectors read in part, spills read back, or "
           "instructions and constants in a small run";
  }
  return line.quantity == "read" ? "L1 served a part: blocks of one SM read the same lines"
                                 : "stores were merged before they left the SM";
}

std::string paper_reason(const ComparisonLine& line, const SimulationReport& model,
                         const RecordingRow& run) {
  if (std::abs(*line.gap_percent) <= kAgreementPercent) {
    return "agrees: thread blocks ask for what the paper counts";
  }
  if (model.run.algorithm() == "standard" && line.quantity == "read" && *line.gap_percent > 0) {
    return product_reason(
        line, model, run,
        "panel re-reads: each tile of a matrix product reads its panels of the operands again");
  }
  return requested_reason(line, model, run);
}

/// The modelled requested bytes of the line's launch or of the whole pass.
const Bytes& requested_of(const ComparisonLine& line, const SimulationReport& model) {
  for (const LaunchReport& launch : model.launches) {
    if (launch.name == line.launch) return launch.requested;
  }
  return model.requested;
}

/// The bytes in the line's direction that standard's launches pass on through L2 in the model: the
/// paper's bytes, each operand once, minus those that reach the DRAM. For the launch of this name,
/// or for all.
double held_bytes(const ComparisonLine& line, const SimulationReport& model,
                  std::string_view launch_name) {
  if (model.run.algorithm() != "standard") return 0.0;
  Index held = 0;
  for (const LaunchReport& launch : model.launches) {
    if (!launch_name.empty() && launch.name != launch_name) continue;
    held += line.quantity == "read" ? launch.paper.read_bytes - launch.compulsory.read_bytes
                                    : launch.paper.write_bytes - launch.compulsory.write_bytes;
  }
  return static_cast<double>(held);
}

/// The reason if the gap consists of tensors that did not stay in L2 between launches; else empty.
/// Tensors far smaller than L2 stay in it.
std::string not_held_reason(const ComparisonLine& line, const SimulationReport& model,
                            const GpuDescription& gpu) {
  const double difference = *line.recorded - *line.modelled;
  const double held = held_bytes(line, model, line.launch);
  const double l2_bytes = static_cast<double>(gpu.l2_bytes);
  if (held_bytes(line, model, "") < 0.5 * l2_bytes) return "";
  if (difference < 0.01 * held || difference > held) return "";
  return fmt::format(
      "{} of the {} that the bound expects to stay in L2 ({}) between launches left it",
      bytes_text(difference), bytes_text(held), capacity_text(gpu.l2_bytes));
}

std::string dram_read_reason(const ComparisonLine& line, const SimulationReport& model,
                             const GpuDescription& gpu) {
  const double gap = *line.gap_percent;
  const std::string l2_text = fmt::format("L2 ({})", capacity_text(gpu.l2_bytes));
  const double requested_ratio =
      static_cast<double>(requested_of(line, model).read_bytes) / std::max(1.0, *line.recorded);
  if (gap < -kDramAgreementPercent) {
    return fmt::format("{} still held operands when they were read", l2_text);
  }
  if (gap <= kDramAgreementPercent) {
    if (requested_ratio < 1.1) return "agrees: little is read twice";
    return fmt::format("agrees: {} served the re-reads, requested bytes are {:.3g} times as many",
                       l2_text, requested_ratio);
  }
  if (std::string reason = not_held_reason(line, model, gpu); !reason.empty()) return reason;
  if (*line.modelled <= static_cast<double>(gpu.l2_bytes)) {
    return fmt::format(
        "{} more than the operands, which fit in {}: whole lines, instructions, and "
        "lines asked for again before they arrived",
        bytes_text(*line.recorded - *line.modelled), l2_text);
  }
  const double served_percent = 100.0 * (1.0 - 1.0 / std::max(1.0, requested_ratio));
  return fmt::format(
      "re-read operands outgrew {}, which served {:.3g} % of the requested bytes; the bound "
      "counts each operand of a launch once",
      l2_text, served_percent);
}

std::string dram_write_reason(const ComparisonLine& line, const SimulationReport& model,
                              const GpuDescription& gpu) {
  const double l2_bytes = static_cast<double>(gpu.l2_bytes);
  const double difference = *line.recorded - *line.modelled;
  if (*line.gap_percent < -kDramAgreementPercent) {
    return fmt::format("{} of dirty lines were still in L2 ({}) at the end",
                       bytes_text(-difference), capacity_text(gpu.l2_bytes));
  }
  if (*line.gap_percent <= kDramAgreementPercent) return "agrees";
  if (std::string reason = not_held_reason(line, model, gpu); !reason.empty()) return reason;
  const double requested = static_cast<double>(requested_of(line, model).write_bytes);
  const bool stores_again = requested > 1.05 * *line.modelled;
  if (stores_again) {
    return fmt::format(
        "results stored again left L2 again: {:.3g} % of the requested bytes; the "
        "bound counts each result of a launch once",
        100.0 * *line.recorded / requested);
  }
  if (difference <= l2_bytes) {
    return fmt::format(
        "{} more than the pass stores: lines of earlier work or of the profiler left L2 meanwhile",
        bytes_text(difference));
  }
  return "lines left L2 before they were full, or other work wrote as well";
}

/// What a prediction that is off leaves open.
std::string prediction_reason(const ComparisonLine& line, const GpuDescription& gpu) {
  const double gap = *line.gap_percent;
  const bool agrees = std::abs(gap) <= kDramAgreementPercent;
  const double difference = *line.recorded - *line.modelled;
  constexpr double kDirtyShare = 0.25;  // of L2: how many lines wait to be written is not modelled
  if (!agrees && line.quantity == "written" &&
      std::abs(difference) <= kDirtyShare * static_cast<double>(gpu.l2_bytes)) {
    return fmt::format("{} of dirty lines left L2 {} than predicted",
                       bytes_text(std::abs(difference)), difference < 0 ? "later" : "earlier");
  }
  if (!line.transition) return agrees ? "agrees" : "unexplained";
  const auto& [least, most] = *line.transition;
  const bool inside = least <= *line.recorded && *line.recorded <= most;
  return fmt::format(
      "{}; in transition, what blocks read again is about as large as L2 ({}): an L2 {:g} times as "
      "small or as large gives {} to {}",
      agrees   ? "agrees"
      : inside ? "inside the interval"
               : "outside the interval, unexplained",
      capacity_text(gpu.l2_bytes), kL2Margin, bytes_text(least), bytes_text(most));
}

std::string gap_reason(const ComparisonLine& line, const SimulationReport& model,
                       const GpuDescription& gpu, const RecordingRow& run) {
  if (!line.gap_percent) {
    if (line.level == Level::dram) return "predicted to stay in L2";
    return line.level == Level::bound
               ? "the bound expects these tensors to stay in L2 between launches"
               : "nothing is modelled here to compare with";
  }
  switch (line.level) {
    case Level::paper:
      return paper_reason(line, model, run);
    case Level::requested:
      return requested_reason(line, model, run);
    case Level::dram:
      return prediction_reason(line, gpu);
    case Level::bound:
      if (line.quantity == "time") return time_bound_reason(line, model, gpu, run);
      return line.quantity == "read" ? dram_read_reason(line, model, gpu)
                                     : dram_write_reason(line, model, gpu);
    case Level::time:
      return predicted_time_reason(line, model, gpu, run);
  }
  return "";
}

}  // namespace

std::optional<Index> fitted_output_rows(const RecordingRow& run) {
  constexpr double kWholeWithin = 0.01;
  constexpr Index kLeastRows = 16;
  const auto reads = output_V_reads(run);
  if (!reads) return std::nullopt;
  const double whole = std::round(*reads);
  if (!(whole >= 1.0 && whole <= static_cast<double>(run.run.problem.N))) return std::nullopt;
  if (!(std::abs(*reads / whole - 1.0) <= kWholeWithin)) return std::nullopt;
  const Index rows = ceil_div(run.run.problem.N, static_cast<Index>(whole));
  return rows >= kLeastRows ? std::optional(rows) : std::nullopt;
}

void add_gap(ComparisonLine& line, const SimulationReport& model, const GpuDescription& gpu,
             const RecordingRow& run) {
  if (auto words = words_in_place_of_gap(line, model, gpu, run)) {
    line.in_place_of_gap = std::move(words->brief);
    line.reason = std::move(words->reason);
    return;
  }
  if (*line.modelled > 0) line.gap_percent = 100.0 * (*line.recorded / *line.modelled - 1.0);
  line.reason = gap_reason(line, model, gpu, run);
}

}  // namespace attnscope
