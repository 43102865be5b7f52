#include "sim/snapshot/recorded_run.h"

#include <algorithm>
#include <cmath>

#include "sim/observers/progress_observer.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/head_values.h"
#include "sim/snapshot/score_values.h"

namespace attnscope {

namespace {

constexpr Index kMaxSteps = Index{1} << 26;     // more could be counted, but stepping through them
                                                // would not be useful
constexpr double kKeyframeBudgetBytes = 256e6;  // memory for keyframes
constexpr double kJournalBudgetBytes = 1e9;     // memory for stored values
constexpr double kKeyframeFlops = 4e6;          // a few milliseconds of replay

/// The counts of the whole pass; an error if it cannot run or has too many steps.
Result<SimulationReport> counted(const SteppedRequest& request, const std::atomic<bool>* cancel) {
  ATTNSCOPE_TRY(auto report, simulate(request.run, request.gpu, cancel));
  const AttentionProblem& problem = request.run.problem;
  const Index heads = problem.batch * problem.heads;
  const Index steps = report.tile_ops / heads;
  if (steps > kMaxSteps) {
    return invalid_request(
        "one head has {} tile operations; at most {} can be stepped through: use larger tiles or a "
        "shorter sequence",
        steps, kMaxSteps);
  }
  return report;
}

/// Sets the information about the run that the screen shows before the first step.
void describe_run(const SteppedRequest& request, SimulationReport totals, RunInfo& info) {
  const AttentionProblem& problem = request.run.problem;
  info.algorithm = find_algorithm(request.run.algorithm());
  info.totals = std::move(totals);
  info.gpu = request.gpu;
  info.options = schedule_options(request.run, request.gpu);
  info.pass = make_head_pass(*info.algorithm, request.run.pass(), info.options);
  info.first_backward =
      request.run.pass() == PassKind::backward
          ? 0
          : make_pass(*info.algorithm, PassKind::forward, info.options).launches.size();
  info.batch = request.batch;
  info.head = request.head;
  for (const Launch& launch : info.pass.launches) {
    info.grids.push_back(launch.grid(problem, info.tiling(), info.options));
    info.grids.back().set_batch(request.batch);
  }
  const TileGrid plain = plain_grid(problem, info.tiling(), info.options);
  info.Tr = plain.Tr();
  info.Tc = plain.Tc();
  info.score_tiles.resize(static_cast<std::size_t>(info.Tr * info.Tc));
}

/// The other heads store their parts in the same launch as the displayed head: all are stored by
/// its end.
void note_rest_of_group(const RunInfo& info, StoreHistory& history) {
  if (history.first_store.empty()) return;
  const std::int32_t last = *std::ranges::max_element(history.first_store);
  const auto launch = std::ranges::find_if(info.launches, [last](const StepSpan& span) {
    return last >= span.begin && last < span.end;
  });
  for (std::int32_t& first : history.first_store) {
    if (first < 0) first = static_cast<std::int32_t>(launch->end - 1);
  }
}

/// Rows that every launch processes together.
Index group_rows_of(const RunInfo& info) {
  const auto rows_of = [](const TileGrid& grid) {
    return grid.tiling().Br % grid.shares() == 0 ? grid.tiling().Br / grid.shares() : 1;
  };
  Index rows = info.tiling().Br;
  for (const TileGrid& grid : info.grids) rows = std::min(rows, rows_of(grid));
  const auto divides = [&](const TileGrid& grid) { return rows_of(grid) % rows == 0; };
  const bool all = info.tiling().Br % rows == 0 && std::ranges::all_of(info.grids, divides);
  return all ? rows : 1;
}

/// Whether the values of one row tile can be computed fast enough to follow the playhead.
bool can_follow_rows(const SteppedRequest& request, const RunInfo& info) {
  constexpr double kMostProducts = 3e8;  // multiplications of a row tile
  constexpr double kMostInputs = 1e8;    // elements of a head's inputs
  const AttentionProblem& problem = info.problem();
  const auto number = [](Index value) { return static_cast<double>(value); };
  // The random inputs of heads packed into one tile are drawn as a group
  if (request.run.query_heads_per_tile > 1 && !request.given_inputs) return false;
  return number(info.tiling().Br) * number(problem.N_kv) * number(problem.d) <= kMostProducts &&
         number(problem.N + problem.N_kv) * number(problem.d) <= kMostInputs;
}

/// Prepares actual values if the problem is small enough to show them.
void prepare_values(const SteppedRequest& request, RecordedRun& run) {
  const AttentionProblem& problem = request.run.problem;
  RunInfo& info = *run.info;
  const auto heads = static_cast<double>(problem.batch * problem.heads);
  const double stored_values = static_cast<double>(info.totals.requested.write_bytes) / heads /
                               static_cast<double>(size_bytes(problem.dtype)) *
                               static_cast<double>(sizeof(double));
  info.has_values = problem.N * problem.N_kv <= request.most_scores &&
                    stored_values <= kJournalBudgetBytes * request.memory_share;
  info.has_tile_values = !info.has_values && can_follow_rows(request, info);
  if (!info.has_values && !info.has_tile_values) return;
  run.shown_problem = one_head_of(problem, request.batch, request.head);
  run.inputs = inputs_of(request, request.head);
  if (info.has_tile_values) return;
  run.executor = std::make_unique<NumericExecutor>(run.shown_problem, run.inputs,
                                                   numeric_rules(request.run.asked));
  begin_values(request, info.pass, info.options, run.shown_problem, *run.executor);
  const bool gradients = request.run.pass() != PassKind::forward;
  auto values = score_values(run.shown_problem, run.inputs, gradients);
  for (std::size_t k = 0; k < values.size(); ++k) {
    ScoreMatrix& matrix = info.score_matrices[k];
    matrix.values = std::move(values[k]);
    matrix.group_rows = run.rows.group_rows;
    matrix.first_steps.assign(
        static_cast<std::size_t>(ceil_div(problem.N, matrix.group_rows) * info.Tc), -1);
  }
}

}  // namespace

Result<std::unique_ptr<RecordedRun>> record_run(const SteppedRequest& request,
                                                const std::function<void(double)>& progress,
                                                const std::atomic<bool>* cancel) {
  // Count first: this rejects invalid runs
  ATTNSCOPE_TRY(auto report, counted(request, cancel));
  auto run = std::make_unique<RecordedRun>();
  RunInfo& info = *run->info;
  describe_run(request, std::move(report), info);
  run->rows.group_rows = group_rows_of(info);
  run->rows.ranges.resize(
      static_cast<std::size_t>(ceil_div(info.problem().N, run->rows.group_rows)));
  prepare_values(request, *run);

  // Run the head once
  const AttentionProblem& problem = info.problem();
  const Index heads = problem.batch * problem.heads;
  const Index steps = info.totals.tile_ops / heads;
  const double on_chip_bytes = 2.0 * static_cast<double>(info.totals.sram_bytes_per_block * 4 +
                                                         info.totals.register_bytes_per_block * 2);
  const double head_flops =
      static_cast<double>(info.totals.matmul_flops) / static_cast<double>(heads);
  RunRecorder recorder(info, *run, run->executor.get(),
                       std::max(kKeyframeFlops, head_flops * on_chip_bytes /
                                                    (kKeyframeBudgetBytes * request.memory_share)));
  for (const InitialValue& initial : info.pass.initial_values) {
    run->journal.set_initial_value(initial.tensor, initial.value);
  }
  OccupancyObserver slots;
  ProgressObserver ticker(steps, progress);
  CancelObserver canceller(cancel);
  Observer* const observers[] = {&recorder, &slots, &ticker, &canceller};
  try {
    if (run->executor) {
      run_rest_of_group(request, info.pass, info.options, cancel, *run->executor);
    }
    run_head(info.pass, {problem, info.tiling(), info.options, {}}, request.batch, request.head,
             observers);
  } catch (const Cancelled&) {
    return cancelled();
  }
  if (info.step_count == 0) {
    return invalid_request("the masks hide every tile, so this pass has no steps");
  }
  info.head_bytes = recorder.counters().bytes;
  info.head_warps = recorder.counters().warp_traffic();
  run->occupancy = slots.launches();
  for (const Tensor tensor : {Tensor::dK_heads, Tensor::dV_heads}) {
    note_rest_of_group(info, run->stores[static_cast<std::size_t>(tensor)]);
  }
  return run;
}

namespace {

enum class Origin { input, stored_by_pass, never_stored };

/// Divides the tensor into the tiles in which it is stored or, if nothing stores it, read.
HbmTensorState tiled(Tensor tensor, const RunInfo& info, const StoreHistory& history) {
  HbmTensorState state;
  state.tensor = tensor;
  state.shape = tensor_shape(tensor, info.problem(), info.options.splits);
  state.bytes = state.shape.elems() * element_bytes(tensor, info.problem().dtype);
  if (history.tile_rows > 0) {
    state.tile_rows = history.tile_rows;
    state.tile_cols = history.tile_cols;
    return state;
  }
  const TensorLayout layout = layout_of(tensor);
  const Index rows = layout == TensorLayout::key_by_d ? info.tiling().Bc : info.tiling().Br;
  state.tile_rows = std::min(state.shape.rows, rows);
  state.tile_cols = layout == TensorLayout::query_by_key
                        ? std::min(state.shape.cols, info.tiling().Bc)
                        : state.shape.cols;
  return state;
}

HbmTensorState state_of(Tensor tensor, Origin origin, const RunInfo& info,
                        const StoreHistory& history, Index step) {
  HbmTensorState state = tiled(tensor, info, history);
  state.input = origin == Origin::input;
  state.never_stored = origin == Origin::never_stored;
  const auto tiles = static_cast<std::size_t>(state.tile_row_count() * state.tile_col_count());
  state.written.assign(tiles, state.input ? 1 : 0);
  for (std::size_t t = 0; t < history.first_store.size(); ++t) {
    const std::int32_t first = history.first_store[t];
    if (first >= 0 && first <= step) state.written[t] = 1;
  }
  for (const std::vector<AddRecord>& adds : history.adds) {
    const auto past = std::ranges::upper_bound(adds, step, {}, &AddRecord::step);
    state.adds.push_back(static_cast<std::int32_t>(past - adds.begin()));
    state.adds_whole.push_back(static_cast<std::int32_t>(adds.size()));
  }
  return state;
}

}  // namespace

std::vector<HbmTensorState> hbm_states(const RunInfo& info,
                                       const std::array<StoreHistory, kTensorCount>& stores,
                                       Index step) {
  std::vector<HbmTensorState> states;
  const auto history = [&](Tensor tensor) -> const StoreHistory& {
    return stores[static_cast<std::size_t>(tensor)];
  };
  const auto add = [&](Tensor tensor, Origin origin) {
    states.push_back(state_of(tensor, origin, info, history(tensor), step));
  };
  for (const Tensor tensor : {Tensor::Q, Tensor::K, Tensor::V}) add(tensor, Origin::input);

  // Tensors that the pass stores, even if its break drops the stores; those that it reads without
  // storing them are from an earlier pass
  for (const Tensor tensor :
       {Tensor::S,        Tensor::P,  Tensor::P_drop,   Tensor::Z,        Tensor::O_carry,
        Tensor::O,        Tensor::l,  Tensor::m,        Tensor::O_split,  Tensor::LSE_split,
        Tensor::LSE,      Tensor::dO, Tensor::D,        Tensor::dP,       Tensor::dS,
        Tensor::dQ_accum, Tensor::dQ, Tensor::dK_heads, Tensor::dV_heads, Tensor::dK,
        Tensor::dV}) {
    const Bytes bytes = of(info.head_bytes, tensor);  // dropped operations are counted
    if (history(tensor).tile_rows > 0 || bytes.write_bytes > 0) {
      add(tensor, Origin::stored_by_pass);
    } else if (bytes.read_bytes > 0) {
      add(tensor, Origin::input);
    } else if (tensor == Tensor::S || tensor == Tensor::P) {
      add(tensor, Origin::never_stored);
    }
  }
  return states;
}

}  // namespace attnscope
