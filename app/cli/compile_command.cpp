/// attnscope-cli compile: what the compiler makes of a kernel for a GPU, which need not be there.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/run_words.h"
#include "app/report/table.h"
#include "kernels/compile/kernel_compiler.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "sim/resolve.h"
#include "sim/trace/timeline.h"

namespace attnscope::cli {

namespace {

using kernels::KernelOrigin;

std::string_view origin_name(KernelOrigin origin) {
  return origin == KernelOrigin::compiler ? "compiled now" : "read from the cache";
}

/// Thread blocks that an SM holds at once; 0 where not even one fits.
Index blocks_on_an_sm(const kernels::BlockProgram& block, const kernels::KernelResources& used,
                      const GpuDescription& gpu) {
  constexpr int kRegisterStep = 8;  // registers are given to warps in steps of 8 a thread
  const Index shared_bytes = block.shared_bytes + used.static_shared_bytes;
  const Index registers = ceil_div(used.registers, kRegisterStep) * kRegisterStep;
  const Index register_bytes = registers * size_bytes(DType::fp32) * block.threads;
  const bool fits =
      shared_bytes <= gpu.shared_bytes_per_block && register_bytes <= gpu.register_bytes_per_sm;
  if (!fits) return 0;
  return resident_blocks({shared_bytes, register_bytes, block.threads},
                         gpu.max_blocks_per_sm * gpu.sm_count, gpu);
}

ordered_json launch_json(const kernels::LaunchProgram& launch,
                         const kernels::ObtainedKernel& obtained, const GpuDescription& gpu) {
  const kernels::CompiledKernel& kernel = *obtained.kernel;
  const kernels::KernelResources& used = kernel.resources;
  const Index blocks = blocks_on_an_sm(launch.block, used, gpu);
  constexpr Index kWarp = 32;
  return {{"launch", launch.launch},
          {"expression", launch.block.program.expression},
          {"threads", launch.block.threads},
          {"shared_bytes", launch.block.shared_bytes + used.static_shared_bytes},
          {"registers", used.registers},
          {"stack_bytes", used.stack_bytes},
          {"spill_store_bytes", used.spill_stores},
          {"spill_load_bytes", used.spill_loads},
          {"resident_blocks", blocks},
          {"resident_warps", blocks * launch.block.threads / kWarp},
          {"origin", origin_name(obtained.origin)},
          {"compile_s", kernel.compile_s}};
}

std::string launch_text(const ordered_json& launch) {
  const auto number = [&](const char* key) {
    return fmt::format("{}", launch[key].get<std::int64_t>());
  };
  const bool fits = launch["resident_blocks"] != 0;
  return table_text(
      {{"launch", launch["launch"]},
       {"threads of a block", number("threads")},
       {"shared memory of a block", number("shared_bytes") + " bytes"},
       {"registers of a thread", number("registers")},
       {"spilled", fmt::format("{} bytes stored, {} loaded", number("spill_store_bytes"),
                               number("spill_load_bytes"))},
       {"resident on an SM", fits ? fmt::format("{} blocks, {} warps", number("resident_blocks"),
                                                number("resident_warps"))
                                  : std::string("none: a block does not fit")},
       {"compiled in", fmt::format("{:.2f} s ({})", launch["compile_s"].get<double>(),
                                   launch["origin"].get<std::string>())}});
}

/// Writes the code of all launches to the option's file, if it was given.
std::optional<Error> write_code(const GivenOptions& given, std::string_view option,
                                const std::string& code) {
  const auto file = given.text(option);
  return file ? write_output(*file, code) : std::nullopt;
}

Result<Answer> answer_compile(const GivenOptions& given) {
  for (const std::string_view option : {"ptx", "cubin"}) {
    if (auto error = check_writable(given, option)) return *error;
  }
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, kernels::kernel_algorithms()));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));
  if (auto error = kernels::check_compute_capability(gpu.display_name, gpu.compute_capability)) {
    return *error;
  }
  ATTNSCOPE_TRY(auto run, kernels::resolve(spec));
  const kernels::ProgramTarget target{gpu.compute_capability, gpu.shared_bytes_per_block};
  run.tiling = kernels::tiling_on_gpu(run, target.shared_bytes_per_block);
  auto programs = kernels::programs_of(run, target);

  kernels::KernelCompiler compiler{kernels::KernelCache(kernels::default_cache_folder())};
  const std::string architecture = kernels::architecture_of(gpu.compute_capability);
  ordered_json document = {{"schema", "attnscope.compilation/1"},
                           {"run", run_identity(run)},
                           {"gpu", gpu.name},
                           {"architecture", architecture}};
  ordered_json rows = ordered_json::array();
  std::string ptx, cubin;
  Answer answer;
  answer.text = fmt::format("{}\nfor {}, {}\n", run_title(run), gpu.display_name, architecture);
  for (kernels::LaunchProgram& launch : programs) {
    show_progress(fmt::format("compiling {} for {}", launch.launch, architecture));
    launch.block.program.architecture = architecture;
    ATTNSCOPE_TRY(const auto obtained, compiler.obtain(launch.block.program));
    rows.push_back(launch_json(launch, obtained, gpu));
    answer.text += "\n" + launch_text(rows.back());
    ptx += obtained.kernel->ptx;
    cubin += obtained.kernel->cubin;
  }
  document["launches"] = rows;
  answer.json = json_text(document);
  answer.csv = csv_text(rows);
  answer.failure = write_code(given, "ptx", ptx);
  if (!answer.failure) answer.failure = write_code(given, "cubin", cubin);
  return answer;
}

}  // namespace

CommandSpec compile_command() {
  return answering(
      {.name = "compile",
       .summary = "Compiles a kernel for a GPU, and prints the registers and memory that it takes.",
       .options = joined(
           {run_options(FieldTarget::kernel,
                        {"deterministic", "inputs", "seed", "q", "k", "v", "do"}),
            field_options({"gpu"}),
            {{"ptx", "FILE", "write the PTX code", false, writes_file()},
             {"cubin", "FILE", "write the machine code, for nvdisasm", false, writes_file()}}})},
      answer_compile);
}

}  // namespace attnscope::cli
