#include "kernels/measure/calibrate/operation_benchmarks.h"

#include <algorithm>

#include "kernels/host/hopper.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

constexpr int kWarp = 32;
constexpr int kUsualWarps = 16;

std::string in_kernels(std::string_view type) {
  return fmt::format("attnscope::kernels::{}", type);
}

/// Builds the list of benchmarks.
class OperationList {
 public:
  explicit OperationList(const ProgramTarget& target) : target_(target) {}

  struct Kind {
    std::string operation;  ///< its type, in attnscope::kernels
    const char* source;
    int operations;
    int warps = kUsualWarps;
  };

  OperationBenchmark& add(std::string name, std::string unit, std::string how, const Kind& kind,
                          double work_per_operation) {
    const auto instance =
        instance_of("time_operations", in_kernels(kind.operation), kind.operations);
    return list.emplace_back(OperationBenchmark{
        .name = std::move(name),
        .unit = std::move(unit),
        .how = std::move(how),
        .block = {.program = {.source = fmt::format("kernels/measure/calibrate/{}", kind.source),
                              .expression = instance},
                  .threads = kind.warps * kWarp,
                  .shared_bytes = shared_bytes_of_whole_sm(target_)},
        .operations = kind.operations,
        .work_per_operation = work_per_operation});
  }

  std::vector<OperationBenchmark> list;

 private:
  const ProgramTarget& target_;
};

void add_arithmetic(OperationList& list) {
  constexpr const char* kSource = "operations.cuh";
  struct Row {
    const char *name, *operation, *how;
    int operations;
  };
  constexpr Row kRows[] = {
      {"ffma_per_cycle_per_sm", "FusedMultiplyAdds", "fma.rn.ftz.f32", 256},
      {"fadd_fmul_per_cycle_per_sm", "AddsAndMultiplies",
       "add.rn.ftz.f32 and mul.rn.ftz.f32 in turn", 256},
      {"fmax_per_cycle_per_sm", "Maxima", "max.ftz.f32 and min.ftz.f32 in turn", 256},
      {"lop3_per_cycle_per_sm", "BitwiseFunctions", "lop3.b32, an integer instruction", 128},
      {"ex2_per_cycle_per_sm", "Exponentials", "ex2.approx.ftz.f32", 64},
      {"bf16_pack_per_cycle_per_sm", "Bf16Packs", "cvt.rn.bf16x2.f32, which rounds two values",
       128},
      {"shuffle_per_cycle_per_sm", "Shuffles", "shfl.sync.bfly.b32", 64}};
  for (const Row& row : kRows) {
    list.add(row.name, "operations/cycle/SM",
             fmt::format("{}, by all threads of 16 warps on each SM, in 8 chains", row.how),
             {row.operation, kSource, row.operations}, 1);
  }
  list.add("issue_instructions_per_cycle_per_sm", "instructions/cycle/SM",
           "instructions of a warp, fma.rn.ftz.f32 and lop3.b32 in turn: 16 warps on each SM",
           {"MixedInstructions", kSource, 256}, 1.0 / kWarp);
}

void add_shared_memory(OperationList& list) {
  constexpr const char* kSource = "shared_operations.cuh";
  constexpr const char* kUnit = "bytes/cycle/SM";
  constexpr double kVector = 16, kWord = 4;
  for (const int ways : {1, 2, 4, 8}) {
    const std::string conflicts = ways == 1 ? "" : fmt::format("{}_way_", ways);
    list.add(fmt::format("shared_load_{}bytes_per_cycle_per_sm", conflicts), kUnit,
             fmt::format("ld.shared.v4.u32 by 16 warps on each SM, {}",
                         ways == 1 ? std::string("without conflicts")
                                   : fmt::format("{} of every 8 lanes in the same banks", ways)),
             {fmt::format("SharedLoads<{}>", ways), kSource, 32}, kVector);
  }
  list.add("shared_load_word_bytes_per_cycle_per_sm", kUnit,
           "ld.shared.u32 without conflicts by 16 warps on each SM",
           {"SharedWordLoads", kSource, 64}, kWord);
  list.add("shared_store_bytes_per_cycle_per_sm", kUnit,
           "st.shared.v4.u32 without conflicts by 16 warps on each SM",
           {"SharedStores", kSource, 32}, kVector);
  list.add("ldmatrix_bytes_per_cycle_per_sm", kUnit,
           "ldmatrix.x4 without conflicts by 16 warps on each SM", {"MatrixLoads", kSource, 32},
           kVector);
  for (const int warps : {4, 8, 16}) {
    list.add(fmt::format("barrier_{}_warps_cycles", warps), "cycles",
             fmt::format("bar.sync of a block of {} warps, one after the other", warps),
             {"Barriers", kSource, 16, warps}, 0);
  }
}

constexpr const char* kFlops = "FLOP/cycle/SM";

void add_matrix_products(OperationList& list) {
  constexpr double kFlopsOfAWarp = 2.0 * 16 * 8 * 16;
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    const std::string name = to_string(dtype) == "fp16" ? "Fp16" : "Bf16";
    for (const int warps : {4, 8, 16}) {
      list.add(fmt::format("mma_{}_{}_warps_flops_per_cycle_per_sm", to_string(dtype), warps),
               kFlops,
               fmt::format("mma.sync.m16n8k16 of {} with fp32 accumulators, {} warps on each SM "
                           "with 8 results each",
                           to_string(dtype), warps),
               {fmt::format("MatrixProducts<attnscope::kernels::device::{}>", name),
                "matrix_operations.cuh", 32, warps},
               kFlopsOfAWarp / kWarp);
    }
  }
}

void add_warpgroup_products(OperationList& list, const ProgramTarget& target) {
  constexpr int kWarpgroup = 128, kOperationsAt64 = 32;
  for (const bool from_registers : {false, true}) {
    for (const int n : {64, 128, 256}) {
      for (const int warps : {4, 8}) {
        const char* const a = from_registers ? "registers" : "shared";
        OperationBenchmark& added = list.add(
            fmt::format("wgmma_n{}_a_{}_{}_warps_flops_per_cycle_per_sm", n, a, warps), kFlops,
            fmt::format("wgmma.m64n{}k16 of bf16 with fp32 accumulators, A from {}, {} warps on "
                        "each SM",
                        n, from_registers ? "registers" : "shared memory", warps),
            {fmt::format("WarpgroupProducts<{}, {}>", n, from_registers),
             "warpgroup_operations.cuh", kOperationsAt64 * 64 / n, warps},
            2.0 * 64 * n * 16 / kWarpgroup);
        if (target.compute_capability != kHopperComputeCapability) {
          added.unavailable = "needs compute capability 9.0";
        }
      }
    }
  }
}

}  // namespace

Index shared_bytes_of_whole_sm(const ProgramTarget& target) {
  // An SM has at most 1 KiB more shared memory than its largest block
  constexpr Index kMargin = 2048;
  return target.shared_bytes_per_block / 2 + kMargin;
}

std::vector<OperationBenchmark> operation_benchmarks(const ProgramTarget& target) {
  OperationList list(target);
  add_matrix_products(list);
  add_warpgroup_products(list, target);
  add_arithmetic(list);
  add_shared_memory(list);
  return std::move(list.list);
}

OperationBenchmark operation_benchmark(std::string_view name, const ProgramTarget& target) {
  const auto all = operation_benchmarks(target);
  const auto found = std::ranges::find(all, name, &OperationBenchmark::name);
  ATTNSCOPE_CHECK(found != all.end(), ==, true);
  return *found;
}

}  // namespace attnscope::kernels
