/// attnscope-cli flops: matrix products and all other operations of each algorithm.

#include <fmt/core.h>

#include <algorithm>
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

RunSpec default_run() {
  return {.problem = {.N = 4096, .N_kv = 4096, .d = 64, .dtype = DType::fp16},
          .Br = 128,
          .Bc = 128,
          .allow_overflow = true};
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

/// The rows as columns, one for each algorithm.
std::string flops_table(const ordered_json& rows) {
  using Place = ordered_json::json_pointer;
  Lines lines = {{"operations"}};
  for (const ordered_json& row : rows) lines[0].push_back(row.at("algorithm").get<std::string>());
  const auto add = [&](const std::string& name, const Place& place, const auto& text) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(name);
    for (const ordered_json& row : rows) line.push_back(text(row.at(place).get<double>()));
  };
  const auto flops = [](double count) { return count == 0 ? "" : flops_text(count); };
  const auto share = [](double part) { return fmt::format("{:.1f} %", 100 * part); };
  add("matrix products, in units of 2 N N_kv d", Place("/products"),
      [](double products) { return fmt::format("{:.4g}", products); });
  add("matrix products", Place("/matmul"), flops);
  add("all others", Place("/non_matmul"), flops);
  for (const auto& [work, count] : rows.front().at("other").items()) {
    const Place place = Place("/other") / work;
    const bool anywhere = std::ranges::any_of(
        rows, [&](const ordered_json& row) { return row.at(place).get<Index>() > 0; });
    if (anywhere) add("  " + work, place, flops);
  }
  add("exponentials among the others", Place("/exponentials"), flops);
  add("CUDA-core time / product time", Place("/cuda_core_time_share"), share);
  add("exponential time / product time", Place("/exponential_time_share"), share);
  return table_text(lines);
}

Result<Answer> answer_flops(const GivenOptions& given) {
  ATTNSCOPE_TRY(auto spec, parse_run(given, default_run()));
  ATTNSCOPE_TRY(const auto gpu, gpu_of(spec));

  ResolvedRun run;
  ordered_json rows = ordered_json::array();
  for (const char* algorithm : kAlgorithms) {
    show_progress(fmt::format("counting {}", algorithm));
    spec.algorithm = algorithm;
    ATTNSCOPE_TRY(const auto count, count_operations(spec, gpu));
    rows.push_back(count_json(count, gpu));
    if (rows.size() == 1) run = count.report.run;
  }
  const ordered_json document = {{"schema", "attnscope.flops/1"},
                                 {"kind", "modelled"},
                                 {"problem", problem_to_json(run.problem)},
                                 {"pass", to_string(run.pass())},
                                 {"tiling", tiling_to_json(run.tiling)},
                                 {"gpu", gpu.name},
                                 {"algorithms", rows}};
  const std::string text = fmt::format(
      "{}, {}, {}x{} tiles\n"
      "modelled; max, subtract, exp, multiply, add, divide and log are 1 each; times at the peak "
      "rates\nof {} (datasheet): {:g} exponentials per clock and SM\n\n{}",
      to_string(run.pass()), problem_words(run.problem), run.tiling.Br, run.tiling.Bc,
      gpu.display_name, gpu.exp_per_clock_per_sm, flops_table(rows));
  return Answer{json_text(document), csv_text(rows), text};
}

}  // namespace

CommandSpec flops_command() {
  return answering(
      {.name = "flops",
       .summary = "Matrix products and other operations of each algorithm, by purpose.",
       .options = joined({shape_options(default_run()), field_options({"pass"}, default_run()),
                          with_help(field_options({"gpu"}),
                                    {{"gpu", "", "the GPU whose peak rates are used [h200]"}})})},
      answer_flops);
}

}  // namespace attnscope::cli
