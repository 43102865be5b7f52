#include "sim/schedule/schedules.h"

namespace attnscope {

namespace {

/// A dense pass, and the launch in it that sweeps over tiles of S.
struct DensePass {
  Pass pass;
  std::size_t sweep = 0;
  Launch& launch() { return pass.launches[sweep]; }
};

DensePass dense_flash1_forward(const ScheduleOptions& options) {
  return {flash1_forward_pass(options), 0};
}
DensePass dense_flash1_backward(const ScheduleOptions& options) {
  return {flash1_backward_pass(options), 0};
}
DensePass dense_flash2_forward(const ScheduleOptions& options) {
  return {flash2_forward_pass(options), 0};
}
DensePass dense_flash2_backward(const ScheduleOptions& options) {
  return {flash2_backward_pass(options), 1};  // after "preprocess"
}

constexpr std::string_view kWhyGuard =
    "The guard of block-sparse attention: a tile whose M_ij is 0 costs nothing in this loop.";
constexpr std::string_view kWhyLoadAll =
    "Outside the guard, as the paper prints it: loaded even if no M_ij of the column is 1.";
constexpr std::string_view kWhyLoadUsed =
    "Only if the column has a 1; the paper's algorithm loads them regardless.";
constexpr std::string_view kWhyList =
    "The row's list in the block mask: neither loads nor products for tiles that are 0.";

/// The pseudo-code of a sweep whose inner loop runs over the row tiles of column tile j.
PseudoCode guarded_rows(const Launch& dense, std::string_view why_load) {
  PseudoCode lines = copy_of(dense.pseudo_code);
  rewrite_line(lines, Step::inner_loop, "for each row tile i with M_ij = 1", kWhyGuard);
  rewrite_line(lines, Step::load_column_tile, "load K_j, V_j", why_load);
  return lines;
}

/// The dense pass, with the guarded pseudo-code for its sweep.
template <DensePass (*kDense)(const ScheduleOptions&)>
Pass guarded_by_columns(const ScheduleOptions& options) {
  static const PseudoCode load_all = guarded_rows(kDense({}).launch(), kWhyLoadAll);
  static const PseudoCode load_used = guarded_rows(kDense({}).launch(), kWhyLoadUsed);
  DensePass dense = kDense(options);
  dense.launch().pseudo_code = options.variant.skip_unused_kv ? load_used : load_all;
  return dense.pass;
}

PseudoCode guarded_columns(const Launch& dense) {
  PseudoCode lines = copy_of(dense.pseudo_code);
  rewrite_line(lines, Step::inner_loop, "for each column tile j with M_ij = 1", kWhyList);
  return lines;
}

}  // namespace

Pass block_sparse_forward_pass(const ScheduleOptions& options) {
  return guarded_by_columns<dense_flash1_forward>(options);
}

Pass block_sparse_backward_pass(const ScheduleOptions& options) {
  return guarded_by_columns<dense_flash1_backward>(options);
}

Pass block_sparse2_forward_pass(const ScheduleOptions& options) {
  static const PseudoCode lines = guarded_columns(dense_flash2_forward({}).launch());
  DensePass dense = dense_flash2_forward(options);
  dense.launch().pseudo_code = lines;
  return dense.pass;
}

Pass block_sparse2_backward_pass(const ScheduleOptions& options) {
  return guarded_by_columns<dense_flash2_backward>(options);
}

}  // namespace attnscope
