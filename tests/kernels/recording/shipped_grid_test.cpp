/// The coverage of the recordings of an H200: every kernel over N, d, both passes, causal and not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/recording/recording.h"
#include "tests/kernels/recording/recorded_rows.h"

namespace attnscope {
namespace {

constexpr std::array<Index, 8> kLengths = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
constexpr std::array<Index, 3> kHeadDims = {64, 128, 256};

/// One point of the grid; N is the number of keys.
struct Point {
  std::string kernel;
  PassKind pass;
  DType dtype;
  Index N, d;
  Mask mask;
};

std::string describe(const Point& point) {
  return point.kernel + " in " + std::string(to_string(point.dtype)) + ", " +
         std::string(to_string(point.pass)) + ", N " + std::to_string(point.N) + ", d " +
         std::to_string(point.d) + ", " + to_string(point.mask);
}

std::vector<Point> grid_of(const std::string& kernel, DType dtype) {
  std::vector<Point> points;
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    for (const Index N : kLengths) {
      for (const Index d : kHeadDims) {
        for (const Mask& mask : {Mask::none(), Mask::causal()}) {
          points.push_back({kernel, pass, dtype, N, d, mask});
        }
      }
    }
  }
  return points;
}

/// The rows of both recordings, read once.
const std::vector<RecordingRow>& recorded_rows() {
  static const std::vector<RecordingRow> rows = [] {
    std::vector<RecordingRow> all = test::read_shipped("h200.json").rows;
    std::ranges::move(test::read_shipped("h200-sweeps.json").rows, std::back_inserter(all));
    return all;
  }();
  return rows;
}

bool is_recorded(const Point& point) {
  return std::ranges::any_of(recorded_rows(), [&](const RecordingRow& row) {
    const AttentionProblem& p = row.run.problem;
    return row.run.asked.kernel == point.kernel && row.run.pass() == point.pass &&
           p.dtype == point.dtype && p.N_kv == point.N && p.d == point.d && p.mask == point.mask &&
           row.measurement && !row.measurement->launches.empty();
  });
}

/// Expects that every point of the kernel is recorded, except those for which `is_left_out` is
/// true.
void expect_grid(const std::string& kernel, DType dtype, bool (*is_left_out)(const Point&)) {
  for (const Point& point : grid_of(kernel, dtype)) {
    EXPECT_EQ(is_recorded(point), !is_left_out(point)) << describe(point);
  }
}

bool nothing(const Point&) {
  return false;
}

TEST(RecordedGrid, HasStandardFlash1Flash2AndBlockSparse2AtEveryPoint) {
  for (const char* const kernel : {"standard", "flash1", "flash2", "block_sparse2"}) {
    expect_grid(kernel, DType::bf16, nothing);
  }
}

TEST(RecordedGrid, HasFlash2OnCudaCoresAtEveryPointThatItTakes) {
  expect_grid("flash2", DType::fp32, [](const Point& point) {
    return point.d == 256 && point.pass == PassKind::backward;
  });
}

/// One query sees all keys, causal or not.
TEST(RecordedGrid, HasDecodingAtEveryLength) {
  expect_grid("split_kv", DType::bf16, [](const Point& point) {
    return point.pass == PassKind::backward || point.mask.is_causal();
  });
}

}  // namespace
}  // namespace attnscope
