#include "app/cli/accuracy_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/accuracy_text.h"
#include "app/cli/outputs.h"
#include "app/cli/problem_options.h"
#include "reference/nearest_name.h"

namespace attnscope::cli {

namespace {

/// The parts of a comma-separated list.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

std::optional<Error> read_lists(const GivenOptions& given, AccuracyRequest& request) {
  for (const std::string& part : split(given.text("seq-len").value_or("128,512,1024"))) {
    const auto N = parse_whole("seq-len", part, 1, kMaxSequenceLength);
    if (!N) return N.error();
    request.lengths.push_back(N.value());
  }
  for (const std::string& part : split(given.text("dtype").value_or("fp16,bf16"))) {
    const auto dtype = parse_dtype(part);
    if (!dtype) {
      return invalid_request(fmt::format(
          "--dtype has '{}'; it must be a list of fp32, fp16 and bf16", printable(part)));
    }
    request.dtypes.push_back(*dtype);
  }
  request.carries.clear();
  for (const std::string& part : split(given.text("carry").value_or("fp32"))) {
    const auto carry = parse_carry(part);
    if (!carry) {
      return invalid_request(fmt::format(
          "--carry has '{}'; it must be fp32, problem or a list of both", printable(part)));
    }
    request.carries.push_back(*carry);
  }
  return std::nullopt;
}

std::optional<Error> read_choices(const GivenOptions& given, AccuracyRequest& request) {
  if (const auto text = given.text("mask")) {
    const auto mask = parse_mask(*text);
    if (!mask) {
      return invalid_request(
          fmt::format("--mask is '{}'; it must be none, causal, "
                      "causal:top-left, window:KEYS or window:LEFT,RIGHT",
                      printable(*text)));
    }
    request.problem.mask = *mask;
  }
  if (const auto text = given.text("pass")) {
    const auto pass = parse_pass(*text);
    if (!pass || *pass == PassKind::both) {
      return invalid_request(fmt::format(
          "--pass is '{}'; it must be forward, or backward, which has the error of O as well",
          printable(*text)));
    }
    request.pass = *pass;
  }
  if (const auto text = given.text("inputs")) {
    const auto kind = parse_input_kind(*text);
    if (!kind) {
      return invalid_request(fmt::format("--inputs is '{}'; it must be gaussian, outlier or needle",
                                         printable(*text)));
    }
    request.inputs.kind = *kind;
  }
  return read_seed(given, "seed", request.inputs.seed);
}

Result<AccuracyRequest> parse_accuracy(const GivenOptions& given) {
  AccuracyRequest request;
  if (auto error = read_lists(given, request)) return *error;
  if (auto error = read_choices(given, request)) return *error;
  constexpr Index kMaxOrders = 1000;
  if (auto error = read_whole(given, "head-dim", kMaxHeadDim, request.problem.d)) return *error;
  if (auto error = read_whole(given, "heads", kMaxHeads, request.problem.heads)) return *error;
  request.problem.kv_heads = request.problem.heads;
  if (auto error = read_whole(given, "block-rows", kMaxSequenceLength, request.tiling.Br)) {
    return *error;
  }
  if (auto error = read_whole(given, "block-cols", kMaxSequenceLength, request.tiling.Bc)) {
    return *error;
  }
  if (auto error = read_whole(given, "orders", kMaxOrders, request.orders)) return *error;
  auto gpu = load_gpu("h200");
  if (!gpu) return gpu.error();
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
  if (auto error = write_outputs(outputs.value(), document, accuracy_rows(document))) {
    return error;
  }
  if (outputs.value().owns_standard_output()) return std::nullopt;
  return write_text("-", accuracy_text(request.value(), report.value()));
}

}  // namespace

CommandSpec accuracy_command() {
  return {.name = "accuracy",
          .summary = "Why the softmax is online, and how exact each algorithm is.",
          .operand = "",
          .options = joined(
              {{{"seq-len", "N1,N2,...", "queries and keys [128,512,1024]"},
                {"dtype", "T1,T2,...", "list of fp32, fp16, bf16 [fp16,bf16]"},
                {"carry", "C1,C2", "list of fp32, problem: precision of flash1's O in HBM [fp32]"},
                {"pass", "PASS", "forward: O alone; or backward [backward]"},
                {"heads", "H", "heads [1]"},
                {"head-dim", "D", "head dimension [64]"},
                {"mask", "MASK", "as of simulate [none]"},
                {"inputs", "KIND", "gaussian, outlier or needle [gaussian]"},
                {"seed", "SEED", "whole number that the inputs are drawn from [0]"},
                {"block-rows", "BR", "rows of a tile [64]"},
                {"block-cols", "BC", "columns of a tile [64]"},
                {"orders", "R", "orders of the thread blocks, at least 2 [4]"}},
               output_options()}),
          .run = run_accuracy};
}

}  // namespace attnscope::cli
