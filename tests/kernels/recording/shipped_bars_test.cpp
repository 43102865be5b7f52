/// Requirements on the recordings of an H200: the backward passes request the bytes of their
/// formulas, and each kernel is as fast as assets/guide/speed.md claims. Each ratio is between rows
/// of one recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/recording/recording.h"
#include "reference/block_mask.h"
#include "tests/kernels/recording/recorded_rows.h"

namespace attnscope {
namespace {

using test::describe;
using test::read_shipped;
using test::rows_visited;
using test::tiles_visited;

/// The counters of the named launch; null for a row without them.
const Counters* counters_of(const RecordingRow& row, std::string_view launch_name) {
  if (!row.measurement) return nullptr;
  for (const LaunchCounters& launch : row.measurement->launches) {
    if (launch.name == launch_name) return &launch.counters;
  }
  return nullptr;
}

void expect_within_half_a_percent(const RecordingRow& row, const Counters& counters,
                                  std::string_view name, double bytes) {
  EXPECT_LE(std::abs(counters.at(std::string(name)) / bytes - 1.0), 0.005)
      << describe(row) << ": " << name;
}

/// FlashAttention-1's backward launch: reads K and V once and writes dK and dV once; for each
/// column tile, reads Q, O, dO, dQ, m and l of the rows from the first that sees it, and writes dQ.
TEST(ShippedRecordings, Flash1sBackwardLaunchRequestsWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const char* const name : {"h200.json", "h200-sweeps.json"}) {
    for (const RecordingRow& row : read_shipped(name).rows) {
      if (row.run.asked.kernel != "flash1" || row.run.pass() != PassKind::backward) continue;
      const Counters* const launch = counters_of(row, "backward");
      if (launch == nullptr) continue;
      const AttentionProblem& p = row.run.problem;
      const double rows_seen = rows_visited(row);
      const auto heads = static_cast<double>(p.batch * p.heads);
      const auto row_bytes = static_cast<double>(p.d * size_bytes(p.dtype));
      const double columns = 2.0 * static_cast<double>(p.N_kv) * row_bytes;
      expect_within_half_a_percent(
          row, *launch, counter::kRequestedReadBytes,
          heads * (columns + rows_seen * (4.0 * row_bytes + 2.0 * kStatisticBytes)));
      expect_within_half_a_percent(row, *launch, counter::kRequestedWriteBytes,
                                   heads * (columns + rows_seen * row_bytes));
      ++checked;
    }
  }
  EXPECT_GE(checked, 40);
}

/// block_sparse2's backward launch from N = 512 on, over the tiles of its mask that are at least
/// partly visible: reads K and V once, Q, dO, LSE and D of each tile; adds dQ in fp32 for each.
TEST(ShippedRecordings, BlockSparse2sBackwardLaunchRequestsWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const RecordingRow& row : read_shipped("h200-sweeps.json").rows) {
    if (row.run.asked.kernel != "block_sparse2" || row.run.pass() != PassKind::backward ||
        row.run.problem.N < 512)
      continue;
    const Counters* const launch = counters_of(row, "backward");
    if (launch == nullptr) continue;
    const AttentionProblem& p = row.run.problem;
    const auto rows_seen = static_cast<double>(tiles_visited(row) * row.run.tiling.Br);
    const auto heads = static_cast<double>(p.batch * p.heads);
    const auto row_bytes = static_cast<double>(p.d * size_bytes(p.dtype));
    expect_within_half_a_percent(row, *launch, counter::kRequestedReadBytes,
                                 heads * (2.0 * static_cast<double>(p.N_kv) * row_bytes +
                                          rows_seen * (2.0 * row_bytes + 2.0 * kStatisticBytes)));
    const double added_bytes = launch->at(std::string(counter::kL2ReductionSectors)) * kSectorBytes;
    EXPECT_LE(std::abs(added_bytes / (heads * rows_seen * static_cast<double>(p.d) * 4.0) - 1.0),
              0.005)
        << describe(row);
    ++checked;
  }
  EXPECT_GE(checked, 30);
}

