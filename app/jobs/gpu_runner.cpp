#include "app/jobs/gpu_runner.h"

#include <exception>
#include <utility>

#include "app/jobs/background_job.h"
#include "app/report/compare.h"
#include "kernels/measure/gpu.h"
#include "kernels/resolve.h"
#include "reference/inputs.h"

namespace attnscope::app {

namespace {

/// The run of the choice's kernel. cuBLAS chooses the tiles of standard's products itself.
Result<ResolvedRun> kernel_run(RunSpec choice, const kernels::ProgramTarget& target) {
  if (choice.algorithm == "standard") {
    choice.Br.reset();
    choice.Bc.reset();
  }
  return kernels::resolve(choice, target);
}

RecordingRow refused(const RunSpec& choice, Error error) {
  RecordingRow row;
  row.run = {
      .asked = choice, .problem = choice.problem, .tiling = choice.tiling().value_or(Tiling{0, 0})};
  draw_block_mask(row.run);  // without it, the row would belong to a different problem
  row.error = std::move(error);
  return row;
}

/// Measures the choice; returns the row, also for an error.
RecordingRow row_of(Gpu& gpu, const RunSpec& choice, const Protocol& protocol,
                    const kernels::CompileControl& control) {
  auto run = kernel_run(choice, gpu.target());
  if (!run) return refused(choice, run.error());
  if (auto error = gpu.compile(run.value(), kernels::RunUse::measure, control))
    return refused(choice, std::move(*error));
  if (!choice.files.any()) return gpu.record(run.value(), protocol);
  const auto own = load_inputs(choice.problem, choice.files, choice.inputs);
  if (!own) return refused(choice, own.error());
  run.value().files_hash = hash_of_inputs(own.value());
  return gpu.record_own(run.value(), own.value(), protocol);
}

}  // namespace

GpuRunner::GpuRunner(std::function<void()> on_news)
    : on_news_(std::move(on_news)), work_(std::async(std::launch::async, [this] { open(); })) {}

GpuRunner::Status GpuRunner::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

GpuRunner::~GpuRunner() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  cancel();
}

void GpuRunner::run(const RunSpec& choice) {
  {
    const std::lock_guard lock(mutex_);
    if (status_.state == State::running) {
      waiting_.push_back(choice);
      status_.waiting = static_cast<int>(waiting_.size());
      return;
    }
    if (status_.state != State::idle) return;
    status_.state = State::running;
    status_.kernels = status_.compiled = 0;
    cancel_ = false;
  }
  work_ = std::async(std::launch::async, [this, choice] { measure_all(choice); });
}

/// Measures this run and then the waiting ones, in order, until none is left.
void GpuRunner::measure_all(RunSpec next) {
  while (true) {
    measure(next);
    const std::lock_guard lock(mutex_);
    cancel_ = false;  // the cancellation was meant for this run
    if (waiting_.empty()) {
      status_.state = State::idle;
      break;
    }
    status_.kernels = status_.compiled = 0;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    status_.waiting = static_cast<int>(waiting_.size());
  }
  if (on_news_) on_news_();
}

std::vector<MeasuredRun> GpuRunner::take_results() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void GpuRunner::open() {
  const auto gpu = result_of(&Gpu::open, "not enough memory to open the GPU");
  std::optional<std::string> description;
  if (gpu) description = find_gpu_of(gpu.value()->device());
  {
    const std::lock_guard lock(mutex_);
    status_.state = gpu ? State::idle : State::unavailable;
    if (gpu) gpu_ = gpu.value();
    if (gpu) status_.gpu_name = gpu_->device().name;
    status_.description = std::move(description);
    if (!gpu) status_.reason = words(gpu.error(), Reader::screen);
  }
  if (on_news_) on_news_();
}

void GpuRunner::measure(const RunSpec& choice) {
  MeasuredRun run;
  try {
    const Protocol protocol;
    Recording recording = gpu_->empty_recording(protocol);
    const auto progress = [this](int compiled, int kernels) {
      const std::lock_guard lock(mutex_);
      status_.compiled = compiled;
      status_.kernels = kernels;
    };
    recording.rows.push_back(row_of(*gpu_, choice, protocol, {&cancel_, progress}));
    run = runs_of(recording, NumberKind::measured).front();
  } catch (const std::exception& error) {
    run.row = refused(choice, failed(error.what()));
    run.provenance.kind = NumberKind::measured;
  }
  {
    const std::lock_guard lock(mutex_);
    const bool is_cancelled = run.row.error && run.row.error->code == ErrorCode::cancelled;
    if (!is_cancelled) results_.push_back(std::move(run));
  }
  if (on_news_) on_news_();
}

}  // namespace attnscope::app
