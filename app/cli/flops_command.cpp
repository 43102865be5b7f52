#include "app/cli/flops_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/outputs.h"
#include "app/cli/problem_options.h"
#include "app/cli/table.h"
#include "app/report/number_text.h"
#include "reference/json/problem_json.h"
#include "sim/studies/operations.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

constexpr const char* kAlgorithms[] = {"standard", "flash1", "flash2"};

AttentionProblem default_problem() {
  return {.N = 4096, .N_kv = 4096, .d = 64, .dtype = DType::fp16};
}

std::string flops_cell(Index flops) {
  return flops == 0 ? "" : flops_text(static_cast<double>(flops));
}

using Lines = std::vector<std::vector<std::string>>;

std::string flops_table(const std::vector<OperationCount>& counts, const GpuDescription& gpu) {
  Lines lines = {{"operations"}};
  const auto row = [&](std::string name, auto cell) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(std::move(name));
    for (const OperationCount& count : counts) line.push_back(cell(count));
  };
  for (const OperationCount& count : counts) lines[0].push_back(count.report.algorithm);
  row("matrix products, of 2 N N_kv d",
      [](const OperationCount& count) { return fmt::format("{:.4g}", count.products()); });
  row("matrix products",
      [](const OperationCount& count) { return flops_cell(count.report.matmul_flops); });
  row("all others",
      [](const OperationCount& count) { return flops_cell(count.report.non_matmul_flops); });
  for (int work = 0; work < kWorkCount; ++work) {
    const auto flops = [work](const OperationCount& count) {
      return count.other[static_cast<std::size_t>(work)];
    };
    const bool anywhere =
        std::any_of(counts.begin(), counts.end(),
                    [&](const OperationCount& count) { return flops(count) > 0; });
    if (!anywhere) continue;
    row(fmt::format("  {}", to_string(static_cast<Work>(work))),
        [&](const OperationCount& count) { return flops_cell(flops(count)); });
  }
  row("exponentials among the others",
      [](const OperationCount& count) { return flops_cell(count.report.exponentials); });
  const auto add_time_share = [&](std::string name, GpuUnit unit) {
    row(std::move(name), [&gpu, unit](const OperationCount& count) {
      return fmt::format("{:.1f} %", 100 * count.time_share(unit, gpu));
    });
  };
  add_time_share("time on CUDA cores, of products'", GpuUnit::cuda_cores);
  add_time_share("time of exponentials, of products'", GpuUnit::special_function_units);
  return table_text(lines);
}

std::string flops_text_of(const std::vector<OperationCount>& counts, const GpuDescription& gpu) {
  const SimulationReport& first = counts.front().report;
  const AttentionProblem& problem = first.problem;
  const std::string extras = extras_text(problem);
  return fmt::format(
      "{}, B {}, H {}, N {}, N_kv {}, d {}, {}, mask {}{}{}, {}x{} tiles\n"
      "modelled; max, subtract, exp, multiply, add, divide and log are 1 each; times at the peak "
      "rates\nof {} (datasheet): {:g} exponentials a clock and SM\n\n{}",
      to_string(first.pass), problem.batch, problem.heads, problem.N, problem.N_kv, problem.d,
      to_string(problem.dtype), to_string(problem.mask), extras.empty() ? "" : ", ", extras,
      first.tiling.Br, first.tiling.Bc, gpu.display_name, gpu.exp_per_clock_per_sm,
      flops_table(counts, gpu));
}

ordered_json count_json(const OperationCount& count, const GpuDescription& gpu) {
  ordered_json other = ordered_json::object();
  for (int work = 0; work < kWorkCount; ++work) {
    other[std::string(to_string(static_cast<Work>(work)))] =
        count.other[static_cast<std::size_t>(work)];
  }
  return {{"algorithm", count.report.algorithm},
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
  const auto request = parse_shape(given, default_problem());
  if (!request) return request.error();
  const auto gpu = parse_gpu(given);
  if (!gpu) return gpu.error();

  constexpr Tiling kUsual{128, 128};
  const Tiling tiling{request.value().Br.value_or(kUsual.Br),
                      request.value().Bc.value_or(kUsual.Bc)};
  std::vector<OperationCount> counts;
  for (const char* algorithm : kAlgorithms) {
    show_progress(fmt::format("counting {}", algorithm));
    const auto count = count_operations({.problem = request.value().problem,
                                         .algorithm = algorithm,
                                         .pass = request.value().pass,
                                         .tiling = tiling,
                                         .gpu = gpu.value(),
                                         .allow_overflow = true});
    clear_progress();
    if (!count) return count.error();
    counts.push_back(count.value());
  }

  std::vector<ordered_json> rows;
  rows.reserve(counts.size());
  for (const OperationCount& count : counts) rows.push_back(count_json(count, gpu.value()));
  const ordered_json document = {{"schema", "attnscope.flops/1"},
                                 {"kind", "modelled"},
                                 {"problem", problem_to_json(request.value().problem)},
                                 {"pass", to_string(request.value().pass)},
                                 {"tiling", tiling_to_json(tiling)},
                                 {"gpu", gpu.value().name},
                                 {"algorithms", rows}};
  if (auto error = write_outputs(outputs.value(), document, rows)) return error;
  if (outputs.value().owns_standard_output()) return std::nullopt;
  return write_text("-", flops_text_of(counts, gpu.value()));
}

}  // namespace

CommandSpec flops_command() {
  return {
      .name = "flops",
      .summary = "Matrix products and other operations of each algorithm, by what they are for.",
      .operand = "",
      .options = joined({shape_options(default_problem()),
                         {{"pass", "PASS", "forward, backward or both [forward]"},
                          {"gpu", "NAME|FILE", "the GPU whose rates count [h200]"}},
                         output_options()}),
      .run = run_flops};
}

}  // namespace attnscope::cli
