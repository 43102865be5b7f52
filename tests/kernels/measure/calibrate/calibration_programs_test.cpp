/// The microbenchmarks of a calibration, as machine code: each loop contains the instructions that
/// it must measure.
#include "kernels/measure/calibrate/calibration_programs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "kernels/measure/calibrate/operation_benchmarks.h"
#include "kernels/measure/calibrate/tile_steps.h"
#include "tests/kernels/compile/compiled_block.h"
#include "tests/kernels/compile/machine_code.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

ProgramTarget target_of(const char* compute_capability, Index shared_kib = 227) {
  return {.compute_capability = compute_capability, .shared_bytes_per_block = shared_kib * 1024};
}

std::map<unsigned, int> loop_of(const BlockProgram& block) {
  const CompiledKernel kernel = compiled(block);
  const std::string_view code = code_of(kernel.cubin, kernel.entry);
  EXPECT_FALSE(code.empty()) << block.program.expression;
  return longest_loop(code);
}

/// The number of times the instruction occurs in one iteration of the named operation.
int in_iteration(const char* name, unsigned instruction) {
  return loop_of(operation_benchmark(name, target_of("9.0")).block)[instruction];
}

bool is_step(const KernelProgram& program) {
  return program.expression.find("steps::flash") != std::string::npos;
}

TEST(CalibrationPrograms, AreCompiledForEveryGpuWithoutSpills) {
  for (const auto& [compute_capability, architecture] :
       {std::pair{"9.0", "sm_90a"}, {"8.0", "sm_80"}, {"8.9", "sm_89"}, {"10.0", "sm_100a"}}) {
    auto programs = calibration_programs(target_of(compute_capability));
    std::erase_if(programs, is_step);  // there are many; other tests check them
    EXPECT_GT(programs.size(), 30u);
    for (KernelProgram& program : programs) program.architecture = architecture;
    const auto error = shared_compiler().obtain_all(programs, {});
    ASSERT_FALSE(error) << error->message;
    for (const KernelProgram& program : programs) {
      const auto obtained = shared_compiler().obtain(program);
      ASSERT_TRUE(obtained.ok()) << obtained.error().message;
      const KernelResources& used = obtained.value().kernel->resources;
      EXPECT_EQ(used.spill_stores, 0) << program.expression << " " << architecture;
      EXPECT_EQ(used.stack_bytes, 0) << program.expression << " " << architecture;
    }
  }
}

/// How often instructions occur in the longest loop: products, exponentials, sums, reductions to
/// global memory.
std::vector<int> arithmetic_of(const BlockProgram& block) {
  auto loop = loop_of(block);
  std::vector<int> counts;
  for (const unsigned code :
       {opcode::kHmma, opcode::kHgmma, opcode::kHgmmaRegisters, opcode::kLdsm, opcode::kRed}) {
    counts.push_back(loop[code]);
  }
  return counts;
}

TEST(TileSteps, DoWhatTheKernelsLoopDoes) {
  const ProgramTarget target = target_of("9.0");
  const auto all = calibrated_steps(target);
  for (const std::string name :
       {"flash2_forward_bf16_d64_128x128", "flash2_forward_bf16_d128_128x64",
        "flash2_backward_bf16_d64_128x128", "flash2_backward_hopper_bf16_d128_64x128",
        "flash2_backward_hopper_bf16_d192_64x64", "flash2_backward_hopper_bf16_d256_64x64",
        "flash1_forward_bf16_d64_128x256", "flash1_backward_bf16_d64_64x128",
        "flash1_backward_hopper_bf16_d128_64x128", "flash2_forward_fp32_d64_64x64",
        "split_kv_forward_bf16_d64_16x64", "split_kv_forward_bf16_d256_16x64"}) {
    const auto steps = std::ranges::find(all, name, &TileSteps::name);
    ASSERT_NE(steps, all.end()) << name;
    const auto programs = programs_of(steps->run, target);
    EXPECT_EQ(arithmetic_of(steps->block), arithmetic_of(launch_with_products(programs)->block))
        << name;
    const CompiledKernel kernel = compiled(steps->block);
    EXPECT_LE(kernel.resources.spill_stores, 16) << name;
  }
}

