#include "app/cli/simulation_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/table.h"
#include "app/report/number_text.h"
#include "reference/block_mask.h"
#include "reference/json/problem_json.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

ordered_json bytes_json(const Bytes& bytes) {
  return {{"read_bytes", bytes.read_bytes}, {"write_bytes", bytes.write_bytes}};
}

ordered_json block_mask_json(const SimulationReport& report) {
  const BlockMask& M = *report.problem.block_mask;
  return {{"pattern", M.text()},    {"Tr", M.Tr()},
          {"Tc", M.Tc()},           {"nonzeros", M.nonzeros()},
          {"density", M.density()}, {"skip_unused_kv", report.skip_unused_kv}};
}

ordered_json warps_json(const WarpReport& warps) {
  const WarpTraffic& traffic = warps.traffic;
  return {{"partition", to_string(warps.layout.partition)},
          {"warps_per_block", warps.layout.warps},
          {"shared_read_bytes", traffic.shared_read_bytes},
          {"shared_write_bytes", traffic.shared_write_bytes},
          {"exchange_read_bytes", traffic.exchange_read_bytes},
          {"exchange_write_bytes", traffic.exchange_write_bytes},
          {"barriers", traffic.barriers}};
}

ordered_json traffic_json(const SimulationReport& report) {
  ordered_json requested = bytes_json(report.requested);
  requested["atomic_bytes"] = report.requested.atomic_bytes;
  requested["by_tensor"] = ordered_json::object();
  for (int t = 0; t < kTensorCount; ++t) {
    const Bytes& bytes = report.by_tensor[static_cast<std::size_t>(t)];
    if (bytes.total() == 0) continue;
    requested["by_tensor"][std::string(to_string(static_cast<Tensor>(t)))] = bytes_json(bytes);
  }
  return {{"paper", bytes_json(report.paper)},
          {"requested", requested},
          {"dram", bytes_json(report.dram)}};
}

/// The choices that differ from the algorithm's own.
ordered_json variant_json(const ScheduleVariant& variant) {
  ordered_json json = ordered_json::object();
  if (variant.fusion != Fusion::rows) json["fusion"] = to_string(variant.fusion);
  if (variant.checkpoint) json["checkpoint"] = true;
  if (variant.skip_first_reads) json["skip_first_reads"] = true;
  if (variant.d_once) json["d_once"] = true;
  return json;
}

}  // namespace

ErrorReport output_error(const NumericResult& numbers, PassKind pass) {
  ErrorReport worst = pass == PassKind::backward ? ErrorReport{} : numbers.O_error;
  const auto include = [&](const ErrorReport& error) {
    worst.max_abs_error = std::max(worst.max_abs_error, error.max_abs_error);
    worst.rel_fro_error = std::max(worst.rel_fro_error, error.rel_fro_error);
    worst.has_nan = worst.has_nan || error.has_nan;
  };
  if (pass != PassKind::forward) {
    include(numbers.dQ_error);
    include(numbers.dK_error);
    include(numbers.dV_error);
  }
  return worst;
}

ordered_json simulation_json(const SimulationReport& report, const NumericResult* numbers,
                             const WarpReport* warps) {
  ordered_json document = {{"schema", "attnscope.simulation/1"}};
  document["problem"] = problem_to_json(report.problem);
  document["algorithm"] = report.algorithm;
  document["pass"] = to_string(report.pass);
  document["tiling"] = {{"Br", report.tiling.Br}, {"Bc", report.tiling.Bc}};
  if (report.carry != Carry::problem) document["carry"] = to_string(report.carry);
  if (report.splits > 1) document["splits"] = report.splits;
  if (report.query_heads_per_tile > 1) {
    document["query_heads_per_tile"] = report.query_heads_per_tile;
  }
  if (report.problem.block_mask) document["block_mask"] = block_mask_json(report);
  if (const ordered_json variant = variant_json(report.variant); !variant.empty()) {
    document["variant"] = variant;
  }
  document["gpu"] = report.gpu;
  document["traffic"] = traffic_json(report);
  document["flops"] = {{"matmul", report.matmul_flops}, {"non_matmul", report.non_matmul_flops}};
  document["memory"] = {{"sram_bytes_per_block", report.sram_bytes_per_block},
                        {"register_bytes_per_block", report.register_bytes_per_block},
                        {"fits", report.fits}};
  if (!report.fits) document["memory"]["reason"] = report.overflow_reason;
  document["memory"]["peak_hbm_bytes"] = report.peak_hbm_bytes;
  if (const auto& padded = report.padded) {
    document["memory"]["padded"] = {{"head_dim", padded->d},
                                    {"sram_bytes_per_block", padded->sram_bytes_per_block},
                                    {"register_bytes_per_block", padded->register_bytes_per_block},
                                    {"fits", padded->fits}};
  }
  if (warps != nullptr) document["warps"] = warps_json(*warps);
  document["time"] = {{"predicted_s", report.predicted_s}, {"bound_by", report.bound_by}};
  if (numbers != nullptr) {
    const ErrorReport error = output_error(*numbers, report.pass);
    document["accuracy"] = {{"max_abs_error", error.max_abs_error},
                            {"rel_fro_error", error.rel_fro_error}};
  }
  return document;
}

