/// attnscope-cli accuracy: why the softmax is online, and how accurate each algorithm is.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/study_json.h"
#include "sim/accuracy.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

constexpr std::string_view kDefaultLengths = "128,512,1024";
constexpr std::string_view kDefaultTypes = "fp16,bf16";
constexpr std::string_view kDefaultCarries = "fp32";

RunSpec default_accuracy_run() {
  return {.pass = PassKind::backward, .Br = 64, .Bc = 64};
}

Result<AccuracyRequest> parse_accuracy(GivenOptions given) {
  AccuracyRequest request;
  const std::string lengths = given.take("seq-len").value_or(std::string(kDefaultLengths));
  const std::string types = given.take("dtype").value_or(std::string(kDefaultTypes));
  const std::string carries = given.take("carry").value_or(std::string(kDefaultCarries));
  ATTNSCOPE_TRY(
      request.pass,
      read_choice(given, "pass", parse_one_pass,
                  "forward or backward; backward also reports the error of O", request.pass));
  ATTNSCOPE_TRY(const auto spec, parse_run(given, default_accuracy_run()));
  ATTNSCOPE_TRY(const auto by_length, parse_list("seq_len", lengths, spec));
  for (const RunSpec& each : by_length) request.lengths.push_back(each.problem.N);
  ATTNSCOPE_TRY(const auto by_type, parse_list("dtype", types, spec));
  for (const RunSpec& each : by_type) request.dtypes.push_back(each.problem.dtype);
  ATTNSCOPE_TRY(const auto by_carry, parse_list("carry", carries, spec));
  request.carries.clear();
  for (const RunSpec& each : by_carry) request.carries.push_back(each.variant.carry);
  ATTNSCOPE_TRY(request.gpu, gpu_of(spec));

  constexpr Index kMaxOrders = 1000;
  ATTNSCOPE_TRY(request.orders, read_whole(given, "orders", 2, kMaxOrders, request.orders));
  request.problem = spec.problem;
  request.inputs = spec.inputs;
  request.tiling = spec.tiling().value();
  return request;
}

Result<Study> count_accuracy(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto request, parse_accuracy(given));
  ATTNSCOPE_TRY(const auto report, compare_accuracy(request, show_progress));
  return accuracy_study(request, report);
}

}  // namespace

CommandSpec accuracy_command() {
  const auto fields = with_help(
      field_options({"seq_len", "dtype", "pass", "heads", "head_dim", "mask", "inputs", "seed",
                     "Br", "Bc", "carry"},
                    default_accuracy_run()),
      {{"seq-len", "N1,N2,...", fmt::format("queries and keys [{}]", kDefaultLengths)},
       {"dtype", "T1,T2,...", fmt::format("list of fp32, fp16, bf16 [{}]", kDefaultTypes)},
       {"carry", "C1,C2",
        fmt::format("list of fp32, problem: precision of flash1's O in HBM [{}]", kDefaultCarries)},
       {"pass", "", "forward (error of O alone) or backward [backward]"}});
  return answering(
      {.name = "accuracy",
       .summary = "Shows why the softmax is online, and how accurate each algorithm is.",
       .options =
           joined({fields, {{"orders", "R", "thread-block orders to compare, at least 2 [4]"}}})},
      count_accuracy);
}

}  // namespace attnscope::cli
