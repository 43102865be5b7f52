#include "app/scene_check.h"

#include <fmt/core.h>

#include "app/step_simulator.h"
#include "sim/ops/observer.h"
#include "sim/schedule/catalog.h"
#include "sim/schedule/run_pass.h"

namespace attnscope::app {

namespace {

class OpCount : public Observer {
 public:
  void observe(std::span<const TileOp> ops) override { count_ += static_cast<Index>(ops.size()); }
  Index count() const { return count_; }

 private:
  Index count_ = 0;
};

/// Operations of the shown head; nothing when the choice cannot work.
std::optional<Index> step_count_of(const Choice& choice, Index head) {
  if (check_choice(choice)) return std::nullopt;
  const Result<SimulationRequest> request = simulation_of(choice);
  if (!request) return std::nullopt;
  const Result<Tiling> tiling = settle_tiling(request.value());
  if (!tiling) return std::nullopt;
  const AttentionProblem& problem = request.value().problem;
  const ScheduleOptions options = schedule_options(request.value(), tiling.value());
  const Algorithm& algorithm = *find_algorithm(choice.algorithm);
  OpCount counter;
  Observer* const observers[] = {&counter};
  const Index row = head % choice.problem.heads;
  run_head(make_head_pass(algorithm, request.value().pass, options),
           {problem, tiling.value(), options, {}}, head / choice.problem.heads,
           packs_groups(choice) ? choice.problem.kv_head_of(row) : row, observers);
  return counter.count();
}

}  // namespace

std::optional<std::string> step_out_of_range(const ViewState& view) {
  if (view.step <= 0) return std::nullopt;
  const auto count = step_count_of(view.choice, view.head);
  if (!count || view.step < *count || *count == 0) return std::nullopt;
  return fmt::format("{}: the last operation is {}", view.step, *count - 1);
}

std::optional<Error> check_places(const Scene& scene) {
  const ViewState& view = scene.view;
  const AttentionProblem& problem = view.choice.problem;
  if (validate(problem)) return std::nullopt;
  const Index rows =
      packs_groups(view.choice) ? problem.N * problem.heads_per_kv_head() : problem.N;
  const struct {
    const char* field;
    Index value, count;
    const char* of;
  } places[] = {{"head", view.head, problem.batch * problem.heads, "batch times heads"},
                {"query_row", view.query_row, rows, "query rows"},
                {"O_column", view.O_column, problem.d, "columns of O"}};
  const std::string file = scene.path.empty() ? scene.name : scene.path;
  for (const auto& place : places) {
    if (place.value >= 0 && place.value < place.count) continue;
    return invalid_request(fmt::format("{}: view: {} is {}, but there are {} {}; use 0 to {}", file,
                                       place.field, place.value, place.count, place.of,
                                       place.count - 1));
  }
  if (const auto reason = step_out_of_range(view)) {
    return invalid_request(fmt::format("{}: playhead: step {}", file, *reason));
  }
  return std::nullopt;
}

}  // namespace attnscope::app
