/// attnscope-cli compile: compiles a kernel for a GPU, which need not be present.

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/disassembler.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/kernel_dram.h"
#include "app/report/report_text.h"
#include "app/report/residency.h"
#include "kernels/compile/compiler.h"
#include "kernels/compile/nvrtc_library.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

/// A launch's kernel, and the time taken to obtain it.
struct ReadyLaunch {
  const kernels::BlockProgram& block;
  std::string name;
  kernels::ObtainedKernel obtained;
  double obtain_s = 0;
};

/// A launch's row. Without machine code, its registers, spills and residency are left out.
ordered_json launch_json(const ReadyLaunch& launch, const GpuDescription& gpu) {
  const kernels::CompiledKernel& kernel = *launch.obtained.kernel;
  const kernels::KernelResources& used = kernel.resources;
  ordered_json row = {{"launch", launch.name},
                      {"expression", launch.block.program.expression},
                      {"instructions", launch.block.instructions},
                      {"threads", launch.block.threads},
                      {"shared_bytes", launch.block.shared_bytes + used.static_shared_bytes}};
  if (!kernel.cubin.empty()) {
    const Index blocks = resident_blocks(launch.block, used, gpu);
    constexpr Index kWarp = 32;
    row.update({{"registers", used.registers},
                {"stack_bytes", used.stack_bytes},
                {"spill_store_bytes", used.spill_stores},
                {"spill_load_bytes", used.spill_loads},
                {"resident_blocks", blocks},
                {"resident_warps", blocks * launch.block.threads / kWarp}});
  }
  row.update({{"origin", launch.obtained.compiled_now ? "compiled now" : "read from the cache"},
              {"compile_s", kernel.compile_s},
              {"obtain_s", launch.obtain_s}});
  return row;
}

std::string launch_text(const ordered_json& launch) {
  const auto number = [&](const char* key) {
    return fmt::format("{}", launch[key].get<std::int64_t>());
  };
  Lines lines = {{"launch", launch["launch"]}};
  if (launch["instructions"] != "") {
    lines.push_back({"matrix products", launch["instructions"]});
  }
  lines.insert(lines.end(), {{"threads per block", number("threads")},
                             {"shared memory per block", number("shared_bytes") + " bytes"}});
  if (launch.contains("registers")) {
    const auto blocks = launch["resident_blocks"].get<std::int64_t>();
    lines.push_back({"registers per thread", number("registers")});
    lines.push_back(
        {"spilled", fmt::format("{} bytes stored, {} loaded", number("spill_store_bytes"),
                                number("spill_load_bytes"))});
    lines.push_back({"resident on an SM",
                     blocks > 0 ? fmt::format("{} block{}, {} warps", blocks,
                                              blocks == 1 ? "" : "s", number("resident_warps"))
                                : std::string("none: a block does not fit")});
  } else {
    lines.push_back({"registers per thread", "unavailable: only PTX is generated for this GPU"});
  }
  lines.push_back(
      {"compiled in", fmt::format("{:.2f} s ({} in {})", launch["compile_s"].get<double>(),
                                  launch["origin"].get<std::string>(),
                                  seconds_text(launch["obtain_s"].get<double>()))});
  return table_text(lines);
}

/// The code that each option writes: PTX and SASS of all launches, and the cubin of one launch.
struct WrittenCode {
  std::string ptx, cubin, sass;
};

/// Adds the code of a kernel, with its SASS if there is a disassembler.
std::optional<Error> add_code(const kernels::CompiledKernel& kernel,
                              const std::optional<Disassembler>& disassembler, WrittenCode& code) {
  code.ptx += kernel.ptx;
  if (!disassembler) return std::nullopt;
  const auto sass = disassemble(*disassembler, kernel.cubin);
  if (!sass) return sass.error();
  code.sass += sass.value();
  return std::nullopt;
}

/// The disassembler for --sass; nothing without this option.
Result<std::optional<Disassembler>> disassembler_for(const GivenOptions& given) {
  if (!given.has("sass")) return std::optional<Disassembler>();
  auto found = find_disassembler();
  if (!found) return found.error();
  return std::optional(std::move(found).value());
}

