/// The recordings in assets/recordings: readable, from clean builds, and in agreement with the
/// formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/recording/recording.h"
#include "reference/block_mask.h"
#include "reference/key_splits.h"
#include "tests/kernels/recording/recorded_rows.h"

namespace attnscope {
namespace {

using test::describe;
using test::rows_visited;
using test::tiles_visited;

std::vector<std::filesystem::path> shipped_files(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  return paths;
}

std::vector<Recording> shipped() {
  std::vector<Recording> recordings;
  for (const auto& path : shipped_files(ATTNSCOPE_SOURCE_DIR "/assets/recordings")) {
    auto recording = read_recording(path);
    EXPECT_TRUE(recording.ok()) << recording.error().message;
    if (recording) recordings.push_back(std::move(recording).value());
  }
  return recordings;
}

/// The columns of a row of Q, K, V or dO that a kernel requests: bulk copies, which belong to
/// Hopper's instructions, request whole boxes of 64 columns.
Index requested_columns(const RecordingRow& row) {
  constexpr Index kBoxColumns = 64;
  const Index d = row.run.problem.d;
  return row.measurement->instructions == "wgmma" ? ceil_div(d, kBoxColumns) * kBoxColumns : d;
}

/// The bytes that FlashAttention-2 reads from outside the SM: Q once, K and V of the column tiles
/// that each row tile visits, valid rows only.
double flash2_requested_read_bytes(const RecordingRow& row) {
  const AttentionProblem& p = row.run.problem;
  const Tiling& tiling = row.run.tiling;
  const Index columns = requested_columns(row);
  double elements = static_cast<double>(p.N * columns);
  for (Index begin = 0; begin < p.N; begin += tiling.Br) {
    const Index last = std::min(begin + tiling.Br, p.N) - 1;
    const Index keys = std::min(ceil_div(p.keys_of(last).end, tiling.Bc) * tiling.Bc, p.N_kv);
    elements += 2.0 * static_cast<double>(keys * columns);
  }
  return static_cast<double>(p.batch * p.heads * size_bytes(p.dtype)) * elements;
}

TEST(ShippedRecordings, ComeFromCleanBuildsOnNamedGpus) {
  const auto recordings = shipped();
  ASSERT_FALSE(recordings.empty());
  for (const Recording& recording : recordings) {
    EXPECT_FALSE(recording.build.local_changes);
    EXPECT_EQ(recording.build.commit.size(), 40u);
    EXPECT_FALSE(recording.device.name.empty());
    EXPECT_FALSE(recording.device.driver.empty());
    EXPECT_FALSE(recording.date.empty());
    EXPECT_FALSE(recording.rows.empty());
  }
}

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ShippedRecordings, AreWrittenAsTheyWereToTheByte) {
  for (const auto& path : shipped_files(ATTNSCOPE_SOURCE_DIR "/assets/recordings")) {
    Recording recording = read_recording(path).value();
    for (RecordingRow& row : recording.rows) row.source = nullptr;  // use parsed values only
    EXPECT_EQ(recording_text(recording) == text_in(path), true) << path;
  }
}

TEST(ShippedTraces, AreWrittenAsTheyWereToTheByte) {
  for (const auto& path : shipped_files(ATTNSCOPE_SOURCE_DIR "/assets/recordings/traces")) {
    KernelTrace trace = read_kernel_trace(path).value();
    trace.header.source = nullptr;
    EXPECT_EQ(kernel_trace_text(trace) == text_in(path), true) << path;
  }
}

TEST(ShippedRecordings, EveryRowHasNumbersOrAReason) {
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      EXPECT_NE(row.measurement.has_value(), row.error.has_value()) << describe(row);
      if (row.error) {
        EXPECT_FALSE(row.error->message.empty()) << describe(row);
        continue;
      }
      EXPECT_GT(row.measurement->time.min_s, 0.0) << describe(row);
      EXPECT_TRUE(row.measurement->unavailable_counters.empty()) << describe(row);
      EXPECT_GT(row.measurement->counter(counter::kRequestedReadBytes).value_or(0.0), 0.0);
    }
  }
}

/// Whether a row has only whole tiles, for which the formulas hold; other rows are compared with
/// the model (prediction_errors_test.cpp).
bool has_whole_tiles(const RecordingRow& row) {
  const AttentionProblem& p = row.run.problem;
  return p.N % row.run.tiling.Br == 0 && p.N_kv % row.run.tiling.Bc == 0 && !p.has_key_lengths() &&
         !p.is_packed();
}

TEST(ShippedRecordings, Flash2ReadsAndWritesWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      if (row.run.asked.kernel != "flash2" || row.run.pass() != PassKind::forward ||
          !row.measurement || !has_whole_tiles(row))
        continue;
      const AttentionProblem& p = row.run.problem;
      const double reads = flash2_requested_read_bytes(row);
      const double writes = static_cast<double>(p.batch * p.heads * p.N) *
                            static_cast<double>(p.d * size_bytes(p.dtype) + kStatisticBytes);
      const double read_gap =
          row.measurement->counter(counter::kRequestedReadBytes).value() / reads - 1.0;
      const double write_gap =
          row.measurement->counter(counter::kRequestedWriteBytes).value() / writes - 1.0;
      EXPECT_LE(std::abs(read_gap), 0.005) << describe(row);
      EXPECT_LE(std::abs(write_gap), 0.005) << describe(row);
      ++checked;
    }
  }
  EXPECT_GE(checked, 28);
}

