#include "app/gpu_runner.h"

#include <exception>
#include <utility>

#include "app/work_control.h"
#include "kernels/client/kernel_library.h"
#include "kernels/resolve.h"
#include "reference/inputs.h"

namespace attnscope::app {

namespace {

/// The run of the choice's kernel. cuBLAS chooses the tiles of standard's products itself.
Result<ResolvedRun> kernel_run(RunSpec choice) {
  if (choice.algorithm == "standard") {
    choice.Br.reset();
    choice.Bc.reset();
  }
  return kernels::resolve(choice);
}

RecordingRow refused(const RunSpec& choice, Error error) {
  RecordingRow row;
  row.run = {
      .asked = choice, .problem = choice.problem, .tiling = choice.tiling().value_or(Tiling{0, 0})};
  draw_block_mask(row.run);  // without it, the row would be that of another problem
  row.error = std::move(error);
  return row;
}

/// Measures the choice; returns the row, also for an error.
RecordingRow row_of(KernelLibrary& library, const RunSpec& choice, const Protocol& protocol) {
  auto run = kernel_run(choice);
  if (!run) return refused(choice, run.error());
  if (!choice.files.any()) return library.record(run.value(), protocol);
  const auto own = load_inputs(choice.problem, choice.files, choice.inputs);
  if (!own) return refused(choice, own.error());
  run.value().files_hash = hash_of_inputs(own.value());
  return library.record_own(run.value(), own.value(), protocol);
}

}  // namespace

GpuRunner::GpuRunner(std::function<void()> on_news)
    : on_news_(std::move(on_news)), work_(std::async(std::launch::async, [this] { open(); })) {}

GpuRunner::Status GpuRunner::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void GpuRunner::run(const RunSpec& choice) {
  {
    const std::lock_guard lock(mutex_);
    if (status_.state != State::idle) return;
    status_.state = State::running;
  }
  work_ = std::async(std::launch::async, [this, choice] { measure(choice); });
}

std::vector<MeasuredRun> GpuRunner::take_results() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void GpuRunner::open() {
  const auto library = result_of(&KernelLibrary::load, "not enough memory to load the kernels");
  {
    const std::lock_guard lock(mutex_);
    status_.state = library ? State::idle : State::unavailable;
    if (library) library_ = library.value();
    if (library) status_.gpu_name = library_->device().name;
    if (!library) status_.reason = words(library.error(), Reader::screen);
  }
  if (on_news_) on_news_();
}

void GpuRunner::measure(const RunSpec& choice) {
  MeasuredRun run;
  try {
    const Protocol protocol;
    Recording recording = library_->empty_recording(protocol);
    recording.rows.push_back(row_of(*library_, choice, protocol));
    run = runs_of(recording, NumberKind::measured).front();
  } catch (const std::exception& error) {
    run.row = refused(choice, failed(error.what()));
    run.provenance.kind = NumberKind::measured;
  }
  {
    const std::lock_guard lock(mutex_);
    results_.push_back(std::move(run));
    status_.state = State::idle;
  }
  if (on_news_) on_news_();
}

}  // namespace attnscope::app