/// The architecture to compile for; an error if an option writes machine code and NVRTC can make
/// only PTX.
Result<std::string> architecture_for(const GivenOptions& given, const GpuDescription& gpu) {
  ATTNSCOPE_TRY(const auto nvrtc, kernels::nvrtc());
  auto architecture = kernels::target_architecture(gpu.compute_capability, nvrtc);
  if (!architecture || !kernels::is_ptx(architecture.value())) return architecture;
  for (const std::string_view option : {"cubin", "sass"}) {
    if (!given.has(option)) continue;
    return unavailable(
        "--{} needs machine code, and this NVRTC makes only PTX for compute capability {}; leave "
        "it out, or install a newer CUDA toolkit",
        option, gpu.compute_capability);
  }
  return architecture;
}

/// Nothing if the GPU has the shared memory that a thread block of the launch needs.
std::optional<Error> check_shared_memory(const kernels::LaunchProgram& launch,
                                         const ResolvedRun& run, const GpuDescription& gpu,
                                         const kernels::ProgramTarget& target) {
  const Index needed = launch.block.shared_bytes, most = target.shared_bytes_per_block;
  if (needed <= most) return std::nullopt;
  return invalid_field(
      ErrorCode::does_not_fit, "Br",
      "with tiles of {}x{}, a thread block needs {} bytes of shared memory; on {} it has at most "
      "{}; choose smaller tiles{}",
      run.tiling.Br, run.tiling.Bc, needed, gpu.display_name, most,
      run.asked.switches.empty() ? "" : " or other switches");
}

Result<Answer> answer_compile(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto ptx_file, parse_output(given, "ptx"));
  ATTNSCOPE_TRY(const auto cubin_file, parse_output(given, "cubin"));
  ATTNSCOPE_TRY(const auto sass_file, parse_output(given, "sass"));
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, kernels::kernel_names()));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));
  if (auto error = kernels::check_compute_capability(gpu.display_name, gpu.compute_capability)) {
    return *error;
  }
  const kernels::ProgramTarget target = program_target(gpu);
  ATTNSCOPE_TRY(const auto run, kernels::resolve(spec, target));
  ATTNSCOPE_TRY(const auto disassembler, disassembler_for(given));
  ATTNSCOPE_TRY(const auto architecture, architecture_for(given, gpu));

  kernels::KernelCompiler compiler;
  ordered_json document = {{"schema", "attnscope.compilation/1"},
                           {"run", run_identity(run)},
                           {"gpu", gpu.name},
                           {"architecture", architecture}};
  ordered_json rows = ordered_json::array();
  WrittenCode code;
  Answer answer;
  answer.text = fmt::format("{}\nfor {}, {}\n", run_title(run), gpu.display_name, architecture);
  std::vector<kernels::LaunchProgram> launches = kernels::programs_of(run, target);
  const kernels::LaunchProgram* main_launch = kernels::launch_with_products(launches);
  if (main_launch == nullptr) main_launch = &launches.front();
  for (const kernels::LaunchProgram& launch : launches) {
    if (auto error = check_shared_memory(launch, run, gpu, target)) return *error;
  }
  for (kernels::LaunchProgram& launch : launches) {
    show_progress(fmt::format("compiling {} for {}", launch.launch, architecture));
    launch.block.program.architecture = architecture;
    const auto begin = std::chrono::steady_clock::now();
    ATTNSCOPE_TRY(const auto obtained, compiler.obtain(launch.block.program));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    rows.push_back(launch_json({launch.block, launch.launch, obtained, took.count()}, gpu));
    answer.text += "\n" + launch_text(rows.back());
    if (auto error = add_code(*obtained.kernel, disassembler, code)) return *error;
    if (&launch == main_launch) code.cubin = obtained.kernel->cubin;
  }
  document["launches"] = rows;
  answer.json = json_text(document);
  answer.csv = csv_text(rows);
  answer.others = {text_document(ptx_file, code.ptx), text_document(cubin_file, code.cubin),
                   text_document(sass_file, code.sass)};
  answer.others[1].is_text = false;
  return answer;
}

}  // namespace

CommandSpec compile_command() {
  return answering(
      {.name = "compile",
       .summary = "Compiles a kernel for a GPU, and prints which SM resources it uses.",
       .options = joined(
           {run_options(FieldTarget::kernel,
                        {"deterministic", "inputs", "seed", "q", "k", "v", "do"}),
            field_options({"gpu"}),
            {{"ptx", "FILE", "write the PTX code; - is standard output", false, writes_file()},
             {"cubin", "FILE",
              "write the machine code of the launch with the matrix products, for nvdisasm", false,
              writes_file()},
             {"sass", "FILE", "write the machine code as text; needs nvdisasm or cuobjdump", false,
              writes_file()}}})},
      answer_compile);
}

}  // namespace attnscope::cli
