/// attnscope-cli flops: matrix products and all other operations of each algorithm.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "app/report/run_words.h"
#include "app/report/table.h"
#include "reference/json/run_json.h"
#include "sim/resolve.h"
#include "sim/studies/operations.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

constexpr const char* kAlgorithms[] = {"standard", "flash1", "flash2"};

RunSpec default_run() {
  return {.problem = {.N = 4096, .N_kv = 4096, .d = 64, .dtype = DType::fp16},
          .Br = 128,
          .Bc = 128,
          .allow_overflow = true};
}

std::string flops_or_nothing(Index flops) {
  return flops == 0 ? "" : flops_text(flops);
}

std::string flops_table(const std::vector<OperationCount>& counts, const GpuDescription& gpu) {
  Lines lines = {{"operations"}};
  const auto row = [&](std::string name, auto cell) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(std::move(name));
    for (const OperationCount& count : counts) line.push_back(cell(count));
  };
  for (const OperationCount& count : counts) lines[0].push_back(count.report.run.algorithm());
  row("matrix products, of 2 N N_kv d",
      [](const OperationCount& count) { return fmt::format("{:.4g}", count.products()); });
  row("matrix products",
      [](const OperationCount& count) { return flops_or_nothing(count.report.matmul_flops); });
  row("all others",
      [](const OperationCount& count) { return flops_or_nothing(count.report.non_matmul_flops); });
  for (int work = 0; work < kWorkCount; ++work) {
    const auto flops = [work](const OperationCount& count) {
      return count.other[static_cast<std::size_t>(work)];
    };
    const bool anywhere =
        std::any_of(counts.begin(), counts.end(),
                    [&](const OperationCount& count) { return flops(count) > 0; });
    if (!anywhere) continue;
    row(fmt::format("  {}", to_string(static_cast<Work>(work))),
        [&](const OperationCount& count) { return flops_or_nothing(flops(count)); });
  }
  row("exponentials among the others",
      [](const OperationCount& count) { return flops_or_nothing(count.report.exponentials); });
  const auto add_time_share = [&](std::string name, GpuUnit unit) {
    row(std::move(name), [&gpu, unit](const OperationCount& count) {
      return fmt::format("{:.1f} %", 100 * count.time_share(unit, gpu));
    });
  };
  add_time_share("time on CUDA cores, of products'", GpuUnit::cuda_cores);
  add_time_share("time of exponentials, of products'", GpuUnit::special_function_units);
  return table_text(lines);
}

std::string answer_text(const std::vector<OperationCount>& counts, const GpuDescription& gpu) {
  const ResolvedRun& run = counts.front().report.run;
  return fmt::format(
      "{}, {}, {}x{} tiles\n"
      "modelled; max, subtract, exp, multiply, add, divide and log are 1 each; times at the peak "
      "rates\nof {} (datasheet): {:g} exponentials a clock and SM\n\n{}",
      to_string(run.pass()), problem_words(run.problem), run.tiling.Br, run.tiling.Bc,
      gpu.display_name, gpu.exp_per_clock_per_sm, flops_table(counts, gpu));
}

ordered_json count_json(const OperationCount& count, const GpuDescription& gpu) {
  ordered_json other = ordered_json::object();
  for (int work = 0; work < kWorkCount; ++work) {
    other[std::string(to_string(static_cast<Work>(work)))] =
        count.other[static_cast<std::size_t>(work)];
  }
  return {{"algorithm", count.report.run.algorithm()},
          {"products", count.products()},
          {"matmul", count.report.matmul_flops},
          {"non_matmul", count.report.non_matmul_flops},
          {"exponentials", count.report.exponentials},
          {"other", other},
          {"cuda_core_time_share", count.time_share(GpuUnit::cuda_cores, gpu)},
          {"exponential_time_share", count.time_share(GpuUnit::special_function_units, gpu)}};
}

std::optional<Error> run_flops(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  auto spec = parse_run(given, default_run());
  if (!spec) return spec.error();
  const auto gpu = gpu_of(spec.value());
  if (!gpu) return gpu.error();

  std::vector<OperationCount> counts;
  std::vector<ordered_json> rows;
  for (const char* algorithm : kAlgorithms) {
    show_progress(fmt::format("counting {}", algorithm));
    spec.value().algorithm = algorithm;
    auto count = count_operations(spec.value(), gpu.value());
    clear_progress();
    if (!count) return count.error();
    rows.push_back(count_json(count.value(), gpu.value()));
    counts.push_back(std::move(count).value());
  }
  const ResolvedRun& run = counts.front().report.run;
  const ordered_json document = {{"schema", "attnscope.flops/1"},
                                 {"kind", "modelled"},
                                 {"problem", problem_to_json(run.problem)},
                                 {"pass", to_string(run.pass())},
                                 {"tiling", tiling_to_json(run.tiling)},
                                 {"gpu", gpu.value().name},
                                 {"algorithms", rows}};
  return write_outputs(outputs.value(), document, rows, answer_text(counts, gpu.value()));
}

}  // namespace

CommandSpec flops_command() {
  return {
      .name = "flops",
      .summary = "Matrix products and other operations of each algorithm, by what they are for.",
      .operand = "",
      .options =
          joined({shape_options(default_run()), field_options({"pass"}, default_run()),
                  with_help(field_options({"gpu"}), "gpu", "the GPU whose rates count [h200]"),
                  output_options()}),
      .run = run_flops};
}

}  // namespace attnscope::cli