/// With one head for each of the 132 SMs, flash1 is as fast as standard if it keeps O in HBM in the
/// problem's precision.
TEST(ShippedRecordings, Flash1IsAsFastAsStandardWithAHeadForEveryMultiprocessor) {
  const Recording recording = read_shipped("h200.json");
  int compared = 0;
  for (const RecordingRow& flash1 : recording.rows) {
    const AttentionProblem& p = flash1.run.problem;
    if (flash1.run.asked.kernel != "flash1" || p.batch * p.heads % 132 != 0 || !flash1.measurement)
      continue;
    if (flash1.run.asked.variant.carry != Carry::problem) continue;
    for (const RecordingRow& standard : recording.rows) {
      const bool same = standard.run.asked.kernel == "standard" &&
                        standard.run.pass() == flash1.run.pass() && standard.run.problem == p &&
                        standard.measurement;
      if (!same) continue;
      EXPECT_LE(flash1.measurement->time.median_s, standard.measurement->time.median_s)
          << describe(flash1);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 24);  // 3 shapes, 2 head dimensions, 2 masks, 2 passes
}

/// The density of the row's block mask.
double density_of(const RecordingRow& row) {
  const BlockMask& mask = *row.run.problem.block_mask;
  Index tiles = 0;
  for (Index i = 0; i < mask.Tr(); ++i) tiles += static_cast<Index>(mask.columns_of(i).size());
  return static_cast<double>(tiles) / static_cast<double>(mask.Tr() * mask.Tc());
}

/// block_sparse2's time is proportional to the density of its mask, down to 20 % at N = 16k and 10
/// % at 64k; in the backward pass, that of the launch with the tiles. At d = 256 and N = 64k, the
/// blocks of a sparse backward pass share too few row tiles in L2, and wait for DRAM instead.
TEST(ShippedRecordings, BlockSparse2sTimeIsProportionalToItsDensity) {
  const Recording recording = read_shipped("h200-sweeps.json");
  const auto is_compared = [](const RecordingRow& row) {
    return row.run.asked.kernel == "block_sparse2" && row.run.problem.N >= 16384 &&
           row.measurement && row.run.problem.mask.is_none();
  };
  // The launch's share of the pass, by the profiler, times the duration of the pass without the
  // profiler
  const auto launch_s = [](const RecordingRow& row) {
    const Counters& launch = *counters_of(row, to_string(row.run.pass()));
    const double pass_ns = row.measurement->counter(counter::kTimeNs).value();
    return row.measurement->time.median_s * launch.at(std::string(counter::kTimeNs)) / pass_ns;
  };
  const auto dram_bytes_per_s = [](const RecordingRow& row) {
    return (row.measurement->counter(counter::kDramReadBytes).value() +
            row.measurement->counter(counter::kDramWriteBytes).value()) /
           row.measurement->time.median_s;
  };
  int compared = 0;
  for (const RecordingRow& sparse : recording.rows) {
    if (!is_compared(sparse)) continue;
    const double density = density_of(sparse);
    if (density < (sparse.run.problem.N < 65536 ? 0.19 : 0.095) || density == 1.0) continue;
    AttentionProblem problem = sparse.run.problem;
    problem.block_mask = nullptr;
    const auto whole = std::ranges::find_if(recording.rows, [&](const RecordingRow& row) {
      if (!is_compared(row) || density_of(row) < 1.0) return false;
      AttentionProblem of_row = row.run.problem;
      of_row.block_mask = nullptr;
      return row.run.pass() == sparse.run.pass() && of_row == problem &&
             row.run.tiling == sparse.run.tiling;
    });
    if (whole == recording.rows.end()) continue;  // recorded for its bytes
    ++compared;
    if (sparse.run.pass() == PassKind::backward && problem.d == 256 && problem.N == 65536) {
      EXPECT_GT(dram_bytes_per_s(sparse), 15 * dram_bytes_per_s(*whole)) << describe(sparse);
      continue;
    }
    EXPECT_LE(std::abs(launch_s(sparse) / launch_s(*whole) / density - 1.0), 0.15)
        << describe(sparse) << ", density " << density;
  }
  EXPECT_GE(compared, 40);
}

/// Times of a row of tests/bench/peers.py, ms.
double time_ms(const nlohmann::json& row, const char* pass, const char* candidate) {
  return row.at("passes").at(pass).at("median_ms").at(candidate).get<double>();
}

TEST(ShippedPeers, Flash2IsAsFastAsTheLadderClaims) {
  std::ifstream file(ATTNSCOPE_SOURCE_DIR "/assets/recordings/peers/h200.json");
  const auto peers = nlohmann::json::parse(file);
  int compared = 0;
  for (const nlohmann::json& row : peers.at("rows")) {
    const int d = row.at("d").get<int>();
    if (row.at("N").get<int>() < 1024 || d > 128) continue;
    SCOPED_TRACE(row.at("N").dump() + ", d " + std::to_string(d));
    constexpr double kNoise = 0.98;
    EXPECT_GE(time_ms(row, "forward", "pytorch flash2") / time_ms(row, "forward", "flash2"),
              kNoise);
    EXPECT_GE(time_ms(row, "backward", "pytorch flash2") / time_ms(row, "backward", "flash2"), 0.9);
    const auto both_ms = [&](const char* candidate) {
      return time_ms(row, "forward", candidate) + time_ms(row, "backward", candidate);
    };
    const double over_unfused = both_ms("unfused") / both_ms("flash2");
    const double peer_over_unfused = both_ms("unfused") / both_ms("pytorch flash2");
    EXPECT_GE(over_unfused, d == 64 ? 2.0 : 0.93 * peer_over_unfused);
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

TEST(ShippedPeers, SplitKvReadsKeysAndValuesAsFastAsMemoryGoes) {
  std::ifstream file(ATTNSCOPE_SOURCE_DIR "/assets/recordings/peers/h200.json");
  const auto peers = nlohmann::json::parse(file);
  ASSERT_EQ(peers.at("decoding").size(), 2u);
  for (const nlohmann::json& row : peers.at("decoding")) {
    const double share = row.at("share_of_copy").at("split_kv").get<double>();
    const double cudnn = row.at("share_of_copy").at("cudnn").get<double>();
    EXPECT_GE(share, row.at("d").get<int>() == 128 ? 0.7 : cudnn) << row.at("d");
  }
}

}  // namespace
}  // namespace attnscope
