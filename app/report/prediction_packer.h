/// The bytes of cached predictions and of their keys.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/block_mask.h"
#include "reference/files/packed_bytes.h"
#include "reference/run_spec.h"
#include "sim/dram/dram_model.h"
#include "sim/time/time_model.h"

namespace attnscope {

/// Packs values one by one, without the padding of structs. Where structured bindings name every
/// field of a struct, a new field does not compile until it is packed. Of ResolvedRun, LaunchReport
/// and GpuDescription only the fields that a prediction reads are packed: add those that it newly
/// reads.
class PredictionPacker {
 public:
  template <typename... Values>
  void add_all(const Values&... values) {
    (add(values), ...);
  }
  template <typename Value>
  void add(const std::vector<Value>& list) {
    append(bytes_, static_cast<std::uint64_t>(list.size()));
    for (const Value& value : list) add(value);
  }
  template <typename Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <typename Number>
  void add(Number number) requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>) {
    append(bytes_, number);
  }
  void add(const std::string& text) { append_block(bytes_, text); }
  void add(const Mask& mask) {
    const auto& [left, right, alignment] = mask;
    add_all(left, right, alignment);
  }
  void add(const Tiling& tiling) {
    const auto& [Br, Bc] = tiling;
    add_all(Br, Bc);
  }
  void add(const Dropout& dropout) {
    const auto& [probability, seed, first_batch, first_head] = dropout;
    add_all(probability, seed, first_batch, first_head);
  }
  void add(const ScoreFunction& score) {
    const auto& [soft_cap, alibi_slopes, dropout] = score;
    add_all(soft_cap.has_value(), soft_cap.value_or(0), alibi_slopes, dropout);
  }
  void add(const SharedBlockMask& mask) {
    add(mask != nullptr);
    if (mask == nullptr) return;
    add_all(mask->tiling(), mask->Tr(), mask->Tc(), mask->nonzeros(), mask->hash());
  }
  void add(const AttentionProblem& problem) {
    const auto& [batch, heads, kv_heads, N, N_kv, d, dtype, mask, score, key_lengths, cu_seqlens_q,
                 cu_seqlens_k, block_mask] = problem;
    add_all(batch, heads, kv_heads, N, N_kv, d, dtype, mask, score);
    add_all(key_lengths, cu_seqlens_q, cu_seqlens_k, block_mask);
  }
  void add(const ProductTile& tile) {
    const auto& [rows, cols] = tile;
    add_all(rows, cols);
  }
  void add(const ScheduleVariant& variant) {
    // A dropped operation is still counted, so `broken` changes no prediction
    const auto& [carry, fusion, checkpoint, product_tiles, skip_first_reads, d_once, skip_unused_kv,
                 stages, consumers, visit_hidden, broken] = variant;
    const auto& [S, O, dV, dP, dQ, dK] = product_tiles;
    add_all(carry, fusion, checkpoint, skip_first_reads, S, O, dV, dP, dQ, dK);
    add_all(d_once, skip_unused_kv, stages, consumers, visit_hidden);
  }
  void add(const BlockOrder& order) {
    const auto& [kind, seed] = order;
    add_all(kind, seed);
  }
  void add(const BlockPlacement& placement) {
    const auto& [residency, order, heads_at_once] = placement;
    add_all(residency, order, heads_at_once);
  }
  void add(const Bytes& moved) {
    const auto& [read_bytes, write_bytes, atomic_bytes] = moved;
    add_all(read_bytes, write_bytes, atomic_bytes);
  }
  void add(const DramPrediction& prediction) {
    const auto& [launches, missed_bytes, total, least, most] = prediction;
    add_all(launches, missed_bytes, total, least, most);
  }
  /// What a prediction depends on.
  void add(const ResolvedRun& run) {
    add_all(run.algorithm(), run.pass(), run.asked.variant);
    add_all(run.problem, run.tiling, run.splits, run.query_heads_per_tile);
  }

  void add(const MachineRates& rates) {
    const auto& [sm_count, boost_clock, matrix_clock, dram_read, dram_write, dram_copy, l2_read,
                 l2_write, added, l2_read_one_sm, l1_latency, l2_latency, dram_latency,
                 block_launch, launch_overhead, gap_one_block, gap_full_grid, matrix_flops,
                 sync_matrix_flops, multiply_adds, exponentials, shared_bytes, barrier] = rates;
    add_all(sm_count, boost_clock, matrix_clock, dram_read, dram_write, dram_copy, l2_read,
            l2_write, added, l2_read_one_sm, l1_latency, l2_latency, dram_latency, block_launch,
            launch_overhead, gap_one_block, gap_full_grid, matrix_flops, sync_matrix_flops,
            multiply_adds, exponentials, shared_bytes, barrier);
  }
  void add(const StepCosts& steps) {
    const auto& [cycles, residency, masked, rescaled, from_dram, one_consumer, rows_of_warp, waits,
                 clock_hz, are_calibrated, first_step_s, lone_first_step_s] = steps;
    add_all(cycles, residency, masked, rescaled, from_dram, one_consumer, rows_of_warp, waits,
            clock_hz, are_calibrated, first_step_s, lone_first_step_s);
  }
  void add(const BlockFlow& flow) {
    const auto& [loads_ahead, stores_beside_next, overlaps_softmax, last_product_flops, consumers,
                 trims, reads_maps, reads_lists] = flow;
    add_all(loads_ahead, stores_beside_next, overlaps_softmax, last_product_flops, consumers, trims,
            reads_maps, reads_lists);
  }
  void add(const FurtherLaunch& launch) {
    const auto& [name, written_bytes, thread_blocks] = launch;
    add_all(name, written_bytes, thread_blocks);
  }
  void add(const KernelCosts& costs) {
    const auto& [steps, uncalibrated, measured_rates, residency, thread_blocks, order,
                 heads_at_once, flow, warps, has_wgmma_products, has_library_products, further] =
        costs;
    add_all(steps, uncalibrated, measured_rates, residency, thread_blocks, order, heads_at_once,
            flow, warps, has_wgmma_products, has_library_products, further);
  }
  /// What predict_time() reads of it.
  void add(const LaunchReport& launch) {
    add_all(launch.name, launch.requested, launch.flops.matmul, launch.flops.non_matmul,
            launch.flops.exponentials);
  }
  void add(const LaunchTime& launch) {
    const auto& [name, seconds, parts] = launch;
    add_all(name, seconds);
    for (const double part : parts) add(part);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace attnscope
