#include "app/report/dram_cache.h"

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/block_mask.h"
#include "reference/files/packed_bytes.h"
#include "sim/dram/l2_cache.h"

namespace attnscope {

namespace {

constexpr DiskCache::Kind kPredictions = {.format = "attnscope dram prediction 2\n",
                                          .suffix = ".dram"};

/// Packs values one by one, without the padding of structs. Structured bindings name every field of
/// a struct, so that a new field does not compile until it is packed.
class Packer {
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
  void add(const BlockPlacement& placement) {
    const auto& [residency, order, heads_at_once] = placement;
    const auto& [kind, seed] = order;
    add_all(residency, kind, seed, heads_at_once);
  }
  void add(const Bytes& moved) {
    const auto& [read_bytes, write_bytes, atomic_bytes] = moved;
    add_all(read_bytes, write_bytes, atomic_bytes);
  }
  void add(const DramPrediction& prediction) {
    const auto& [launches, missed_bytes, total, least, most] = prediction;
    add_all(launches, missed_bytes, total, least, most);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// The prediction in Packer's bytes; nothing if they are damaged.
std::optional<DramPrediction> prediction_in(std::string_view bytes, std::size_t launches) {
  static_assert(sizeof(Bytes) == 3 * sizeof(Index), "has no padding");
  if (take<std::uint64_t>(bytes) != launches) return std::nullopt;
  const std::size_t of_launches = launches * (sizeof(Bytes) + sizeof(Index));
  if (bytes.size() != of_launches + sizeof(std::uint64_t) + 3 * sizeof(Bytes)) return std::nullopt;
  DramPrediction prediction;
  for (std::size_t launch = 0; launch < launches; ++launch) {
    prediction.launches.push_back(*take<Bytes>(bytes));
  }
  if (take<std::uint64_t>(bytes) != launches) return std::nullopt;
  for (std::size_t launch = 0; launch < launches; ++launch) {
    prediction.missed_bytes.push_back(*take<Index>(bytes));
  }
  for (Bytes* bound : {&prediction.total, &prediction.least, &prediction.most}) {
    *bound = *take<Bytes>(bytes);
  }
  return prediction;
}

}  // namespace

std::string prediction_key(const ResolvedRun& run, const GpuDescription& gpu,
                           const BlockPlacement& placement, double most_transfers,
                           DramInterval interval) {
  Packer key;
  key.add_all(kDramModelVersion, kL2Margin, kL2Ways, most_transfers);
  key.add_all(run.algorithm(), run.pass(), run.asked.variant);
  key.add_all(run.problem, run.tiling, run.splits, run.query_heads_per_tile);
  key.add_all(gpu.sm_count, gpu.l2_bytes, gpu.l2_partitions, gpu.register_bytes_per_sm);
  key.add(placement);
  if (interval == DramInterval::left_out) key.add(interval);
  return key.bytes();
}

DramCache::DramCache(std::filesystem::path folder)
    : disk_(std::move(folder), kPredictions, kMostBytes) {}

std::optional<DramPrediction> DramCache::find(const std::string& key, std::size_t launches) const {
  const auto bytes = disk_.find(key);
  return bytes ? prediction_in(*bytes, launches) : std::nullopt;
}

void DramCache::keep(const std::string& key, const DramPrediction& prediction) const {
  Packer value;
  value.add(prediction);
  disk_.keep(key, value.bytes());
}

}  // namespace attnscope
