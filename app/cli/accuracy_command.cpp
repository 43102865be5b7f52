/// attnscope-cli accuracy: why the softmax is online, and how exact each algorithm is.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/accuracy_text.h"
#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/run_options.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

constexpr std::string_view kDefaultLengths = "128,512,1024";
constexpr std::string_view kDefaultTypes = "fp16,bf16";
constexpr std::string_view kDefaultCarries = "fp32";

RunSpec default_run() {
  return {.pass = PassKind::backward, .Br = 64, .Bc = 64};
}

Result<AccuracyRequest> parse_accuracy(GivenOptions given) {
  AccuracyRequest request;
  const std::string lengths = given.take("seq-len").value_or(std::string(kDefaultLengths));
  const std::string types = given.take("dtype").value_or(std::string(kDefaultTypes));
  const std::string carries = given.take("carry").value_or(std::string(kDefaultCarries));
  if (auto error =
          read_choice(given, "pass", parse_one_pass,
                      "forward, or backward, which has the error of O as well", request.pass)) {
    return *error;
  }
  const auto spec = parse_run(given, default_run());
  if (!spec) return spec.error();
  const auto by_length = parse_list("seq_len", lengths, spec.value());
  if (!by_length) return by_length.error();
  for (const RunSpec& each : by_length.value()) request.lengths.push_back(each.problem.N);
  const auto by_type = parse_list("dtype", types, spec.value());
  if (!by_type) return by_type.error();
  for (const RunSpec& each : by_type.value()) request.dtypes.push_back(each.problem.dtype);
  const auto by_carry = parse_list("carry", carries, spec.value());
  if (!by_carry) return by_carry.error();
  request.carries.clear();
  for (const RunSpec& each : by_carry.value()) request.carries.push_back(each.variant.carry);
  auto gpu = gpu_of(spec.value());
  if (!gpu) return gpu.error();

  constexpr Index kMaxOrders = 1000;
  if (auto error = read_whole(given, "orders", 1, kMaxOrders, request.orders)) return *error;
  request.problem = spec.value().problem;
  request.inputs = spec.value().inputs;
  request.tiling = spec.value().tiling().value();
  request.gpu = std::move(gpu).value();
  return request;
}

std::optional<Error> run_accuracy(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  const auto request = parse_accuracy(given);
  if (!request) return request.error();
  const auto report = compare_accuracy(request.value(), show_progress);
  clear_progress();
  if (!report) return report.error();
  const auto document = accuracy_json(request.value(), report.value());
  return write_outputs(outputs.value(), document, accuracy_rows(document),
                       accuracy_text(request.value(), report.value()));
}

}  // namespace

CommandSpec accuracy_command() {
  auto fields = field_options({"seq_len", "dtype", "pass", "heads", "head_dim", "mask", "inputs",
                               "seed", "Br", "Bc", "carry"},
                              default_run());
  fields = with_help(std::move(fields), "seq-len",
                     fmt::format("queries and keys [{}]", kDefaultLengths), "N1,N2,...");
  fields = with_help(std::move(fields), "dtype",
                     fmt::format("list of fp32, fp16, bf16 [{}]", kDefaultTypes), "T1,T2,...");
  fields = with_help(
      std::move(fields), "carry",
      fmt::format("list of fp32, problem: precision of flash1's O in HBM [{}]", kDefaultCarries),
      "C1,C2");
  fields = with_help(std::move(fields), "pass", "forward: O alone; or backward [backward]");
  return {.name = "accuracy",
          .summary = "Why the softmax is online, and how exact each algorithm is.",
          .operand = "",
          .options = joined({fields,
                             {{"orders", "R", "orders of the thread blocks, at least 2 [4]"}},
                             output_options()}),
          .run = run_accuracy};
}

}  // namespace attnscope::cli
