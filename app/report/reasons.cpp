#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/report/product_tiles.h"
#include "app/report/report_text.h"
#include "app/report/time_words.h"
#include "kernels/compile/block_program.h"
#include "reference/message_text.h"

namespace attnscope {
namespace {

/// DRAM gaps count as agreement up to this limit: the counters include the whole device and the
/// range's edges.
constexpr double kDramAgreementPercent = 5.0;

/// Whether `launch` names one of standard's matrix products, or is "", for the whole pass.
bool has_product(std::string_view launch) {
  ProductTiles any;
  return launch.empty() || product_tile_of(any, launch) != nullptr;
}

/// A clause on the tiles of one of standard's products, or, for "", of all products:
/// "; tiles of 256 x 64, from the name of cuBLAS's kernel".
std::string product_tiles_text(const RecordingRow& run, std::string_view launch) {
  RecordedProductTiles recorded = recorded_product_tiles(run);
  if (recorded.from == ProductTilesFrom::nothing) return "; cuBLAS's choice of tiles is unknown";
  const bool named = recorded.from == ProductTilesFrom::kernel_names;
  const ProductTile* const tile = product_tile_of(recorded.tiles, launch);
  if (tile == nullptr) {
    return named ? "; modelled with the tiles in the names of cuBLAS's kernels"
                 : "; modelled with the tiles that cuBLAS is expected to choose (the recording "
                   "names no kernels)";
  }
  if (*tile == ProductTile{}) return "; the name of cuBLAS's kernel gives no tile";
  if (named) {
    return fmt::format("; tiles of {} x {}, from the name of cuBLAS's kernel", tile->rows,
                       tile->cols);
  }
  return fmt::format("; expected tiles of {} x {} (the recording names no kernels)", tile->rows,
                     tile->cols);
}

/// Whether all queries and keys are in one tile.
bool fits_one_tile(const ResolvedRun& run) {
  return run.problem.N <= run.tiling.Br && run.problem.N_kv <= run.tiling.Bc;
}

/// Whether the kernel's thread blocks read from memory which tiles to visit.
bool reads_tile_lists(const SimulationReport& model) {
  return model.run.problem.block_mask != nullptr || model.run.problem.is_packed();
}

/// Why standard's products read operands more than once, or differ from the model: for all products
/// of the pass, or for the product of the launch.
std::string product_reason(const ComparisonLine& line, const SimulationReport& model,
                           const RecordingRow& run, const char* what) {
  if (fits_one_tile(model.run) && *line.gap_percent > 0) {
    return fmt::format(
        "the operands fit in one tile, so no panel is read twice: {} are the library's own reads",
        bytes_text(*line.recorded - *line.modelled));
  }
  return what + product_tiles_text(run, line.launch);
}

/// The reason for a line's gap.
struct Reason {
  std::string sentence;
  std::string cause = {};  ///< ComparisonLine::cause
};

/// A clause on the bytes that the program requested beyond the tiles of its schedule.
std::string beyond_tiles_text(const ComparisonLine& line, const SimulationReport& model) {
  const std::string bytes = bytes_text(line.beyond_tiles);
  if (line.quantity == "read") {
    return bytes + " beyond the tensors, since bulk copies request whole boxes";
  }
  return bytes + (model.run.pass() == PassKind::forward ? " to fetch the indices of row tiles"
                                                        : " for unused rows in pieces of dQ");
}

Reason requested_reason(const ComparisonLine& line, const SimulationReport& model,
                        const RecordingRow& run) {
  const double gap = *line.gap_percent;
  const bool product =
      model.run.algorithm() == "standard" && line.quantity == "read" && has_product(line.launch);
  if (std::abs(gap) <= kAgreementPercent) {
    if (product) return {"agrees" + product_tiles_text(run, line.launch)};
    const bool has_more = line.beyond_tiles > 0.001 * *line.modelled;
    return {has_more ? "agrees, including " + beyond_tiles_text(line, model) : "agrees"};
  }
  if (product) {
    return {product_reason(line, model, run,
                           "cuBLAS also reads the parts of tiles beyond the edges of the matrices"),
            fits_one_tile(model.run) && gap > 0 ? "cuBLAS" : "tile edges"};
  }
  if (line.quantity == kAddedQuantity) {
    return {
        "the counter counts sectors that L2 slices reduced: adds that fill part of a sector, or "
        "that were merged on the way"};
  }
  const bool boxes_explain = line.level == Level::paper && line.beyond_tiles > 0 &&
                             2 * line.beyond_tiles > *line.recorded - *line.modelled;
  if (boxes_explain && gap > 0) return {beyond_tiles_text(line, model)};
  const std::string difference = bytes_text(*line.recorded - *line.modelled);
  if (line.quantity == "written") {
    if (gap < 0) return {"stores were merged before they left the SM"};
    const bool single_rows = model.run.algorithm() == "split_kv" && model.run.problem.N == 1;
    return {difference + " more written than the algorithm stores: " +
            (single_rows
                 ? fmt::format("each 4-byte LSE store occupies a {}-byte sector", kSectorBytes)
                 : "register spills, or stores that do not fill their sectors")};
  }
  if (gap < 0) {
    return {"L1 served some of them: blocks of one SM read the same lines", "L1 hits"};
  }
  const std::string more = difference + " more read than the tiles hold: ";
  if (reads_tile_lists(model)) {
    return {more + "the lists of the tiles to visit, which each thread block reads", "tile lists"};
  }
  return {more +
          "sectors read in part, spills read back, or instructions and constants in a small run"};
}

std::string paper_reason(const ComparisonLine& line, const SimulationReport& model,
                         const RecordingRow& run) {
  if (std::abs(*line.gap_percent) <= kAgreementPercent) {
    return "agrees: thread blocks request what the paper counts";
  }
  if (model.run.algorithm() == "standard" && line.quantity == "read" && *line.gap_percent > 0) {
    return product_reason(
        line, model, run,
        "panel re-reads: each tile of a matrix product reads its panels of the operands again");
  }
  return requested_reason(line, model, run).sentence;
}

/// The modelled requested bytes of the line's launch or of the whole pass.
const Bytes& requested_of(const ComparisonLine& line, const SimulationReport& model) {
  for (const LaunchReport& launch : model.launches) {
    if (launch.name == line.launch) return launch.requested;
  }
  return model.requested;
}

/// The bytes in the line's direction that standard's launches pass to each other through L2 in the
/// model: the paper's bytes (each operand once) minus those that reach DRAM. For the launch of this
/// name, or for all launches.
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
  return fmt::format("{} of the {} assumed to stay in L2 ({}) between launches did not",
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
    return fmt::format("agrees: {} served the re-reads; requested bytes are {:.3g} times as many",
                       l2_text, requested_ratio);
  }
  if (std::string reason = not_held_reason(line, model, gpu); !reason.empty()) return reason;
  if (*line.modelled <= static_cast<double>(gpu.l2_bytes)) {
    return fmt::format(
        "{} more than the operands, which fit in {}: whole lines, instructions, and "
        "lines requested again before they arrived",
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
        "results that were stored again left L2 again: {:.3g} % of the requested bytes; the "
        "bound counts each result of a launch once",
        100.0 * *line.recorded / requested);
  }
  if (difference <= l2_bytes) {
    return fmt::format(
        "{} more than the pass stores: lines of earlier work or of the profiler left L2 during the "
        "pass",
        bytes_text(difference));
  }
  return "lines left L2 before they were full, or other work wrote as well";
}

/// Why a predicted number differs from the recorded one, or "agrees".
std::string prediction_reason(const ComparisonLine& line, const GpuDescription& gpu) {
  const double gap = *line.gap_percent;
  const bool agrees = std::abs(gap) <= kDramAgreementPercent;
  const double difference = *line.recorded - *line.modelled;
  constexpr double kDirtyShare = 0.25;  // share of L2: lines waiting to be written are not modelled
  if (!agrees && line.quantity == "written" &&
      std::abs(difference) <= kDirtyShare * static_cast<double>(gpu.l2_bytes)) {
    return fmt::format("{} of dirty lines left L2 {} than predicted",
                       bytes_text(std::abs(difference)), difference < 0 ? "later" : "earlier");
  }
  if (!line.transition) return agrees ? "agrees" : "unexplained";
  const auto& [least, most] = *line.transition;
  const bool inside = least <= *line.recorded && *line.recorded <= most;
  return fmt::format(
      "{}; in transition: the data that blocks read again is about as large as L2 ({}); an L2 {:g} "
      "times smaller or larger gives {} to {}",
      agrees   ? "agrees"
      : inside ? "inside the interval"
               : "outside the interval, unexplained",
      capacity_text(gpu.l2_bytes), kL2Margin, bytes_text(least), bytes_text(most));
}

/// Why L2's bytes differ: its slices serve fewer than requested if reads are merged before L2.
std::string l2_reason(const ComparisonLine& line, const SimulationReport& model,
                      const RecordingRow& run) {
  const double gap = *line.gap_percent;
  if (line.quantity == kMissedQuantity) {
    if (std::abs(gap) <= kDramAgreementPercent) return "agrees";
    const bool in_transition = model.dram && model.dram->in_transition();
    return in_transition ? "in transition: re-read data is about as large as L2" : "unexplained";
  }
  if (line.quantity == "read" && gap < -kAgreementPercent) {
    return fmt::format(
        "{:.3g} % of the requested bytes: reads of one line at the same time were merged on their "
        "way to L2, which is not modelled",
        100.0 + gap);
  }
  return requested_reason(line, model, run).sentence;
}

Reason gap_reason(const ComparisonLine& line, const SimulationReport& model,
                  const GpuDescription& gpu, const RecordingRow& run) {
  if (!line.gap_percent) {
    if (line.level == Level::dram) return {"predicted to stay in L2"};
    if (line.level == Level::l2) return {"predicted to be in L2"};
    return {line.level == Level::bound
                ? "the bound assumes these tensors stay in L2 between launches"
                : "there is no modelled value to compare with"};
  }
  switch (line.level) {
    case Level::paper:
      return {paper_reason(line, model, run)};
    case Level::requested:
      return requested_reason(line, model, run);
    case Level::l2:
      return {l2_reason(line, model, run)};
    case Level::dram:
      return {prediction_reason(line, gpu)};
    case Level::bound:
      if (line.quantity == "time") return {time_bound_reason(line, model, gpu, run)};
      return {line.quantity == "read" ? dram_read_reason(line, model, gpu)
                                      : dram_write_reason(line, model, gpu)};
    case Level::time:
      return {predicted_time_reason(line, model, gpu, run)};
  }
  return {};
}

}  // namespace

void add_gap(ComparisonLine& line, const SimulationReport& model, const GpuDescription& gpu,
             const RecordingRow& run) {
  if (auto words = words_in_place_of_gap(line, model, gpu, run)) {
    line.in_place_of_gap = std::move(words->brief);
    line.reason = std::move(words->reason);
    return;
  }
  if (*line.modelled > 0) line.gap_percent = 100.0 * (*line.recorded / *line.modelled - 1.0);
  Reason reason = gap_reason(line, model, gpu, run);
  line.reason = std::move(reason.sentence);
  line.cause = std::move(reason.cause);
}

}  // namespace attnscope