/// Expects that a recorded row requested the formula's bytes from outside the SM.
void expect_requested(const RecordingRow& row, double reads, double writes) {
  const auto gap = [&](std::string_view name, double bytes) {
    return std::abs(row.measurement->counter(name).value() / bytes - 1.0);
  };
  EXPECT_LE(gap(counter::kRequestedReadBytes, reads), 0.005) << describe(row);
  EXPECT_LE(gap(counter::kRequestedWriteBytes, writes), 0.005) << describe(row);
}

/// FlashAttention-1: K and V once; for each column tile, Q, O, m and l of the rows from the first
/// that sees it. O in fp32 is read once more and rounded.
TEST(ShippedRecordings, Flash1ReadsAndWritesWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      if (row.run.asked.kernel != "flash1" || row.run.pass() != PassKind::forward ||
          !row.measurement || !has_whole_tiles(row))
        continue;
      const AttentionProblem& p = row.run.problem;
      const double rows_seen = rows_visited(row);
      const auto heads = static_cast<double>(p.batch * p.heads);
      const auto d = static_cast<double>(p.d);
      const auto e = static_cast<double>(size_bytes(p.dtype));
      const double wide =
          row.run.asked.variant.carry == Carry::fp32 ? static_cast<double>(p.N) * d : 0.0;
      const double carried = row.run.asked.variant.carry == Carry::fp32 ? 4.0 : e;
      expect_requested(row,
                       heads * (2.0 * static_cast<double>(p.N_kv) * d * e +
                                rows_seen * (d * (e + carried) + 8.0) + 4.0 * wide),
                       heads * (rows_seen * (d * carried + 8.0) + e * wide));
      ++checked;
    }
  }
  EXPECT_GE(checked, 28);
}

/// block_sparse2: like flash2, over the tiles of its block mask that are at least partly visible.
/// Only rows whose tiles fill whole boxes of 64 rows, and only from N = 512 on: at smaller N, the
/// lists of tiles matter.
TEST(ShippedRecordings, BlockSparse2ReadsAndWritesWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      const AttentionProblem& p = row.run.problem;
      if (row.run.asked.kernel != "block_sparse2" || row.run.pass() != PassKind::forward ||
          !row.measurement)
        continue;
      const bool has_whole_boxes = p.N % 64 == 0 && p.N_kv % row.run.tiling.Bc == 0;
      if (p.N < 512 || !has_whole_boxes) continue;
      const auto heads = static_cast<double>(p.batch * p.heads);
      const auto row_bytes = static_cast<double>(p.d * size_bytes(p.dtype));
      expect_requested(
          row,
          heads * row_bytes * static_cast<double>(p.N + 2 * tiles_visited(row) * row.run.tiling.Bc),
          heads * static_cast<double>(p.N) * (row_bytes + kStatisticBytes));
      ++checked;
    }
  }
  EXPECT_GE(checked, 40);
}

/// The counters of one launch of a recorded row.
double counted(const RecordingRow& row, std::string_view launch_name, std::string_view name) {
  for (const LaunchCounters& launch : row.measurement->launches) {
    if (launch.name == launch_name) return launch.counters.at(std::string(name));
  }
  ADD_FAILURE() << describe(row) << " has no launch " << launch_name;
  return 0.0;
}

void expect_within_half_a_percent(const RecordingRow& row, std::string_view launch,
                                  std::string_view name, double bytes) {
  EXPECT_LE(std::abs(counted(row, launch, name) / bytes - 1.0), 0.005)
      << describe(row) << ", " << launch << ": " << name;
}

/// Expects that one launch of a recorded row requested these bytes.
void expect_launch_asked_for(const RecordingRow& row, std::string_view launch, Index read_bytes,
                             Index written_bytes) {
  expect_within_half_a_percent(row, launch, counter::kRequestedReadBytes,
                               static_cast<double>(read_bytes));
  expect_within_half_a_percent(row, launch, counter::kRequestedWriteBytes,
                               static_cast<double>(written_bytes));
}

/// The bytes of the sectors that contain [begin_bytes, begin_bytes + size_bytes).
Index sectors_bytes(Index begin_bytes, Index size_bytes) {
  return (ceil_div(begin_bytes + size_bytes, kSectorBytes) - begin_bytes / kSectorBytes) *
         kSectorBytes;
}

