#include "app/documents/simulation_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/documents/time_json.h"
#include "app/report/report_text.h"
#include "kernels/recording/recording.h"
#include "reference/block_mask.h"
#include "reference/field_rules.h"
#include "reference/fnv1a.h"
#include "reference/json/run_json.h"
#include "reference/message_text.h"
#include "reference/run_fields.h"

namespace attnscope {

using nlohmann::ordered_json;

namespace {

ordered_json bytes_json(const Bytes& bytes) {
  return {{"read_bytes", bytes.read_bytes}, {"write_bytes", bytes.write_bytes}};
}

ordered_json block_mask_json(const SimulationReport& report) {
  const BlockMask& M = *report.run.problem.block_mask;
  return {{"pattern", M.text()},    {"Tr", M.Tr()},
          {"Tc", M.Tc()},           {"nonzeros", M.nonzeros()},
          {"density", M.density()}, {"skip_unused_kv", report.run.asked.variant.skip_unused_kv}};
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

ordered_json dram_json(const DramPrediction& prediction) {
  ordered_json json = bytes_json(prediction.total);
  if (!prediction.in_transition()) return json;
  json["transition"] = true;
  json["least"] = bytes_json(prediction.least);
  json["most"] = bytes_json(prediction.most);
  return json;
}

ordered_json traffic_json(const SimulationReport& report) {
  ordered_json requested = bytes_json(report.requested);
  requested["atomic_bytes"] = report.requested.atomic_bytes;
  requested["by_tensor"] = ordered_json::object();
  for (const Tensor tensor : kTensors) {
    const Bytes& bytes = of(report.by_tensor, tensor);
    if (bytes.total() == 0) continue;
    requested["by_tensor"][std::string(to_string(tensor))] = bytes_json(bytes);
  }
  requested["by_launch"] = ordered_json::array();
  for (const LaunchReport& launch : report.launches) {
    requested["by_launch"].push_back({{"name", launch.name}});
    requested["by_launch"].back().update(bytes_json(launch.requested));
  }
  ordered_json traffic = {{"paper", bytes_json(report.paper)}, {"requested", requested}};
  if (report.dram) traffic["dram"] = dram_json(*report.dram);
  traffic["bound"] = bytes_json(report.compulsory);
  return traffic;
}

/// The fields that are stored under `place` in files and differ from their defaults.
ordered_json changed_fields(const RunSpec& spec, std::span<const RunField> fields,
                            std::string_view place) {
  ordered_json json = ordered_json::object();
  for (const RunField& field : fields) {
    if (field.json != place || is_default(field, spec)) continue;
    ordered_json& value = json[std::string(field.json_key)];
    value = field.print(spec);
    if (field.kind == FieldKind::flag) value = true;
    if (field.kind == FieldKind::whole) value = std::stoll(field.print(spec));
    if (field.kind == FieldKind::decimal) value = std::stod(field.print(spec));
  }
  return json;
}

/// The source of Q, K, V and, for gradients, dO: generated, read from files, or some of each.
ordered_json inputs_json(const RunSpec& spec, bool has_gradients) {
  ordered_json files = ordered_json::object();
  bool any_drawn = false;
  for (const char* key : {"q", "k", "v", "do"}) {
    const std::string path = run_field(key).print(spec);
    if (!path.empty()) {
      files[key] = path;
    } else if (has_gradients || key != std::string_view("do")) {
      any_drawn = true;
    }
  }
  ordered_json json = {{"kind", any_drawn ? to_string(spec.inputs.kind) : "files"}};
  if (any_drawn) json["seed"] = spec.inputs.seed;
  if (!files.empty()) json["files"] = files;
  return json;
}

struct TensorError {
  const char* tensor;
  const ErrorReport* error;
  bool is_output;  ///< true: an output of the pass; false: an input, or LSE
};

/// Every tensor with a known error, in the order of the table.
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

ordered_json accuracy_json(const NumericResult& numbers, const RunSpec& spec) {
  ErrorReport largest;
  ordered_json outputs = ordered_json::array();
  ordered_json by_tensor = ordered_json::object();
  for (const auto& [tensor, error, is_output] : tensor_errors(numbers, spec.pass)) {
    by_tensor[tensor] = error_json(*error);
    if (!is_output) continue;
    outputs.push_back(tensor);
    largest.max_abs_error = std::max(largest.max_abs_error, error->max_abs_error);
    largest.rel_fro_error = std::max(largest.rel_fro_error, error->rel_fro_error);
  }
  ordered_json json = error_json(largest);
  json["tensors"] = outputs;
  json["by_tensor"] = by_tensor;
  json["rounded_to_storage"] = spec.round_to_storage;
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

ordered_json run_identity(const ResolvedRun& run) {
  const RunSpec& asked = run.asked;
  ordered_json identity = {{"problem", problem_to_json(run.problem)},
                           {"algorithm", asked.algorithm},
                           {"kernel", asked.kernel},
                           {"pass", to_string(asked.pass)}};
  if (run.tiling != Tiling{0, 0}) identity["tiling"] = tiling_to_json(run.tiling);
  if (run.problem.block_mask) identity["block_mask"] = run.problem.block_mask->text();
  identity["carry"] = to_string(asked.variant.carry);
  if (asked.deterministic) identity["deterministic"] = true;
  for (const auto& [name, value] : asked.switches) identity["switches"][name] = value;
  const bool own = run.files_hash != 0;
  identity["inputs"] = {{"kind", own ? "files" : to_string(asked.inputs.kind)},
                        {"seed", asked.inputs.seed}};
  if (own && run.files_hash != kUnknownFiles) {
    identity["inputs"]["hash"] = hash_text(run.files_hash);
  }
  return identity;
}

ordered_json simulation_json(const SimulationAnswer& answer) {
  const SimulationReport& report = answer.report;
  const ResolvedRun& run = report.run;
  ordered_json document = {{"schema", "attnscope.simulation/1"}, {"kind", "modelled"}};
  document["problem"] = problem_to_json(run.asked.problem);
  document["algorithm"] = run.algorithm();
  document["pass"] = to_string(run.pass());
  document["tiling"] = tiling_to_json(run.tiling);
  const Carry carry = run.asked.variant.carry;
  if (carry != Carry::problem) document["carry"] = to_string(carry);
  if (run.splits > 1) document["splits"] = run.splits;
  if (run.query_heads_per_tile > 1) document["query_heads_per_tile"] = run.query_heads_per_tile;
  if (run.problem.block_mask) document["block_mask"] = block_mask_json(report);
  const ordered_json variant = changed_fields(run.asked, run_fields(), "variant");
  if (!variant.empty()) document["variant"] = variant;
  document["gpu"] = report.gpu;
  const ordered_json what_if = changed_fields(run.asked, what_if_fields(), "");
  if (!what_if.empty()) document["what_if"] = what_if;
  const auto& numbers = answer.numbers;
  if (numbers) document["inputs"] = inputs_json(run.asked, numbers->gradients.has_value());
  document["traffic"] = traffic_json(report);
  document["flops"] = {{"matmul", report.matmul_flops},
                       {"non_matmul", report.non_matmul_flops},
                       {"exponentials", report.exponentials}};
  document["memory"] = memory_json(report);
  if (answer.warps) document["warps"] = warps_json(*answer.warps);
  document["time"] = time_json(report, answer.gpu);
  if (numbers) document["accuracy"] = accuracy_json(*numbers, run.asked);
  return document;
}

namespace {

std::string traffic_text(const SimulationReport& report) {
  Lines lines = {{"traffic", "read", "written", "total"}};
  const auto add = [&lines](const std::string& name, const Bytes& bytes) {
    lines.push_back({name, bytes_text(bytes.read_bytes), bytes_text(bytes.write_bytes),
                     bytes_text(bytes.total())});
  };
  add("paper", report.paper);
  add("requested", report.requested);
  for (const Tensor tensor : kTensors) {
    const Bytes& bytes = of(report.by_tensor, tensor);
    if (bytes.total() > 0) add(fmt::format("  {}", to_string(tensor)), bytes);
  }
  if (report.launches.size() > 1) {
    for (const LaunchReport& launch : report.launches) {
      add(fmt::format("  launch {}", launch_words(launch.name)), launch.requested);
    }
  }
  if (report.dram) {
    add("dram, predicted", report.dram->total);
    if (report.dram->in_transition()) {
      add("  at least", report.dram->least);
      add("  at most", report.dram->most);
    }
  }
  add("dram, compulsory", report.compulsory);
  return table_text(lines);
}

/// The changes of a what-if as text: ", SRAM 200 KiB (given), exp rate x 2".
std::string what_if_text(const RunSpec& spec) {
  std::string text;
  for (const RunField& field : what_if_fields()) {
    if (is_default(field, spec)) continue;
    const std::string_view what = field.label.substr(0, field.label.find(','));
    const std::string value = field.print(spec);
    if (field.kind == FieldKind::decimal) {
      text += fmt::format(", {} x {}", what, value);
    } else if (field.value_name == "BYTES") {
      text += fmt::format(", {} {} (given)", what, capacity_text(std::stoll(value)));
    } else {
      text += fmt::format(", {} {} (given)", value, what);
    }
  }
  return text;
}

/// Explains why a block's memory has room for P although the warps do not exchange it
/// (sim/observers/warp_shares.h).
std::string place_of_P(const SimulationAnswer& answer) {
  const bool by_rows = answer.warps->layout.partition == WarpPartition::split_q;
  const PassKind pass = answer.report.run.pass();
  if (by_rows && pass == PassKind::backward) return "";
  return fmt::format(
      "the block's shared memory includes P, like every operand of a product, although {}the warps "
      "keep it in registers",
      by_rows && pass == PassKind::both ? "in the forward pass " : "");
}

std::string title_text(const SimulationAnswer& answer) {
  const ResolvedRun& run = answer.report.run;
  std::string text = run_words(run) + "\n";
  if (run.problem.block_mask) {
    const BlockMask& M = *run.problem.block_mask;
    text += fmt::format("block mask {}: {} of {} x {} tiles, density {:.3g}{}\n",
                        one_line(M.text()), M.nonzeros(), M.Tr(), M.Tc(), M.density(),
                        run.asked.variant.skip_unused_kv ? ", unused K and V are not loaded" : "");
  }
  return text +
         fmt::format("modelled on {}{}\n\n", answer.gpu.display_name, what_if_text(run.asked));
}

Lines quantities(const SimulationAnswer& answer) {
  const SimulationReport& report = answer.report;
  Lines lines = {{"quantity", "modelled"},
                 {"matrix products", flops_text(report.matmul_flops)},
                 {"other operations", flops_text(report.non_matmul_flops)},
                 {"  of these, exponentials", flops_text(report.exponentials)},
                 {"shared memory per block", capacity_text(report.sram_bytes_per_block)},
                 {"registers per block", capacity_text(report.register_bytes_per_block)}};
  if (const auto& padded = report.padded) {
    lines.push_back({fmt::format("the same, d padded to {}", padded->d),
                     fmt::format("{} + {}{}", capacity_text(padded->sram_bytes_per_block),
                                 capacity_text(padded->register_bytes_per_block),
                                 padded->fits ? "" : ", does NOT fit")});
  }
  lines.push_back({"fits on the chip", report.fits ? "yes" : "NO: " + report.overflow_reason});
  if (answer.warps) {
    const auto& [layout, traffic] = *answer.warps;
    lines.insert(
        lines.end(),
        {{"warps per block", fmt::format("{}, {}", layout.warps, to_string(layout.partition))},
         {"shared memory read by warps", bytes_text(traffic.shared_read_bytes)},
         {"shared memory written", bytes_text(traffic.shared_write_bytes)},
         {"  of these, exchanged by warps",
          bytes_text(traffic.exchange_read_bytes + traffic.exchange_write_bytes)},
         {"barriers in all blocks", fmt::format("{}", traffic.barriers)}});
  }
  const ResolvedRun& run = report.run;
  if (run.splits > 1) lines.push_back({"splits of the keys", fmt::format("{}", run.splits)});
  if (run.query_heads_per_tile > 1) {
    lines.push_back({"query heads per tile", fmt::format("{}", run.query_heads_per_tile)});
  }
  lines.push_back({"peak memory", bytes_text(report.peak_hbm_bytes)});
  for (const auto& line : time_lines(report, answer.gpu)) lines.push_back(line);
  if (!answer.numbers) return lines;
  for (const TensorError& each : tensor_errors(*answer.numbers, run.pass())) {
    lines.push_back({fmt::format("max abs error of {}", each.tensor),
                     fmt::format("{:.3g}", each.error->max_abs_error)});
    lines.push_back({fmt::format("relative error of {}", each.tensor),
                     fmt::format("{:.3g}", each.error->rel_fro_error)});
  }
  return lines;
}

}  // namespace

std::string simulation_text(const SimulationAnswer& answer) {
  const ResolvedRun& run = answer.report.run;
  std::string text = fmt::format("{}{}\n{}", title_text(answer), traffic_text(answer.report),
                                 table_text(quantities(answer), 2));
  const bool rounded = answer.numbers && run.asked.round_to_storage;
  for (const std::string& note :
       {answer.warps ? place_of_P(answer) : "", std::string(rounded ? rounding_note(run) : "")}) {
    if (!note.empty()) text += fmt::format("\n{}\n", note);
  }
  return text;
}

}  // namespace attnscope
