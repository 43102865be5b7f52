#include "sim/studies/io_theorems.h"

#include <fmt/core.h>

#include <cmath>

#include "sim/resolve.h"
#include "sim/tiling_rules.h"

namespace attnscope {

namespace {

/// Nothing if the value is valid on the axis.
std::optional<Error> check_value(IoAxis axis, double value) {
  if (axis == IoAxis::density) {
    if (value > 0 && value <= 1) return std::nullopt;
    return invalid_request("density {} is out of range; it must be above 0 and at most 1", value);
  }
  constexpr double kMost = 0x1p40;
  const bool whole = value >= 1 && value <= kMost && value == std::floor(value);
  if (whole) return std::nullopt;
  return invalid_request("{} {} is not a size; it must be a whole number from 1 to {}",
                         to_string(axis), value, kMost);
}

/// Bc of a block mask: a power of two that divides N_kv into at least 64 tiles; at most the paper's
/// Bc.
Index sparse_block_cols(Index N_kv, Index paper_Bc) {
  constexpr Index kColumnTiles = 64;
  Index Bc = 1;
  while (2 * Bc <= paper_Bc && 2 * Bc * kColumnTiles <= N_kv) Bc *= 2;
  return Bc;
}

/// The question's run at one value, on `gpu`; sets the fields of `point` that depend on the value.
Result<RunSpec> spec_at(const IoQuestion& question, double value, GpuDescription& gpu,
                        IoPoint& point) {
  RunSpec spec{.problem = question.problem,
               .algorithm = "flash1",
               .pass = question.pass,
               .allow_overflow = true};
  AttentionProblem& problem = spec.problem;
  const auto size = static_cast<Index>(value);
  if (question.axis == IoAxis::seq_len) problem.N = problem.N_kv = size;
  if (question.axis == IoAxis::head_dim) problem.d = size;
  if (question.axis == IoAxis::sram_bytes) gpu.shared_bytes_per_block = size;
  if (auto error = validate(problem)) return *error;

  point.sram_elems = sram_elems(gpu, problem.dtype);
  if (point.sram_elems < 1) {
    return invalid_field(ErrorCode::out_of_range, "sram_bytes",
                         "{} {} has no room for an element of {}; give at least {}",
                         field_name("sram_bytes"), gpu.shared_bytes_per_block,
                         to_string(problem.dtype), size_bytes(problem.dtype));
  }
  if (question.axis == IoAxis::block_cols) point.sram_elems = 4 * problem.d * size;
  if (question.axis == IoAxis::density) {
    const Index paper_Bc = paper_tiling(point.sram_elems, problem.d).Bc;
    point.sram_elems = 4 * problem.d * sparse_block_cols(problem.N_kv, paper_Bc);
    spec.algorithm = "block_sparse";
    spec.block_mask = BlockPattern{.kind = BlockPattern::Kind::uniform, .density = value};
  }
  spec.set_tiling(paper_tiling(point.sram_elems, problem.d));
  return spec;
}

/// The closed forms of Algorithms 1, 4 and 5, per head in elements of the problem's type, and the
/// row statistics, 4 bytes each.
void add_formulas(IoPoint& point) {
  const ResolvedRun& run = point.counted.run;
  const AttentionProblem& problem = run.problem;
  const auto number = [](Index count) { return static_cast<double>(count); };
  const double e = number(size_bytes(problem.dtype));
  const double heads = number(problem.batch * problem.heads);
  const double Nd = number(problem.N) * number(problem.d);
  const double Nd_kv = number(problem.N_kv) * number(problem.d);
  const double visits = number(ceil_div(problem.N_kv, run.tiling.Bc)) * point.density;
  const bool forward = run.pass() == PassKind::forward;

  // Forward: K, V once; on every visit Q, O twice (read, written), l and m twice. Backward: K, V,
  // dK, dV once; on every visit Q, O, dO, dQ twice (read, written), l and m once
  const double once = (forward ? 2 : 4) * Nd_kv;
  const double matrices = (forward ? 3 : 5) * Nd * visits;
  const double statistics = (forward ? 4 : 2) * number(problem.N) * visits;
  point.formula_bytes = heads * (e * (once + matrices) + number(kStatisticBytes) * statistics);

  const double d = number(problem.d);
  const double M = number(point.sram_elems);
  const double order = number(problem.N) * number(problem.N_kv) * d * d * point.density / M;
  point.leading_term_bytes = heads * e * (forward ? 12 : 20) * order;
  point.compulsory_bytes = heads * e * (forward ? 2 * Nd + 2 * Nd_kv : 4 * Nd + 4 * Nd_kv);
  point.in_range = M >= d && M <= Nd;
  if (point.in_range && M >= d * d) point.lower_bound_order_bytes = heads * e * order;
}

Result<IoPoint> point_at(const IoQuestion& question, double value,
                         const std::atomic<bool>* cancel) {
  if (auto error = check_value(question.axis, value)) return *error;
  IoPoint point;
  point.value = value;
  GpuDescription gpu = question.gpu;
  ATTNSCOPE_TRY(auto spec, spec_at(question, value, gpu, point));
  ATTNSCOPE_TRY(point.counted, resolve_and_simulate(spec, gpu, cancel));
  if (const auto& mask = point.counted.run.problem.block_mask) point.density = mask->density();
  add_formulas(point);

  RunSpec standard = spec;
  standard.block_mask.reset();
  standard.algorithm = "standard";
  standard.set_tiling({128, 128});  // the paper counts each operand once, independent of the tiles
  ATTNSCOPE_TRY(const auto unfused, resolve_and_simulate(standard, gpu, cancel));
  point.standard_bytes = unfused.paper.total();
  return point;
}

}  // namespace

AttentionProblem usual_io_problem() {
  return {.N = 8192, .N_kv = 8192, .d = 64, .dtype = DType::fp16};
}

std::vector<double> usual_values(IoAxis axis) {
  switch (axis) {
    case IoAxis::seq_len:
      return {1024, 2048, 4096, 8192, 16384};
    case IoAxis::head_dim:
      return {16, 32, 64, 128, 256};
    case IoAxis::sram_bytes:
      return {16384, 32768, 65536, 131072, 262144};
    case IoAxis::block_cols:
      return {32, 64, 128, 256, 512};
    case IoAxis::density:
      return {0.0625, 0.125, 0.25, 0.5, 1};
  }
  return {};
}

std::string density_sram_words(const IoPoint& point) {
  const AttentionProblem& problem = point.counted.run.problem;
  const Index Bc = point.counted.run.tiling.Bc;
  return fmt::format(
      "M = 4 d Bc = 4 x {} x {} = {} elements: {} tiles of keys for the mask to choose among",
      problem.d, Bc, point.sram_elems, ceil_div(problem.N_kv, Bc));
}

Result<std::vector<IoPoint>> io_curve(const IoQuestion& question, const std::atomic<bool>* cancel) {
  if (question.pass == PassKind::both) {
    return invalid_request("the theorems are about one pass: choose forward or backward");
  }
  if (!question.problem.mask.is_none()) {
    return invalid_request("the theorems are about attention without a mask: choose mask none");
  }
  std::vector<IoPoint> points;
  for (const double value : question.values) {
    ATTNSCOPE_TRY(auto point, point_at(question, value, cancel));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace attnscope
