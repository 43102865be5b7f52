#include <algorithm>
#include <span>

#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/kernel_parameters.h"

namespace attnscope::kernels {

namespace {

/// The threads that hold a row in registers, and the elements that each of them holds.
struct RowShape {
  int threads;
  int elements;
  bool takes_scores = false;  ///< also used with score features
};

// The first shape that can hold a row is used
constexpr RowShape kForwardShapes[] = {{32, 8},         {32, 16},        {32, 32, true},
                                       {128, 16},       {256, 16, true}, {256, 32},
                                       {512, 32, true}, {1024, 32, true}};
constexpr RowShape kGradientShapes[] = {{32, 8}, {32, 32, true}, {256, 16}, {512, 32, true}};

/// Neighbouring elements that a thread reads at once: 16 bytes, or 1 element if rows are not
/// aligned to 16 bytes.
Index piece_width(const AttentionProblem& problem) {
  const Index width = 16 / size_bytes(problem.dtype);
  return problem.N_kv % width == 0 ? width : 1;
}

/// `kernel` with the first of `shapes` that can hold a row of at most `most_keys`, else the kernel
/// of two sweeps.
BlockProgram row_program(std::string_view kernel, const AttentionProblem& problem,
                         const ScoreFeatures& features, std::span<const RowShape> shapes,
                         Index most_keys) {
  const Index width = piece_width(problem);
  const auto shape = std::ranges::find_if(shapes, [&](const RowShape& each) {
    return each.threads * each.elements >= problem.N_kv && (each.takes_scores || !features.any());
  });
  if (problem.N_kv > most_keys || shape == shapes.end()) {
    constexpr int kSweepThreads = 1024;
    return {.program = kernel_program(fmt::format("{}_two_sweeps", kernel), problem.dtype,
                                      kSweepThreads, width, features),
            .threads = kSweepThreads};
  }
  static_assert(softmax_rows_per_block(1024) == 4 && softmax_rows_per_block(1025) == 1);
  return {.program = kernel_program(kernel, problem.dtype, shape->threads, shape->elements, width,
                                    features),
          .threads = shape->threads * static_cast<int>(softmax_rows_per_block(problem.N_kv))};
}

}  // namespace

/// "dS" is in 16-bit precision.
std::vector<LaunchProgram> standard_programs(const ResolvedRun& run, const LaunchKind& /*kind*/) {
  const AttentionProblem& problem = run.problem;
  ScoreFeatures features = score_features(problem);
  if (run.pass() == PassKind::forward) {
    const Index most_keys = piece_width(problem) > (features.any() ? 4 : 1) ? 32768 : 16384;
    return {{"softmax", row_program("standard/softmax_forward", problem, features, kForwardShapes,
                                    most_keys)}};
  }
  features.key_ranges = features.alibi = false;  // P already reflects these
  return {{"dS", row_program("standard/softmax_gradient", problem, features, kGradientShapes,
                             features.soft_cap ? 8192 : 16384)}};
}

}  // namespace attnscope::kernels
