#include "app/step_simulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "app/own_inputs.h"
#include "app/screen_words.h"
#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "sim/block_mask_request.h"
#include "sim/packed_groups.h"
#include "sim/schedule/catalog.h"
#include "sim/tiling_rules.h"

namespace attnscope::app {

Result<GpuDescription> gpu_of(const Choice& choice) {
  Result<GpuDescription> gpu = load_gpu(choice.gpu);
  if (!gpu) return gpu;
  GivenCapacities given;
  if (choice.sram_bytes > 0) given.sram_bytes = choice.sram_bytes;
  if (choice.l2_bytes > 0) given.l2_bytes = choice.l2_bytes;
  return with_capacities(std::move(gpu).value(), given, "chosen on the screen");
}

bool packs_groups(const Choice& choice) {
  const Algorithm* algorithm = find_algorithm(choice.algorithm);
  return algorithm != nullptr && algorithm->splits_keys && !choice.separate_heads &&
         can_pack_groups(choice.problem);
}

Result<SimulationRequest> simulation_of(const Choice& choice) {
  Result<GpuDescription> gpu = gpu_of(choice);
  if (!gpu) return gpu.error();
  SimulationRequest request;
  request.problem = packs_groups(choice) ? with_packed_groups(choice.problem) : choice.problem;
  request.algorithm = choice.algorithm;
  request.pass = parse_pass(choice.pass).value_or(PassKind::forward);
  request.tiling = choice.tiling;
  request.carry = choice.carry;
  request.skip_unused_kv = choice.skip_unused_kv;
  request.splits = choice.splits;
  request.variant = choice.variant;
  request.allow_overflow = choice.allow_overflow;
  request.gpu = std::move(gpu.value());
  if (choice.block_mask) return with_block_mask(std::move(request), *choice.block_mask);
  return request;
}

std::optional<Tiling> largest_tiling_of(const Choice& choice) {
  const Algorithm* algorithm = find_algorithm(choice.algorithm);
  const auto pass = parse_pass(choice.pass);
  const Result<GpuDescription> gpu = gpu_of(choice);
  const bool sane = algorithm != nullptr && pass && gpu && !validate(choice.problem) &&
                    (*pass == PassKind::forward || algorithm->has_backward());
  if (!sane) return std::nullopt;
  return largest_tiling(*algorithm, choice.problem, choice.carry, gpu.value(), *pass,
                        choice.variant);
}

std::vector<TilingByRule> tilings_by_rule(const Choice& choice) {
  const AttentionProblem& problem = choice.problem;
  const Result<GpuDescription> gpu = gpu_of(choice);
  std::optional<Tiling> paper;
  if (gpu && problem.d >= 1) paper = paper_tiling(gpu.value(), problem.dtype, problem.d);
  std::optional<Tiling> of_kernel;
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    if (kernel.algorithm != choice.algorithm) continue;
    const auto tilings = choice.pass == to_string(PassKind::backward)
                             ? kernels::backward_tilings(kernel, problem)
                             : kernels::kernel_tilings(kernel, problem);
    if (!tilings.empty() && !of_kernel) of_kernel = tilings.front();
  }
  return {{"paper", paper, "Bc = ceil(M / 4d), Br = min(Bc, d), for an SRAM of M elements"},
          {"largest", largest_tiling_of(choice), "the largest square tiles that fit on chip"},
          {"kernel", of_kernel, "those that the GPU kernel was compiled with"}};
}