/// split_kv with one query per head: K and V once. A thread block of "partial" reads its query and
/// writes O and LSE of its split in fp32, each statistic in a separate sector; one of "combine"
/// reads O and LSE of all splits of a row and writes the row.
TEST(ShippedRecordings, SplitKvReadsAndWritesWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      const AttentionProblem& p = row.run.problem;
      if (row.run.asked.kernel != "split_kv" || !row.measurement || p.N > 1) continue;
      const Index splits = split_count(p, row.run.tiling, recording.device.sm_count);
      ASSERT_LE(splits, 32) << "the statistics of a row are one warp's read";
      const Index heads = p.batch * p.heads;
      const Index row_bytes = p.d * size_bytes(p.dtype);
      const Index split_bytes = p.d * static_cast<Index>(sizeof(float));

      const Index partial_reads = heads * (2 * p.N_kv + splits) * row_bytes;
      const Index partial_writes = heads * splits * (split_bytes + kSectorBytes);
      Index combine_reads = heads * splits * split_bytes;
      for (Index head = 0; head < heads; ++head) {
        combine_reads += sectors_bytes(head * splits * kStatisticBytes, splits * kStatisticBytes);
      }
      const Index combine_writes = heads * (row_bytes + kSectorBytes);
      expect_launch_asked_for(row, "partial", partial_reads, partial_writes);
      expect_launch_asked_for(row, "combine", combine_reads, combine_writes);
      ++checked;
      if (p.N_kv < 65536) continue;

      // With a long cache, nearly all traffic is reading K and V once
      const double both = row.measurement->counter(counter::kRequestedReadBytes).value() +
                          row.measurement->counter(counter::kRequestedWriteBytes).value();
      const auto once = static_cast<double>(2 * heads * p.N_kv * row_bytes);
      EXPECT_LE(std::abs(both / once - 1.0), 0.005) << describe(row);
    }
  }
  EXPECT_GE(checked, 2);
}

/// FlashAttention-2's backward main launch: K and V once, then Q, dO, LSE and D of the rows from
/// the first that sees each column tile; dQ added in fp32 for each of those, dK and dV written
/// once. With a fixed order of dQ, each tile adds 4 bytes, a sector, to the turn counter of its row
/// tile, and a block reads the counter while it waits for its turn: longer under a causal mask,
/// where the blocks begin one after another.
TEST(ShippedRecordings, Flash2sBackwardLaunchRequestsWhatTheFormulaSaysWithinHalfAPercent) {
  int checked = 0;
  int deterministic = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& row : recording.rows) {
      if (row.run.asked.kernel != "flash2" || row.run.pass() != PassKind::backward ||
          !row.measurement || !has_whole_tiles(row))
        continue;
      const AttentionProblem& p = row.run.problem;
      if (!p.mask.is_none() && !p.mask.is_causal()) continue;
      const double rows_seen = rows_visited(row);
      const auto heads = static_cast<double>(p.batch * p.heads);
      const auto d = static_cast<double>(p.d);
      const auto e = static_cast<double>(size_bytes(p.dtype));
      const double columns = 2 * static_cast<double>(p.N_kv) * d * e;
      const double row_bytes = static_cast<double>(requested_columns(row)) * e;
      const double reads =
          heads * (2 * static_cast<double>(p.N_kv) * row_bytes + rows_seen * (2 * row_bytes + 8));
      double adds = heads * rows_seen * d * 4;
      if (row.run.asked.deterministic) {
        const double tiles = rows_seen / static_cast<double>(row.run.tiling.Br);
        adds += heads * tiles * static_cast<double>(kSectorBytes);
        const double waits = counted(row, "backward", counter::kRequestedReadBytes) / reads - 1.0;
        EXPECT_GE(waits, 0.0) << describe(row);
        EXPECT_LE(waits, p.mask.is_none() ? 0.005 : 0.025) << describe(row);
        ++deterministic;
      } else {
        expect_within_half_a_percent(row, "backward", counter::kRequestedReadBytes, reads);
      }
      expect_within_half_a_percent(row, "backward", counter::kRequestedWriteBytes,
                                   heads * columns + adds);
      expect_within_half_a_percent(row, "backward", counter::kL2ReductionSectors,
                                   adds / static_cast<double>(kSectorBytes));
      ++checked;
    }
  }
  EXPECT_GE(checked, 28);
  EXPECT_GE(deterministic, 2);
}

/// Up to d = 128: the tiles of wider heads leave room for one thread block, and the gain of
/// cuBLAS's products, which have the tensor cores to themselves, exceeds what that block saves in
/// bytes.
TEST(ShippedRecordings, Flash2sForwardPassIsFasterThanStandardsFrom1024OnUpToD128) {
  int compared = 0;
  for (const Recording& recording : shipped()) {
    for (const RecordingRow& standard : recording.rows) {
      if (standard.run.asked.kernel != "standard" || !standard.measurement) continue;
      if (standard.run.pass() != PassKind::forward) continue;
      if (standard.run.problem.N < 1024 || standard.run.problem.heads < 16) continue;
      if (standard.run.problem.d > 128) continue;
      for (const RecordingRow& flash2 : recording.rows) {
        const bool same = flash2.run.asked.kernel == "flash2" && flash2.measurement &&
                          flash2.run.problem == standard.run.problem &&
                          flash2.run.pass() == standard.run.pass() && flash2.run.tiling.Br >= 64;
        if (!same) continue;
        EXPECT_LT(flash2.measurement->time.median_s, standard.measurement->time.median_s)
            << describe(flash2);
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace attnscope
