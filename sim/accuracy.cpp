#include "sim/accuracy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reference/eigen_view.h"
#include "sim/resolve.h"

namespace attnscope {

namespace {

AttentionProblem problem_at(const AccuracyRequest& request, Index N, DType dtype) {
  AttentionProblem problem = request.problem;
  problem.N = problem.N_kv = N;
  problem.dtype = dtype;
  return problem;
}

Result<ResolvedRun> run_of(const AccuracyRequest& request, const AttentionProblem& problem,
                           std::string_view algorithm, Carry carry, PassKind pass) {
  RunSpec spec{.problem = problem,
               .algorithm = std::string(algorithm),
               .pass = pass,
               .variant = {.carry = carry},
               .round_to_storage = true,
               .fp32_accumulators = true,
               .allow_overflow = true};
  spec.set_tiling(request.tiling);
  return resolve(spec, request.gpu);
}

/// From this score on, exponentials overflow in every type of the comparison.
constexpr double kOverflowingScore = 89.0;  // exp(88.72...) is the largest fp32 number

/// A measure of how instructive this row is: its sum l if the numerators overflow without a shift,
/// else 0.
double interest(const Eigen::VectorXd& S) {
  const double m = S.maxCoeff();
  return m < kOverflowingScore ? 0.0 : (S.array() - m).exp().sum();
}

/// Among the rows of the outlier inputs that overflow, the one with the largest sum l, and its
/// softmaxes.
SoftmaxComparison compare_softmaxes(const AccuracyRequest& request) {
  const Index N = *std::ranges::max_element(request.lengths);
  AttentionProblem problem = problem_at(request, N, DType::fp32);
  problem.batch = problem.heads = problem.kv_heads = 1;
  const AttentionInputs inputs = make_inputs(problem, {InputKind::outlier, request.inputs.seed});
  const auto Q = head_matrix(inputs.Q, 0, 0);
  const auto K = head_matrix(inputs.K, 0, 0);
  SoftmaxComparison comparison;
  std::vector<double> row;
  double most = -1;
  for (Index query = 0; query < N; ++query) {
    const KeyRange keys = problem.keys_of(query);
    if (keys.size() == 0) continue;
    const Eigen::VectorXd S = problem.softmax_scale() *
                              (K.middleRows(keys.begin, keys.size()) * Q.row(query).transpose());
    if (interest(S) <= most) continue;
    most = interest(S);
    comparison.query = query;
    comparison.keys = keys.size();
    comparison.largest_score = S.maxCoeff();
    row.assign(S.data(), S.data() + S.size());
  }
  for (const DType dtype : {DType::fp16, DType::bf16, DType::fp32}) {
    for (const auto method : {SoftmaxMethod::naive, SoftmaxMethod::safe, SoftmaxMethod::online}) {
      comparison.cases.push_back({method, dtype, row_softmax(method, dtype, row)});
    }
  }
  return comparison;
}

/// The errors of unfused attention: the yardstick of the tolerance rule.
AccuracyCase unfused_case(const AttentionProblem& problem, const AttentionInputs& inputs,
                          bool with_gradients) {
  AccuracyCase entry{.run = {.problem = problem, .algorithm = "unfused"}};
  const ForwardResult reference = naive_forward(problem, inputs);
  entry.O = compare(unfused_forward(problem, inputs).O.data, reference.O.data);
  if (!with_gradients) return entry;
  const Gradients exact = naive_backward(problem, inputs, reference);
  const Gradients rounded = unfused_backward(problem, inputs);
  entry.dQ = compare(rounded.dQ.data, exact.dQ.data);
  entry.dK = compare(rounded.dK.data, exact.dK.data);
  entry.dV = compare(rounded.dV.data, exact.dV.data);
  return entry;
}

/// The errors of one algorithm; for one that keeps O in HBM between passes, in each requested
/// precision.
std::optional<Error> add_errors(const AccuracyRequest& request, const Algorithm& algorithm,
                                const AttentionProblem& problem, const AttentionInputs& inputs,
                                std::vector<AccuracyCase>& errors) {
  const std::vector<Carry> only = {Carry::problem};
  for (const Carry carry : algorithm.carries_output ? request.carries : only) {
    ATTNSCOPE_TRY(const auto run, run_of(request, problem, algorithm.name, carry, request.pass));
    ATTNSCOPE_TRY(const auto result, simulate_numbers(run, request.gpu, inputs));
    errors.push_back({run.asked, algorithm.carries_output, result.O_error, result.dQ_error,
                      result.dK_error, result.dV_error});
  }
  return std::nullopt;
}

/// Runs the backward pass of one algorithm in several orders of the thread blocks.
Result<OrderCase> compare_orders(const AccuracyRequest& request, const Algorithm& algorithm,
                                 const AttentionProblem& problem, const AttentionInputs& inputs) {
  const Carry carry = algorithm.carries_output ? request.carries.front() : Carry::problem;
  ATTNSCOPE_TRY(const auto run,
                run_of(request, problem, algorithm.name, carry, PassKind::backward));
  OrderCase entry{.run = run.asked, .orders = request.orders};
  ATTNSCOPE_TRY(const auto a, simulate_numbers(run, request.gpu, inputs));
  for (Index order = 1; order < request.orders; ++order) {
    const BlockOrder shuffled{BlockOrder::Kind::shuffled, static_cast<std::uint64_t>(order)};
    ATTNSCOPE_TRY(const auto b, simulate_numbers(run, request.gpu, inputs, {shuffled}));
    Index differing = 0;
    for (std::size_t n = 0; n < a.gradients->dQ.data.size(); ++n) {
      const double difference = std::abs(a.gradients->dQ.data[n] - b.gradients->dQ.data[n]);
      entry.dQ_max_abs_difference = std::max(entry.dQ_max_abs_difference, difference);
      differing += difference != 0.0 ? 1 : 0;
    }
    entry.dQ_differing_elems = std::max(entry.dQ_differing_elems, differing);
    entry.rest_is_identical = entry.rest_is_identical && a.output.O == b.output.O &&
                              a.output.LSE == b.output.LSE && a.gradients->dK == b.gradients->dK &&
                              a.gradients->dV == b.gradients->dV;
  }
  return entry;
}

/// The algorithms with both passes, except the block-sparse ones, which are equal to others without
/// a block mask.
std::vector<const Algorithm*> dense_algorithms() {
  std::vector<const Algorithm*> dense;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.takes_block_mask && algorithm.has_backward) dense.push_back(&algorithm);
  }
  return dense;
}

