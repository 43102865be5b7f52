/// The model's description of a GPU: capacities and datasheet rates, each with its source. Read
/// from assets/gpus/NAME.json (schema attnscope.gpu/1). Everything here is of the kind "datasheet".
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/result.h"
#include "reference/what_if.h"

namespace attnscope {

/// The source of a field's value.
struct FieldSource {
  std::string unit;
  std::string source;
  std::string confidence;  ///< "high", "medium" or "low"
  std::string note;        ///< may be empty
};

/// One GPU.
struct GpuDescription {
  std::string name;                ///< "h200": the command line's spelling
  std::string display_name;        ///< "NVIDIA H200 SXM 141 GB"
  std::string device_name;         ///< "NVIDIA H200": the driver's; empty if the file has none
  std::string chip;                ///< "GH100": CUPTI's spelling
  std::string compute_capability;  ///< "9.0"

  Index sm_count = 0;
  Index l1_shared_bytes_per_sm = 0;  ///< L1 and shared memory are one array
  Index shared_bytes_per_sm = 0;     ///< the part of it that can be shared memory
  Index shared_bytes_per_block = 0;  ///< the maximum per thread block (opt-in limit)
  /// Shared memory that the system reserves for each resident thread block, in addition to the
  /// block's own.
  Index reserved_shared_bytes_per_block = 0;
  Index register_bytes_per_sm = 0;
  Index max_threads_per_sm = 0;
  Index max_blocks_per_sm = 0;
  Index l2_bytes = 0;
  /// Partitions of L2, each connected to a share of the SMs: see L2Cache.
  int l2_partitions = 1;
  Index hbm_bytes = 0;    ///< of DRAM, whatever its type
  std::string dram_type;  ///< "HBM3e", "GDDR6X"; empty if the file does not say

  double dram_bytes_per_s = 0;
  double boost_clock_hz = 0;
  double other_flops_per_s = 0;  ///< fp32 on CUDA cores
  double exp_per_clock_per_sm = 0;

  /// Exponentials per second of all SMs' special function units, at the boost clock; the rate of
  /// the CUDA cores is for the same clock.
  double exponentials_per_s() const {
    return exp_per_clock_per_sm * static_cast<double>(sm_count) * boost_clock_hz;
  }

  /// Matrix-product rate with operands of this type and fp32 accumulation; nothing if the GPU
  /// has no unit for it. fp32: CUDA cores.
  std::optional<double> matrix_flops_per_s(DType dtype) const {
    return matrix_flops_per_s_by_dtype[static_cast<std::size_t>(dtype)];
  }
  std::array<std::optional<double>, 3> matrix_flops_per_s_by_dtype;

  /// The source of each number, by its field name in the file: "l2_bytes",
  /// "matrix_flops_per_s.fp16".
  std::map<std::string, FieldSource, std::less<>> provenance;
  WhatIf what_if;  ///< the user's changes, including those to rates without a member here
  /// Read from a user's file that differs from the shipped description of the same GPU.
  bool is_altered = false;
};

/// The name of the DRAM: "HBM" for every generation of HBM, else its type, such as "GDDR6X"; "DRAM"
/// if the type is unknown.
std::string dram_name(const GpuDescription& gpu);

/// Whether two sizes may belong to the same GPU's memory: product names state a larger size than a
/// device reports.
bool are_one_memory(Index a_bytes, Index b_bytes);

/// Whether both have the same numbers, whatever their sources.
bool same_numbers(const GpuDescription& a, const GpuDescription& b);

/// The GPU with these numbers changed; `source` is the source of the changes.
GpuDescription with_what_if(GpuDescription gpu, const WhatIf& what_if, std::string_view source);

/// Parses a description; `name` is the file's name in messages. invalid_request, in one line, for a
/// malformed document or a meaningless value.
Result<GpuDescription> parse_gpu(std::string_view text, std::string_view name);

/// The description with a name ("h200", from the assets, read once) or in a file. invalid_request,
/// in one line, for an unknown name or a malformed file; failed for a file that cannot be read.
Result<GpuDescription> load_gpu(std::string_view name_or_path);

/// Names of the descriptions in the assets, sorted; empty if the assets were not found.
std::vector<std::string> list_gpus();

}  // namespace attnscope