namespace {

Error translated(Error error) {
  error.message = in_screen_words(std::move(error.message));
  return error;
}

std::optional<Error> find_error(const Choice& choice) {
  if (const auto message = validate(choice.problem)) return invalid_request(*message);
  if (const auto message = validate(choice.tiling)) return invalid_request(*message);
  if (!parse_pass(choice.pass)) {
    return invalid_request("pass is " + choice.pass + "; use forward, backward or both");
  }

  if (auto error = check_files(choice)) return error;

  // Every tile is a place on the scrub bar
  const Index tiles = ceil_div(choice.problem.N, choice.tiling.Br) *
                      ceil_div(choice.problem.N_kv, choice.tiling.Bc);
  if (tiles > kMaxSteppedTiles) {
    return invalid_request(fmt::format(
        "{} x {} tiles are too many to step through; use larger tiles or a smaller N, at most {} "
        "tiles (attnscope-cli simulate counts any size)",
        ceil_div(choice.problem.N, choice.tiling.Br),
        ceil_div(choice.problem.N_kv, choice.tiling.Bc), kMaxSteppedTiles));
  }

  // What fits on chip depends on the tiles and the length of a row: one row tile tells
  Result<SimulationRequest> request = simulation_of(choice);
  if (!request) return request.error();
  AttentionProblem& problem = request.value().problem;
  problem.batch = problem.heads = problem.kv_heads = 1;
  problem.N = std::min(problem.N, choice.tiling.Br);
  problem.block_mask = nullptr;
  problem.key_lengths.clear();
  problem.cu_seqlens_q.clear();
  problem.cu_seqlens_k.clear();
  if (problem.score.has_alibi()) problem.score.alibi_slopes = standard_alibi_slopes(1);
  const Result<SimulationReport> report = simulate(request.value());
  if (!report) return report.error();
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_choice(const Choice& choice) {
  std::optional<Error> error = find_error(choice);
  if (error) error = translated(std::move(*error));
  return error;
}

namespace {

/// What to step through: the head that was asked for, or the group that it is packed into.
Result<SteppedRequest> stepped_of(const Request& request) {
  const Choice& choice = request.choice;
  Result<SimulationRequest> simulation = simulation_of(choice);
  if (!simulation) return simulation.error();
  Result<std::optional<AttentionInputs>> own = read_own_inputs(choice);
  if (!own) return own.error();
  SteppedRequest stepped;
  stepped.simulation = std::move(simulation.value());
  stepped.inputs = choice.inputs;
  stepped.given_inputs = std::move(own).value();
  stepped.round_to_storage = choice.round_to_storage;
  stepped.batch = request.head / choice.problem.heads;
  stepped.head = request.head % choice.problem.heads;
  if (request.in_race) stepped.memory_share = 0.5;
  if (!packs_groups(choice)) return stepped;

  // Inputs are drawn for the heads as they are, and packed
  const AttentionProblem& packed = stepped.simulation.problem;
  stepped.head = choice.problem.kv_head_of(stepped.head);
  const bool drawn = !stepped.given_inputs && packed.N * packed.N_kv <= kMaxShownScores;
  if (drawn) stepped.given_inputs = make_inputs(choice.problem, choice.inputs);
  if (stepped.given_inputs) {
    stepped.given_inputs = with_packed_groups(choice.problem, std::move(*stepped.given_inputs));
  }
  return stepped;
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> StepSimulator::operator()(const Request& request,
                                                                  WorkControl& control) {
  if (!run_ || !(choice_ == request.choice) || head_ != request.head ||
      in_race_ != request.in_race) {
    if (const auto error = check_choice(request.choice)) return *error;
    Result<SteppedRequest> stepped = stepped_of(request);
    if (!stepped) return translated(stepped.error());
    Result<std::unique_ptr<SteppedRun>> created = SteppedRun::create(
        stepped.value(), [&](double fraction) { control.set_progress(fraction); },
        &control.cancel_flag());
    if (!created) return translated(created.error());
    run_ = std::move(created.value());
    choice_ = request.choice;
    head_ = request.head;
    in_race_ = request.in_race;
  }

  const RunInfo& info = *run_->info();
  const Index step = std::clamp<Index>(request.step, -1, info.step_count - 1);
  const Index query = std::clamp<Index>(request.query_row, -1, info.problem.N - 1);
  const Index column = std::clamp<Index>(request.O_column, 0, info.problem.d - 1);
  return std::make_shared<const Snapshot>(run_->at(step, query, column));
}

}  // namespace attnscope::app