/// In flash2's forward pass with Hopper's instructions, the kernel's longest loop is over row
/// tiles.
TEST(TileSteps, MultiplyOneColumnTileInHoppersForwardLoop) {
  const auto all = calibrated_steps(target_of("9.0"));
  for (const auto& [name, d, Bc] : {std::tuple{"flash2_forward_hopper_bf16_d64_192x128", 64, 128},
                                    {"flash2_forward_hopper_bf16_d128_128x128", 128, 128},
                                    {"flash2_forward_hopper_bf16_d256_128x80", 256, 80}}) {
    const auto steps = std::ranges::find(all, name, &TileSteps::name);
    ASSERT_NE(steps, all.end()) << name;
    const std::vector<int> arithmetic = arithmetic_of(steps->block);
    // The compiler may have a separate loop for masked tiles
    const int loops = arithmetic[1] / (d / 16);
    EXPECT_TRUE(loops == 1 || loops == 2) << name;
    EXPECT_EQ(arithmetic[1], loops * d / 16) << name;
    EXPECT_EQ(arithmetic[2], loops * Bc / 16) << name;
    EXPECT_EQ(compiled(steps->block).resources.spill_stores, 0) << name;
  }
}

TEST(TileSteps, HaveTheDefaultTilingsAndOneNameEach) {
  const auto all = calibrated_steps(target_of("9.0"));
  std::set<std::string> names;
  for (const TileSteps& steps : all) {
    EXPECT_TRUE(names.insert(steps.name).second) << steps.name;
    EXPECT_EQ(steps_name(steps.run, target_of("9.0")).value(), steps.name);
  }
  for (const char* name :
       {"flash2_forward_bf16_d256_128x64", "flash2_forward_fp32_d128_64x64",
        "flash2_forward_bf16_d128_128x128", "flash2_backward_bf16_d128_64x128",
        "flash2_backward_hopper_fp16_d256_64x64", "flash1_forward_bf16_carry_fp32_d64_128x256",
        "flash2_forward_fp16_d16_16x16", "flash1_forward_fp16_d64_32x32"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  for (const TileSteps& steps : calibrated_steps(target_of("8.0", 163))) {
    EXPECT_EQ(steps.name.find("hopper"), std::string::npos);
    EXPECT_LE(steps.block.shared_bytes, Index{163} * 1024) << steps.name;
  }
}

TEST(OperationBenchmarks, HaveTheirInstructionsInTheLoop) {
  for (const OperationBenchmark& benchmark : operation_benchmarks(target_of("9.0"))) {
    EXPECT_GE(benchmark.operations, 8) << benchmark.name;
    EXPECT_EQ(benchmark.unavailable, "") << benchmark.name;
  }
  EXPECT_EQ(in_iteration("ffma_per_cycle_per_sm", opcode::kFfma), 256);
  EXPECT_EQ(in_iteration("fadd_fmul_per_cycle_per_sm", opcode::kFadd), 128);
  EXPECT_EQ(in_iteration("fadd_fmul_per_cycle_per_sm", opcode::kFmul), 128);
  EXPECT_EQ(in_iteration("fmax_per_cycle_per_sm", opcode::kFmnmx), 256);
  EXPECT_EQ(in_iteration("lop3_per_cycle_per_sm", opcode::kLop3), 128);
  EXPECT_EQ(in_iteration("ex2_per_cycle_per_sm", opcode::kMufu), 64);
  EXPECT_EQ(in_iteration("bf16_pack_per_cycle_per_sm", opcode::kF2fp), 128);
  EXPECT_EQ(in_iteration("shuffle_per_cycle_per_sm", opcode::kShfl), 64);
  EXPECT_EQ(in_iteration("issue_instructions_per_cycle_per_sm", opcode::kFfma), 128);
  EXPECT_EQ(in_iteration("issue_instructions_per_cycle_per_sm", opcode::kLop3), 128);
  EXPECT_EQ(in_iteration("shared_load_bytes_per_cycle_per_sm", opcode::kLds), 32);
  EXPECT_EQ(in_iteration("shared_load_8_way_bytes_per_cycle_per_sm", opcode::kLds), 32);
  EXPECT_EQ(in_iteration("shared_load_word_bytes_per_cycle_per_sm", opcode::kLds), 64);
  EXPECT_EQ(in_iteration("shared_store_bytes_per_cycle_per_sm", opcode::kSts), 32);
  EXPECT_EQ(in_iteration("ldmatrix_bytes_per_cycle_per_sm", opcode::kLdsm), 32);
  EXPECT_EQ(in_iteration("barrier_8_warps_cycles", opcode::kBar), 16);
}

TEST(OperationBenchmarks, HaveTheirMatrixProductsInTheLoop) {
  EXPECT_EQ(in_iteration("mma_bf16_8_warps_flops_per_cycle_per_sm", opcode::kHmma), 32);
  EXPECT_EQ(in_iteration("mma_fp16_8_warps_flops_per_cycle_per_sm", opcode::kHmma), 32);
  for (const int n : {64, 128, 256}) {
    const auto name = [n](const char* a) {
      return fmt::format("wgmma_n{}_a_{}_8_warps_flops_per_cycle_per_sm", n, a);
    };
    EXPECT_EQ(in_iteration(name("shared").c_str(), opcode::kHgmma), 32 * 64 / n);
    EXPECT_EQ(in_iteration(name("registers").c_str(), opcode::kHgmmaRegisters), 32 * 64 / n);
  }
}

TEST(OperationBenchmarks, AddOnlyTheLoopToWhatTheyMeasure) {
  // Where these instructions alone fill the issue slots, additional ones would make them appear
  // slower
  for (const OperationBenchmark& benchmark : operation_benchmarks(target_of("9.0"))) {
    if (!benchmark.block.program.expression.ends_with("256>")) continue;
    int all = 0;
    for (const auto& [instruction, count] : loop_of(benchmark.block)) all += count;
    EXPECT_LE(all, benchmark.operations + 3) << benchmark.name;
  }
}

TEST(CalibrationPrograms, AccessMemoryInTheirLoops) {
  const ProgramTarget hopper = target_of("9.0");
  EXPECT_EQ(loop_of(read_visits(hopper).block)[opcode::kLdg], 4);
  EXPECT_EQ(loop_of(write_visits(hopper).block)[opcode::kStg], 1);
  for (const int floats : {1, 2, 4}) {
    EXPECT_EQ(loop_of(add_visits(floats, hopper).block)[opcode::kRed], 4 / floats) << floats;
  }
  EXPECT_EQ(loop_of(follow_shared_program())[opcode::kLds], 8);
}

TEST(CalibrationPrograms, WriteAPartWithFourStoresPerThread) {
  EXPECT_EQ(std::ranges::count(opcodes_of(compiled(write_parts_program())), opcode::kStg), 4);
}

TEST(OperationBenchmarks, WithoutHoppersInstructionsSaySo) {
  for (const char* compute_capability : {"8.0", "8.9", "10.0"}) {
    const ProgramTarget target = target_of(compute_capability, 99);
    int unavailable = 0;
    for (const OperationBenchmark& benchmark : operation_benchmarks(target)) {
      if (benchmark.unavailable.empty()) continue;
      EXPECT_THAT(benchmark.name, HasSubstr("wgmma"));
      ++unavailable;
    }
    EXPECT_EQ(unavailable, 12) << compute_capability;
  }
  EXPECT_EQ(needs_sm_90(target_of("9.0")), "");
  EXPECT_EQ(needs_sm_90(target_of("10.0")), "");
  EXPECT_NE(needs_sm_90(target_of("8.9")), "");
}

TEST(OperationBenchmarks, OfOneNameAreOneQuantity) {
  std::set<std::string> names;
  for (const OperationBenchmark& benchmark : operation_benchmarks(target_of("9.0"))) {
    EXPECT_TRUE(names.insert(benchmark.name).second) << benchmark.name;
    EXPECT_FALSE(benchmark.how.empty());
  }
}

TEST(OperationBenchmarks, FillAnSmAlone) {
  for (const Index shared_kib : {99, 163, 227}) {
    const ProgramTarget target = target_of("8.6", shared_kib);
    const Index bytes = shared_bytes_of_whole_sm(target);
    constexpr Index kReserved = 1024;
    EXPECT_LE(bytes, target.shared_bytes_per_block);
    EXPECT_GT(2 * (bytes + kReserved), target.shared_bytes_per_block + kReserved);
  }
}

}  // namespace
}  // namespace attnscope::kernels