namespace {

std::vector<std::string> bytes_line(const std::string& name, const Bytes& bytes) {
  return {name, bytes_text(static_cast<double>(bytes.read_bytes)),
          bytes_text(static_cast<double>(bytes.write_bytes)),
          bytes_text(static_cast<double>(bytes.total()))};
}

std::string traffic_text(const SimulationReport& report) {
  std::vector<std::vector<std::string>> lines = {{"traffic", "read", "written", "total"}};
  lines.push_back(bytes_line("paper", report.paper));
  lines.push_back(bytes_line("requested", report.requested));
  for (int t = 0; t < kTensorCount; ++t) {
    const Bytes& bytes = report.by_tensor[static_cast<std::size_t>(t)];
    if (bytes.total() == 0) continue;
    lines.push_back(bytes_line(fmt::format("  {}", to_string(static_cast<Tensor>(t))), bytes));
  }
  if (report.launches.size() > 1) {
    for (const LaunchReport& launch : report.launches) {
      lines.push_back(bytes_line("  launch " + launch.name, launch.requested));
    }
  }
  lines.push_back(bytes_line("dram, compulsory", report.dram));
  return table_text(lines);
}

}  // namespace

std::string simulation_text(const SimulationReport& report, const GpuDescription& gpu,
                            const NumericResult* numbers, const WarpReport* warps) {
  const AttentionProblem& problem = report.problem;
  const std::string extras = extras_text(problem);
  const std::string variant = to_string(report.variant);
  std::string text = fmt::format(
      "{} {}{}, B {}, H {} ({} KV), N {}, N_kv {}, d {}, {}, mask {}{}, {}x{} tiles\n"
      "modelled on {}\n\n",
      report.algorithm, to_string(report.pass), variant.empty() ? "" : " (" + variant + ")",
      problem.batch, problem.heads, problem.kv_heads, problem.N, problem.N_kv, problem.d,
      to_string(problem.dtype), to_string(problem.mask), extras.empty() ? "" : ", " + extras,
      report.tiling.Br, report.tiling.Bc, gpu.display_name);
  if (problem.block_mask) {
    const BlockMask& M = *problem.block_mask;
    text.insert(text.find('\n') + 1,
                fmt::format("block mask {}: {} of {} x {} tiles, density {:.3g}{}\n", M.text(),
                            M.nonzeros(), M.Tr(), M.Tc(), M.density(),
                            report.skip_unused_kv ? ", unused K and V stay in HBM" : ""));
  }
  text += traffic_text(report) + "\n";

  std::vector<std::vector<std::string>> lines = {{"quantity", "modelled"}};
  const auto bytes = [](Index count) { return bytes_text(static_cast<double>(count)); };
  lines.push_back({"matrix products", flops_text(static_cast<double>(report.matmul_flops))});
  lines.push_back({"other operations", flops_text(static_cast<double>(report.non_matmul_flops))});
  lines.push_back({"shared memory of a block", bytes(report.sram_bytes_per_block)});
  lines.push_back({"registers of a block", bytes(report.register_bytes_per_block)});
  if (const auto& padded = report.padded) {
    lines.push_back({fmt::format("the same, d padded to {}", padded->d),
                     fmt::format("{} + {}{}", bytes(padded->sram_bytes_per_block),
                                 bytes(padded->register_bytes_per_block),
                                 padded->fits ? "" : ", does NOT fit")});
  }
  lines.push_back({"fits on the chip", report.fits ? "yes" : "NO: " + report.overflow_reason});
  if (warps != nullptr) {
    const WarpTraffic& traffic = warps->traffic;
    lines.push_back({"warps of a block", fmt::format("{}, {}", warps->layout.warps,
                                                     to_string(warps->layout.partition))});
    lines.push_back({"shared memory read by warps", bytes(traffic.shared_read_bytes)});
    lines.push_back({"shared memory written", bytes(traffic.shared_write_bytes)});
    lines.push_back({"  of both, exchanged by warps",
                     bytes(traffic.exchange_read_bytes + traffic.exchange_write_bytes)});
    lines.push_back({"barriers of all blocks", fmt::format("{}", traffic.barriers)});
  }
  if (report.splits > 1) lines.push_back({"splits of the keys", fmt::format("{}", report.splits)});
  if (report.query_heads_per_tile > 1) {
    lines.push_back({"query heads in a tile", fmt::format("{}", report.query_heads_per_tile)});
  }
  lines.push_back({"peak HBM memory", bytes(report.peak_hbm_bytes)});
  lines.push_back({"time, roofline floor", seconds_text(report.predicted_s)});
  lines.push_back({"bound by", report.bound_by});
  if (numbers != nullptr) {
    const auto error = [](double value) { return fmt::format("{:.3g}", value); };
    std::vector<std::pair<std::string, const ErrorReport*>> tensors = {
        {"O", &numbers->O_error}, {"LSE", &numbers->LSE_error}};
    if (numbers->gradients) {
      tensors.insert(
          tensors.end(),
          {{"dQ", &numbers->dQ_error}, {"dK", &numbers->dK_error}, {"dV", &numbers->dV_error}});
    }
    for (const auto& [tensor, report_of] : tensors) {
      lines.push_back({"max abs error of " + tensor, error(report_of->max_abs_error)});
      lines.push_back({"relative error of " + tensor, error(report_of->rel_fro_error)});
    }
  }
  return text + table_text(lines, 2);
}

}  // namespace attnscope::cli
