#include "app/cli/simulation_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/table.h"
#include "app/report/launch_words.h"
#include "app/report/number_text.h"
#include "reference/block_mask.h"
#include "reference/capacity_text.h"
#include "reference/json/problem_json.h"
#include "reference/one_line.h"
#include "sim/accuracy.h"

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
  requested["by_launch"] = ordered_json::array();
  for (const LaunchReport& launch : report.launches) {
    requested["by_launch"].push_back({{"name", launch.name}});
    requested["by_launch"].back().update(bytes_json(launch.requested));
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

/// What the user gave in place of the GPU's own.
ordered_json capacities_json(const GivenCapacities& given) {
  ordered_json json = ordered_json::object();
  if (given.sram_bytes) json["sram_bytes"] = *given.sram_bytes;
  if (given.l2_bytes) json["l2_bytes"] = *given.l2_bytes;
  return json;
}

/// Where Q, K, V and, for gradients, dO come from: drawn, read from files, or some of each.
ordered_json inputs_json(const SimulatedNumbers& numbers) {
  const InputPaths& paths = numbers.input_files;
  ordered_json files = ordered_json::object();
  bool any_drawn = false;
  const auto add = [&](const char* option, const std::string& path) {
    if (path.empty()) {
      any_drawn = true;
    } else {
      files[option] = path;
    }
  };
  add("q", paths.Q);
  add("k", paths.K);
  add("v", paths.V);
  if (numbers.result.gradients) add("do", paths.dO);

  ordered_json json = {{"kind", any_drawn ? to_string(numbers.inputs.kind) : "files"}};
  if (any_drawn) json["seed"] = numbers.inputs.seed;
  if (!files.empty()) json["files"] = files;
  return json;
}

struct TensorError {
  const char* tensor;
  const ErrorReport* error;
  bool is_output;  ///< of the pass; the others are what it started from, or LSE
};

/// Every tensor whose error is known, in the order of the table.
std::vector<TensorError> tensor_errors(const NumericResult& numbers, PassKind pass) {
  std::vector<TensorError> errors = {{"O", &numbers.O_error, pass != PassKind::backward},
                                     {"LSE", &numbers.LSE_error, false}};
  if (numbers.gradients) {
    errors.insert(errors.end(), {{"dQ", &numbers.dQ_error, true},
                                 {"dK", &numbers.dK_error, true},
                                 {"dV", &numbers.dV_error, true}});
  }
  return errors;
}

ordered_json error_json(const ErrorReport& error) {
  return {{"max_abs_error", error.max_abs_error}, {"rel_fro_error", error.rel_fro_error}};
}

ordered_json accuracy_json(const SimulatedNumbers& numbers, PassKind pass) {
  ErrorReport largest;
  ordered_json outputs = ordered_json::array();
  ordered_json by_tensor = ordered_json::object();
  for (const auto& [tensor, error, is_output] : tensor_errors(numbers.result, pass)) {
    by_tensor[tensor] = error_json(*error);
    if (!is_output) continue;
    outputs.push_back(tensor);
    largest.max_abs_error = std::max(largest.max_abs_error, error->max_abs_error);
    largest.rel_fro_error = std::max(largest.rel_fro_error, error->rel_fro_error);
  }
  ordered_json json = error_json(largest);
  json["tensors"] = outputs;
  json["by_tensor"] = by_tensor;
  json["rounded_to_storage"] = numbers.rounded_to_storage;
  return json;
}

ordered_json memory_json(const SimulationReport& report) {
  ordered_json json = {{"sram_bytes_per_block", report.sram_bytes_per_block},
                       {"register_bytes_per_block", report.register_bytes_per_block},
                       {"fits", report.fits}};
  if (!report.fits) json["reason"] = report.overflow_reason;
  json["peak_hbm_bytes"] = report.peak_hbm_bytes;
  if (const auto& padded = report.padded) {
    json["padded"] = {{"head_dim", padded->d},
                      {"sram_bytes_per_block", padded->sram_bytes_per_block},
                      {"register_bytes_per_block", padded->register_bytes_per_block},
                      {"fits", padded->fits}};
  }
  return json;
}

}  // namespace

bool has_nan(const NumericResult& numbers, PassKind pass) {
  return std::ranges::any_of(tensor_errors(numbers, pass), [](const TensorError& each) {
    return each.is_output && each.error->has_nan;
  });
}

ordered_json time_bound_json(const SimulationReport& report) {
  return {{"bound_s", report.bound_s},
          {"bound_kind", "modelled"},
          {"bound_basis", "lower bound at the datasheet's peak rates"},
          {"bound_by", to_string(report.bound_by)}};
}

ordered_json simulation_json(const SimulationAnswer& answer) {
  const SimulationReport& report = answer.report;
  ordered_json document = {{"schema", "attnscope.simulation/1"}, {"kind", "modelled"}};
  document["problem"] = problem_to_json(report.problem);
  document["algorithm"] = report.algorithm;
  document["pass"] = to_string(report.pass);
  document["tiling"] = tiling_to_json(report.tiling);
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
  if (const ordered_json given = capacities_json(answer.gpu.given); !given.empty()) {
    document["capacities"] = given;
  }
  if (answer.numbers) document["inputs"] = inputs_json(*answer.numbers);
  document["traffic"] = traffic_json(report);
  document["flops"] = {{"matmul", report.matmul_flops},
                       {"non_matmul", report.non_matmul_flops},
                       {"exponentials", report.exponentials}};
  document["memory"] = memory_json(report);
  if (answer.warps) document["warps"] = warps_json(*answer.warps);
  document["time"] = time_bound_json(report);
  if (answer.numbers) document["accuracy"] = accuracy_json(*answer.numbers, report.pass);
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
      lines.push_back(
          bytes_line(fmt::format("  launch {}", launch_words(launch.name)), launch.requested));
    }
  }
  lines.push_back(bytes_line("dram, compulsory", report.dram));
  return table_text(lines);
}

