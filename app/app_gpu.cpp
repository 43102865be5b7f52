/// Runs the displayed choice on this machine's GPU.
#include <fmt/core.h>

#include "app/app.h"
#include "app/report/kernel_dram.h"
#include "kernels/recording/recorded_run.h"
#include "kernels/resolve.h"

namespace attnscope::app {

void App::run_on_gpu() {
  const auto shown = snapshot();
  const GpuRunner::Status gpu = gpu_.status();
  const std::string why = gpu.state == GpuRunner::State::unavailable
                              ? "no GPU to run on: " + gpu.reason
                          : shown ? why_no_kernel(shown->run->totals, shown->run->gpu)
                                  : "nothing to run yet";
  if (!why.empty()) return show_notice(why);
  gpu_.run(view.choice);
  if (gpu.state == GpuRunner::State::running) {
    show_notice(fmt::format("queued: {} after {} other {}", view.choice.algorithm, gpu.waiting + 1,
                            gpu.waiting == 0 ? "run" : "runs"));
  }
}

/// The notice that names the measurement and says where it is shown.
std::string App::measured_notice(const MeasuredRun& run) const {
  const RunSpec& asked = run.row.run.asked;
  const AttentionProblem& problem = run.row.run.problem;
  const std::string what = fmt::format("{} {}, N = {}, d = {}", asked.algorithm,
                                       to_string(asked.pass), problem.N, problem.d);
  const std::string why = run.why_unavailable();
  if (!why.empty()) return fmt::format("GPU run of {}: {}", what, why);
  // A lesson may be asking for this time, or may be about to
  const Outcome* outcome = lesson_player.is_open() ? lesson_player.outcome() : nullptr;
  const bool is_asked = lesson_player.is_open() && lesson_player.current().ask &&
                        (outcome == nullptr || !outcome->truth);
  const auto time = is_asked ? std::nullopt : run.time_s();
  const auto shown = shown_->snapshot;
  const kernels::ProgramTarget target =
      shown ? program_target(shown->run->gpu) : kernels::ProgramTarget{};
  const auto chosen = kernels::resolve(view.choice, target);
  const bool is_shown = shown && chosen && identity_of(chosen.value()) == identity_of(run.row.run);
  return fmt::format("measured {} on {}{}: {}", what, run.provenance.gpu(),
                     time ? fmt::format(", {:.3g} µs", *time * 1e6) : "",
                     is_shown ? "see the ledger's measured column and the charts"
                              : "the ledger shows it when this run is chosen again");
}

}  // namespace attnscope::app
