#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/measure/trace/trace_steps.h"
#include "kernels/recording/recording_json.h"
#include "reference/block_pattern.h"
#include "reference/check.h"
#include "reference/json/json_document.h"
#include "reference/json/json_ranges.h"
#include "reference/message_text.h"

namespace attnscope {

using nlohmann::json;

namespace {

/// The step's name in files, unchanged since the first version, where the atomic add to dQ is
/// called an add in HBM.
std::string_view file_name(kernels::TraceStep step) {
  if (step == kernels::TraceStep::add_dQi) return "dQ_i + dS K_j, atomically in HBM";
  return kernels::step_name(step);
}

constexpr std::string_view kSchema = "attnscope.kernel_trace";
constexpr int kVersion = 1;

/// Each step is five numbers: kind, i, j, whether it was executed, picoseconds.
constexpr std::size_t kStepNumbers = 5;
constexpr std::size_t kBlockNumbers = 6;
constexpr std::size_t kRowFields = 6;  ///< and the parts, if any

json block_json(const TracedBlock& block) {
  json steps = json::array();
  for (const TracedStep& step : block.steps) {
    steps.insert(steps.end(), {static_cast<int>(step.step), step.i, step.j, step.done ? 1 : 0,
                               step.end_ps - step.begin_ps});
  }
  return {block.sm, block.batch, block.head, block.block, block.begin_ps, block.end_ps, steps};
}

/// Six digits suffice for a float here; missing values are null.
json value_json(float value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return "-inf";
  return std::stod(fmt::format("{:.7g}", value));
}

float value_of(const json& value, std::string_view where) {
  if (value.is_null()) return NAN;
  if (value == "-inf") return -INFINITY;
  if (value.is_number()) return value.get<float>();
  throw JsonFieldError("{}: {} is not a number", where, printable(json_dump(value)));
}

/// Lists of m, l and alpha.
json states_json(const std::vector<kernels::TraceRow>& states) {
  json m = json::array(), l = json::array(), alpha = json::array();
  for (const kernels::TraceRow& state : states) {
    m.push_back(value_json(state.m));
    l.push_back(value_json(state.l));
    alpha.push_back(value_json(state.alpha));
  }
  return json::array({m, l, alpha});
}

json row_json(const TracedRow& row) {
  json fields = {row.batch, row.head, row.row};
  for (json& list : states_json(row.states)) fields.push_back(std::move(list));
  if (row.parts.empty()) return fields;
  json parts = json::array();
  for (const auto& part : row.parts) parts.push_back(states_json(part));
  fields.push_back(std::move(parts));
  return fields;
}

json header_json(const KernelTrace& trace) {
  json header = header_to_json(trace.header);
  header.erase("protocol");
  header["schema"] = fmt::format("{}/{}", kSchema, kVersion);
  header.update(run_to_json(trace.run));
  if (trace.run.asked.variant.carry == Carry::problem) header.erase("carry");
  header["launch"] = trace.launch;
  if (!trace.instructions.empty()) header["instructions"] = trace.instructions;
  header["time_s"] = trace.time_s;
  header["plain_time_s"] = trace.plain_time_s;
  header["sm_clock_mhz"] = trace.sm_clock_mhz;
  if (trace.timer_step_ns) header["timer_step_ns"] = *trace.timer_step_ns;
  json steps = json::array();
  for (int step = 0; step < kernels::kTraceStepCount; ++step) {
    steps.push_back(file_name(static_cast<kernels::TraceStep>(step)));
  }
  header["steps"] = steps;
  return header;
}

/// Entry `n` of a list, a whole number below `end`.
Index index_at(const json& list, std::size_t n, Index end, std::string_view where) {
  const json& value = list.at(n);
  if (value.is_number_integer() && value >= 0 && value < end) return value.get<Index>();
  throw JsonFieldError("{}: {} is not a whole number from 0 to {}", where,
                       printable(json_dump(value)), end - 1);
}

TracedBlock block_from_json(const json& value, const AttentionProblem& problem,
                            const std::vector<int>& steps, std::string_view where) {
  constexpr Index kEnd = Index{1} << 31;
  constexpr Index kEndPs = Index{1} << 56;  // twenty hours: the sum of two fits in 64 bits
  const json& numbers = value.at(kBlockNumbers);
  TracedBlock block{.sm = index_at(value, 0, kEnd, where),
                    .batch = index_at(value, 1, problem.batch, where),
                    .head = index_at(value, 2, problem.heads, where),
                    .block = index_at(value, 3, kEnd, where),
                    .begin_ps = index_at(value, 4, kEndPs, where),
                    .end_ps = index_at(value, 5, kEndPs, where),
                    .steps = {}};
  if (block.end_ps < block.begin_ps) {
    throw JsonFieldError("{}: the block ends before it begins", where);
  }
  if (!numbers.is_array() || numbers.size() % kStepNumbers != 0) {
    throw JsonFieldError("{}: its steps are cut off", where);
  }
  Index begin_ps = block.begin_ps;
  for (std::size_t n = 0; n < numbers.size(); n += kStepNumbers) {
    const Index step = index_at(numbers, n, std::ssize(steps), where);
    const Index end_ps = begin_ps + index_at(numbers, n + 4, kEndPs - begin_ps, where);
    block.steps.push_back({static_cast<kernels::TraceStep>(steps[static_cast<std::size_t>(step)]),
                           static_cast<std::int32_t>(index_at(numbers, n + 1, kEnd, where)),
                           static_cast<std::int32_t>(index_at(numbers, n + 2, kEnd, where)),
                           index_at(numbers, n + 3, 2, where) != 0, begin_ps, end_ps});
    begin_ps = end_ps;
  }
  return block;
}

std::vector<kernels::TraceRow> states_from(const json& m, const json& l, const json& alpha,
                                           std::string_view where) {
  if (!m.is_array() || l.size() != m.size() || alpha.size() != m.size()) {
    throw JsonFieldError("{}: m, l and alpha must be lists of the same length", where);
  }
  std::vector<kernels::TraceRow> states;
  states.reserve(m.size());
  for (std::size_t j = 0; j < m.size(); ++j) {
    states.push_back(
        {value_of(m.at(j), where), value_of(l.at(j), where), value_of(alpha.at(j), where)});
  }
  return states;
}

TracedRow row_from(const json& value, const AttentionProblem& problem, std::string_view where) {
  if (value.size() != kRowFields && value.size() != kRowFields + 1) {
    throw JsonFieldError("{}: a row has six fields, or seven with parts", where);
  }
  TracedRow row{.batch = index_at(value, 0, problem.batch, where),
                .head = index_at(value, 1, problem.heads, where),
                .row = index_at(value, 2, problem.N, where),
                .states = states_from(value.at(3), value.at(4), value.at(5), where)};
  if (value.size() == kRowFields) return row;
  for (const json& part : value.at(kRowFields)) {
    row.parts.push_back(states_from(part.at(0), part.at(1), part.at(2), where));
    if (row.parts.back().size() != row.states.size()) {
      throw JsonFieldError("{}: a part must have as many tiles as the row", where);
    }
  }
  return row;
}

/// Maps the file's step numbers to those of this program, which may have more steps.
std::vector<int> step_numbers(const JsonObject& object) {
  std::vector<int> numbers;
  for (const json& name : object.array("steps")) {
    int step = 0;
    while (step < kernels::kTraceStepCount &&
           name != file_name(static_cast<kernels::TraceStep>(step))) {
      ++step;
    }
    if (step == kernels::kTraceStepCount) {
      throw JsonFieldError("{}: \"{}\" is not a step", object.path_of("steps"),
                           printable(json_dump(name)));
    }
    numbers.push_back(step);
  }
  return numbers;
}

constexpr NumberRange kTimerStepRange{1, 1e9};  // ns

/// The members of a trace other than its run.
constexpr std::array<std::string_view, 13> kTraceMembers = {
    "schema",       "device",       "build",         "date",  "launch", "instructions", "time_s",
    "plain_time_s", "sm_clock_mhz", "timer_step_ns", "steps", "blocks", "rows"};

KernelTrace trace_from_json(const json& document, std::string_view name) {
  const JsonObject object(document, std::string(name));
  KernelTrace trace;
  json header = {{"device", object.at("device")}, {"rows", json::array()}};
  for (const char* key : {"build", "date"}) {
    if (object.has(key)) header[key] = document.at(key);
  }
  trace.header = recording_from_json(std::move(header), name);
  trace.run = kernel_run_from_json(object);
  if (trace.run.asked.block_mask) {
    throw JsonFieldError("{}: a trace cannot have a block mask", object.path_of("block_mask"));
  }
  trace.unidentified = unidentified_part(document, kTraceMembers);
  trace.launch = text_of_at_most(object, "launch", kMostNameBytes);
  trace.instructions = optional_text_of_at_most(object, "instructions", kMostNameBytes);
  trace.time_s = number_in(object, "time_s", kSecondsRange);
  trace.plain_time_s = number_in(object, "plain_time_s", kSecondsRange);
  trace.sm_clock_mhz = number_in(object, "sm_clock_mhz", kMegahertzRange);
  if (object.has("timer_step_ns")) {
    const Index step_ns = object.integer("timer_step_ns");
    check_range(object, "timer_step_ns", static_cast<double>(step_ns), kTimerStepRange);
    trace.timer_step_ns = step_ns;
  }
  const std::vector<int> steps = step_numbers(object);
  const auto place = [&](const char* key, const auto& read) {
    return fmt::format("{}[{}]", object.path_of(key), read.size());
  };
  for (const json& block : object.array("blocks")) {
    trace.blocks.push_back(
        block_from_json(block, trace.run.problem, steps, place("blocks", trace.blocks)));
  }
  for (const json& row : object.array("rows")) {
    trace.rows.push_back(row_from(row, trace.run.problem, place("rows", trace.rows)));
  }
  return trace;
}

Result<KernelTrace> checked_trace(const Result<json>& document, std::string_view name) {
  if (!document) return document.error();
  if (auto error = check_schema(document.value(), kSchema, kVersion, name)) return *error;
  try {
    return trace_from_json(document.value(), name);
  } catch (const JsonFieldError& error) {
    return invalid_request(error.what());
  } catch (const json::exception&) {
    return invalid_request("{}: blocks and rows are not lists as this program writes them", name);
  }
}

}  // namespace

std::string kernel_trace_text(const KernelTrace& trace) {
  ATTNSCOPE_CHECK(trace.run.problem.block_mask == nullptr, ==,
                  true);  // no kernel with a block mask is traced
  std::string text = json_dump(header_json(trace));
  text.pop_back();  // the object continues
  const auto add_lines = [&text](std::string_view key, const auto& items, const auto& to_json) {
    text += fmt::format(",\n\"{}\": [", key);
    std::string_view before = "\n";
    for (const auto& item : items) {
      text += before;
      text += json_dump(to_json(item));
      before = ",\n";
    }
    text += "\n]";
  };
  add_lines("blocks", trace.blocks, block_json);
  add_lines("rows", trace.rows, row_json);
  return text + "}\n";
}

Result<KernelTrace> parse_kernel_trace(std::string_view text, std::string_view name) {
  return checked_trace(parse_json(text, name), name);
}

Result<KernelTrace> read_kernel_trace(const std::filesystem::path& path) {
  return checked_trace(read_json_file(path), path.string());
}

}  // namespace attnscope