/// What flash1's error contains that the paper's algorithm does not; empty for exact numbers.
std::string_view note_of_numbers(const SimulationAnswer& answer) {
  if (!answer.numbers || !answer.numbers->rounded_to_storage) return "";
  const SimulationReport& report = answer.report;
  return rounded_output_note(report.algorithm, report.carry, report.problem.dtype);
}

/// ", SRAM 200 KiB as given, L2 1 MiB as given".
std::string capacities_text(const GivenCapacities& given) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::optional<Index>& bytes) {
    if (!bytes) return;
    text += fmt::format(", {} {} as given", name, capacity_text(*bytes));
  };
  add("SRAM", given.sram_bytes);
  add("L2", given.l2_bytes);
  return text;
}

/// Why the memory of a block has room for P although warps exchange none of it
/// (sim/observers/warp_shares.h).
std::string_view place_of_P(const SimulationAnswer& answer) {
  const bool by_rows = answer.warps->layout.partition == WarpPartition::split_q;
  if (by_rows && answer.report.pass == PassKind::backward) return "";
  return by_rows && answer.report.pass == PassKind::both
             ? "P has a place in the block's shared memory, as every operand of a product; in the "
               "forward pass warps keep it in registers"
             : "P has a place in the block's shared memory, as every operand of a product; warps "
               "keep "
               "it in registers";
}

}  // namespace

std::string simulation_text(const SimulationAnswer& answer) {
  const SimulationReport& report = answer.report;
  const AttentionProblem& problem = report.problem;
  const std::string extras = extras_text(problem);
  const std::string variant = to_string(report.variant);
  std::string text = fmt::format(
      "{} {}{}, B {}, H {} ({} KV), N {}, N_kv {}, d {}, {}, mask {}{}, {}x{} tiles\n"
      "modelled on {}{}\n\n",
      report.algorithm, to_string(report.pass), variant.empty() ? "" : " (" + variant + ")",
      problem.batch, problem.heads, problem.kv_heads, problem.N, problem.N_kv, problem.d,
      to_string(problem.dtype), to_string(problem.mask), extras.empty() ? "" : ", " + extras,
      report.tiling.Br, report.tiling.Bc, answer.gpu.display_name,
      capacities_text(answer.gpu.given));
  if (problem.block_mask) {
    const BlockMask& M = *problem.block_mask;
    text.insert(text.find('\n') + 1,
                fmt::format("block mask {}: {} of {} x {} tiles, density {:.3g}{}\n",
                            one_line(M.text()), M.nonzeros(), M.Tr(), M.Tc(), M.density(),
                            report.skip_unused_kv ? ", unused K and V are not loaded" : ""));
  }
  text += traffic_text(report) + "\n";

  std::vector<std::vector<std::string>> lines = {{"quantity", "modelled"}};
  const auto bytes = [](Index count) { return bytes_text(static_cast<double>(count)); };
  lines.push_back({"matrix products", flops_text(static_cast<double>(report.matmul_flops))});
  lines.push_back({"other operations", flops_text(static_cast<double>(report.non_matmul_flops))});
  lines.push_back(
      {"  of these, exponentials", flops_text(static_cast<double>(report.exponentials))});
  lines.push_back({"shared memory of a block", capacity_text(report.sram_bytes_per_block)});
  lines.push_back({"registers of a block", capacity_text(report.register_bytes_per_block)});
  if (const auto& padded = report.padded) {
    lines.push_back({fmt::format("the same, d padded to {}", padded->d),
                     fmt::format("{} + {}{}", capacity_text(padded->sram_bytes_per_block),
                                 capacity_text(padded->register_bytes_per_block),
                                 padded->fits ? "" : ", does NOT fit")});
  }
  lines.push_back({"fits on the chip", report.fits ? "yes" : "NO: " + report.overflow_reason});
  if (const auto& warps = answer.warps) {
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
  lines.push_back({"peak memory", bytes(report.peak_hbm_bytes)});
  lines.push_back({"time, lower bound", seconds_text(report.bound_s)});
  lines.push_back({"bound by", std::string(to_string(report.bound_by))});
  if (answer.numbers) {
    for (const TensorError& each : tensor_errors(answer.numbers->result, report.pass)) {
      const auto line = [&](std::string_view what, double value) {
        lines.push_back({fmt::format("{} of {}", what, each.tensor), fmt::format("{:.3g}", value)});
      };
      line("max abs error", each.error->max_abs_error);
      line("relative error", each.error->rel_fro_error);
    }
  }
  text += table_text(lines, 2);
  const std::string_view where_P_is = answer.warps ? place_of_P(answer) : "";
  if (!where_P_is.empty()) text += fmt::format("\n{}\n", where_P_is);
  const auto note = note_of_numbers(answer);
  if (!note.empty()) text += fmt::format("\n{}\n", note);
  return text;
}

}  // namespace attnscope::cli
