/// attnscope-cli flops: the FLOPs of each algorithm, in matrix products and in everything else.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/report/report_text.h"
#include "reference/json/run_json.h"
#include "sim/resolve.h"
#include "sim/studies/operations.h"

namespace attnscope::cli {

namespace {

constexpr const char* kAlgorithms[] = {"standard", "flash1", "flash2"};

RunSpec default_flops_run() {
  return {.problem = {.N = 4096, .N_kv = 4096, .d = 64, .dtype = DType::fp16},
          .Br = 128,
          .Bc = 128,
          .allow_overflow = true};
}

/// A table with a row for each algorithm; the text output shows each row as a column.
Table operations_table(const std::vector<OperationCount>& counts, const GpuDescription& gpu) {
  Table table{.key = "algorithms",
              .columns = {{"algorithm", "operations"},
                          {"products", "matrix products, in units of 2 N N_kv d", Unit::count},
                          {"matmul", "matrix products", Unit::flops},
                          {"non_matmul", "other operations", Unit::flops},
                          {"exponentials", "", Unit::flops}},
              .columns_as_lines = true};
  for (int work = 0; work < kWorkCount; ++work) {
    const std::string name(to_string(static_cast<Work>(work)));
    table.columns.push_back({"other." + name, "  " + name, Unit::flops});
  }
  table.columns.push_back({"", "exponentials (included above)", Unit::flops});
  table.columns.push_back({"cuda_core_time_share", "CUDA-core time / product time", Unit::share});
  table.columns.push_back(
      {"exponential_time_share", "exponential time / product time", Unit::share});

  const auto flops = [](Index count) { return count == 0 ? Cell(count, "") : Cell(count); };
  for (const OperationCount& count : counts) {
    std::vector<Cell>& row = table.rows.emplace_back();
    row = {count.report.run.algorithm(), count.products(), flops(count.report.matmul_flops),
           flops(count.report.non_matmul_flops), count.report.exponentials};
    for (const Index other : count.other) row.push_back(flops(other));
    row.push_back(flops(count.report.exponentials));
    row.push_back(count.time_share(GpuUnit::cuda_cores, gpu));
    row.push_back(count.time_share(GpuUnit::special_function_units, gpu));
  }
  return table;
}

Result<Study> count_flops(const GivenOptions& given) {
  ATTNSCOPE_TRY(auto spec, parse_run(given, default_flops_run()));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));

  std::vector<OperationCount> counts;
  for (const char* algorithm : kAlgorithms) {
    show_progress(fmt::format("counting {}", algorithm));
    spec.algorithm = algorithm;
    ATTNSCOPE_TRY(auto count, count_operations(spec, gpu));
    counts.push_back(std::move(count));
  }
  const ResolvedRun& run = counts.front().report.run;
  return Study{
      .title = fmt::format(
          "{}, {}, {}x{} tiles\n"
          "modelled; max, subtract, exp, multiply, add, divide and log count as 1 each; times at "
          "the peak rates\nof {} (datasheet): {:g} exponentials per clock and SM",
          to_string(run.pass()), problem_words(run.problem), run.tiling.Br, run.tiling.Bc,
          gpu.display_name, gpu.exp_per_clock_per_sm),
      .facts = {{"schema", "attnscope.flops/1"},
                {"kind", "modelled"},
                {"problem", problem_to_json(run.problem)},
                {"pass", to_string(run.pass())},
                {"tiling", tiling_to_json(run.tiling)},
                {"gpu", gpu.name}},
      .tables = {operations_table(counts, gpu)}};
}

}  // namespace

CommandSpec flops_command() {
  return answering(
      {.name = "flops",
       .summary = "Counts matrix products and other operations of each algorithm, by purpose.",
       .options =
           joined({shape_options(default_flops_run()), field_options({"pass"}, default_flops_run()),
                   with_help(field_options({"gpu"}),
                             {{"gpu", "", "the GPU whose peak rates are used [h200]"}})})},
      count_flops);
}

}  // namespace attnscope::cli