std::optional<Error> check_request(const AccuracyRequest& request) {
  if (request.lengths.empty() || request.dtypes.empty()) {
    return invalid_request("accuracy needs at least one length and one precision");
  }
  if (request.carries.empty()) {
    return invalid_request("accuracy needs at least one precision of O in HBM: fp32 or problem");
  }
  if (request.orders < 2) {
    return invalid_request("orders is {}; at least 2 are needed to compare them", request.orders);
  }
  if (auto error = validate(request.tiling)) return error;
  for (const Index N : request.lengths) {
    const AttentionProblem problem = problem_at(request, N, DType::fp32);
    if (auto error = validate(problem)) return error;
    ATTNSCOPE_TRY(const auto largest,
                  run_of(request, problem, "standard", Carry::problem, PassKind::backward));
    if (auto error = check_numeric_memory(largest)) return error;
  }
  return std::nullopt;
}

/// Adds the errors of the unfused computation and of every dense algorithm.
std::optional<Error> add_errors_at(const AccuracyRequest& request, Index N, DType dtype,
                                   std::vector<AccuracyCase>& errors) {
  const AttentionProblem problem = problem_at(request, N, dtype);
  const AttentionInputs inputs = make_inputs(problem, request.inputs);
  errors.push_back(unfused_case(problem, inputs, request.pass != PassKind::forward));
  for (const Algorithm* algorithm : dense_algorithms()) {
    if (auto error = add_errors(request, *algorithm, problem, inputs, errors)) return error;
  }
  return std::nullopt;
}

}  // namespace

std::string_view rounded_output_note(std::string_view algorithm, Carry carry, DType dtype) {
  const Algorithm* const found = find_algorithm(algorithm);
  if (found == nullptr || !found->carries_output) return "";
  if (carry != Carry::problem || dtype == DType::fp32) return "";
  return "O (backward: dQ) is rounded to 16 bits after every column tile: AttnScope's choice, "
         "which "
         "moves the bytes that the paper counts; the 2022 implementation kept it in fp32";
}

Result<std::vector<AccuracyCase>> accuracy_errors(const AccuracyRequest& request,
                                                  const std::function<bool(double)>& progress) {
  if (auto error = check_request(request)) return *error;
  // The work grows with the square of the length
  double whole = 0;
  for (const Index N : request.lengths) whole += static_cast<double>(N * N);
  whole *= static_cast<double>(request.dtypes.size());
  double done = 0;
  std::vector<AccuracyCase> errors;
  for (const DType dtype : request.dtypes) {
    for (const Index N : request.lengths) {
      if (!progress(done / whole)) return cancelled();
      if (auto error = add_errors_at(request, N, dtype, errors)) return *error;
      done += static_cast<double>(N * N);
    }
  }
  return errors;
}

Result<AccuracyReport> compare_accuracy(const AccuracyRequest& request,
                                        const std::function<void(const std::string&)>& progress) {
  if (auto error = check_request(request)) return *error;
  const std::size_t steps =
      request.dtypes.size() * (request.lengths.size() + dense_algorithms().size());
  std::size_t begun = 0;
  const auto begin_step = [&](const std::string& name) {
    progress(fmt::format("[{}/{}] {}", ++begun, steps, name));
  };
  AccuracyReport report;
  report.softmax = compare_softmaxes(request);
  for (const DType dtype : request.dtypes) {
    for (const Index N : request.lengths) {
      begin_step(fmt::format("errors in {}, N = {}", to_string(dtype), N));
      if (auto error = add_errors_at(request, N, dtype, report.errors)) return *error;
    }

    // Orders of thread blocks, at the largest length
    const Index N = *std::ranges::max_element(request.lengths);
    const AttentionProblem problem = problem_at(request, N, dtype);
    const AttentionInputs inputs = make_inputs(problem, request.inputs);
    for (const Algorithm* algorithm : dense_algorithms()) {
      begin_step(fmt::format("block order: {} {}, N = {}", algorithm->name, to_string(dtype), N));
      ATTNSCOPE_TRY(auto orders, compare_orders(request, *algorithm, problem, inputs));
      report.orders.push_back(std::move(orders));
    }
  }
  return report;
}

}  // namespace attnscope
