#include "app/jobs/step_simulator.h"

#include <algorithm>
#include <utility>

#include "app/report/kernel_dram.h"
#include "app/scene/scene.h"
#include "kernels/resolve.h"
#include "sim/packed_groups.h"
#include "sim/resolve.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {

std::optional<Tiling> tiling_of_rule(RunSpec choice, TilingRule rule, GpuCatalog& gpus) {
  if (validate(choice)) return std::nullopt;
  if (rule == TilingRule::kernel) {
    const auto gpu = gpus.gpu_of(choice);
    if (!gpu) return std::nullopt;
    return kernels::own_tiling(choice.algorithm, choice.pass, choice.problem,
                               program_target(gpu.value()));
  }
  choice.Br.reset();
  choice.Bc.reset();
  choice.block_mask.reset();  // a block mask is drawn for the tiles and does not change them
  choice.tiling_rule = rule;
  const auto gpu = gpus.gpu_of(choice);
  if (!gpu) return std::nullopt;
  const auto run = resolve(choice, gpu.value());
  return run ? std::optional(run.value().tiling) : std::nullopt;
}

namespace {

/// An error if there are too many tiles, each of which is a place on the scrub bar.
std::optional<Error> check_tile_count(const AttentionProblem& problem, const Tiling& tiling) {
  const Index Tr = ceil_div(problem.N, tiling.Br);
  const Index Tc = ceil_div(problem.N_kv, tiling.Bc);
  if (Tr * Tc <= kMaxSteppedTiles) return std::nullopt;
  return invalid_field(
      ErrorCode::too_many, "Br",
      "{} x {} tiles are too many to step through; use larger tiles or a smaller N, at "
      "most {} tiles (attnscope-cli simulate counts any size)",
      Tr, Tc, kMaxSteppedTiles);
}

/// The run reduced to one row of tiles of one head: whether a run fits on the chip depends only on
/// the tiles and the length of a row.
ResolvedRun one_row(ResolvedRun run) {
  AttentionProblem& problem = run.problem;
  problem.batch = problem.heads = problem.kv_heads = 1;
  problem.N = std::min(problem.N, run.tiling.Br);
  problem.block_mask = nullptr;
  problem.key_lengths.clear();
  problem.cu_seqlens_q.clear();
  problem.cu_seqlens_k.clear();
  if (problem.score.has_alibi()) problem.score.alibi_slopes = standard_alibi_slopes(1);
  return run;
}

}  // namespace

Result<ResolvedRun> resolve_choice(const RunSpec& choice, GpuCatalog& gpus) {
  if (auto error = validate(choice)) return *error;
  if (auto error = check_files(choice)) return *error;
  ATTNSCOPE_TRY(const auto gpu, gpus.gpu_of(choice));
  RunSpec dense = choice;  // has the same tiles; a block mask is drawn only if they are few
  dense.block_mask.reset();
  auto run = resolve(dense, gpu);
  if (!run) return run;
  if (auto error = check_tile_count(choice.problem, run.value().tiling)) return *error;
  if (choice.block_mask) run = resolve(choice, gpu);
  if (!run) return run;
  if (const auto report = simulate(one_row(run.value()), gpu); !report) return report.error();
  return run;
}

std::optional<Error> check_choice(const RunSpec& choice, GpuCatalog& gpus) {
  const auto run = resolve_choice(choice, gpus);
  return run ? std::nullopt : std::optional(run.error());
}

namespace {

/// The choice's run; in a race, the second run uses the largest tiles that fit if the first one's
/// do not.
Result<ResolvedRun> run_of(const Request& request, GpuCatalog& gpus) {
  auto run = resolve_choice(request.choice, gpus);
  if (run || !request.is_rival) return run;
  RunSpec smaller = request.choice;
  const auto tiling = tiling_of_rule(smaller, TilingRule::largest, gpus);
  if (!tiling) return run;
  smaller.set_tiling(*tiling);
  auto fitting = resolve_choice(smaller, gpus);
  return fitting ? fitting : run;
}

}  // namespace

Result<SteppedRequest> stepped_of(const Request& request, GpuCatalog& gpus) {
  const RunSpec& choice = request.choice;
  const AttentionProblem& problem = choice.problem;
  ATTNSCOPE_TRY(auto run, run_of(request, gpus));
  const Index heads = problem.batch * problem.heads;
  if (request.head < 0 || request.head >= heads) {
    return invalid_request("view: head is {}, but batch times heads is {}; use 0 to {}",
                           request.head, heads, heads - 1);
  }
  ATTNSCOPE_TRY(const auto gpu, gpus.gpu_of(choice));
  SteppedRequest stepped{.run = std::move(run), .gpu = gpu};
  stepped.batch = request.head / problem.heads;
  stepped.head = request.head % problem.heads;
  if (request.in_race) stepped.memory_share = 0.5;
  if (choice.files.any()) {
    ATTNSCOPE_TRY(stepped.given_inputs, load_inputs(problem, choice.files, choice.inputs));
  }
  if (stepped.run.query_heads_per_tile == 1) return stepped;

  // Inputs are drawn for the original heads, and packed afterwards
  const AttentionProblem& packed = stepped.run.problem;
  stepped.head = problem.kv_head_of(stepped.head);
  const bool drawn = !stepped.given_inputs && packed.N * packed.N_kv <= kMaxShownScores;
  if (drawn) stepped.given_inputs = make_inputs(problem, choice.inputs);
  if (stepped.given_inputs) {
    stepped.given_inputs = with_packed_groups(problem, std::move(*stepped.given_inputs));
  }
  return stepped;
}

Result<std::shared_ptr<const Snapshot>> StepSimulator::operator()(const Request& request,
                                                                  WorkControl& control) {
  if (!run_ || !request.same_run(request_)) {
    ATTNSCOPE_TRY(const auto stepped, stepped_of(request, *gpus_));
    ATTNSCOPE_TRY(auto created,
                  SteppedRun::create(
                      stepped, [&](double fraction) { control.set_progress(fraction); },
                      &control.cancel_flag()));
    std::shared_ptr<const BreakEffect> effect;
    if (stepped.run.asked.variant.broken.any() && created->info()->has_values) {
      ATTNSCOPE_TRY(auto found, break_effect(stepped, &control.cancel_flag()));
      effect = std::make_shared<const BreakEffect>(std::move(found));
    }
    effect_ = std::move(effect);
    run_ = std::move(created);
    request_ = request;
  }

  const RunInfo& info = *run_->info();
  const Index step = std::clamp<Index>(request.step, -1, info.step_count - 1);
  const Index query = std::clamp<Index>(request.query_row, -1, info.problem().N - 1);
  const Index column = std::clamp<Index>(request.O_column, 0, info.problem().d - 1);
  Snapshot snapshot = run_->at(step, query, column);
  snapshot.effect = effect_;
  return std::make_shared<const Snapshot>(std::move(snapshot));
}

Result<GpuDescription> GpuCatalog::gpu_of(const RunSpec& spec) {
  auto gpu = read_.find(spec.gpu);
  if (gpu == nullptr) {
    ATTNSCOPE_TRY(auto read, load_gpu(spec.gpu));
    gpu = read_.keep(spec.gpu, std::move(read));
  }
  return with_what_if(*gpu, spec.what_if, "given");
}

}  // namespace attnscope::app
