#include "app/gpu_runner.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

#include "app/own_inputs.h"
#include "app/step_simulator.h"
#include "kernels/catalog.h"
#include "kernels/client/kernel_library.h"

namespace attnscope::app {

namespace {

/// The kernel that the choice asks for. cuBLAS chooses the tiles of standard's products itself.
KernelChoice kernel_of(const Choice& choice) {
  KernelChoice kernel{choice.algorithm, choice.tiling, choice.carry};
  kernel.pass = parse_pass(choice.pass).value_or(PassKind::forward);
  if (choice.algorithm == "standard") kernel.tiling.reset();
  return kernel;
}

/// Why the kernel is not the twin of what the screen shows; nothing when it is.
std::optional<Error> other_than_kernel(const Choice& choice) {
  if (choice.pass == to_string(PassKind::both)) {
    return invalid_request("a kernel is measured one pass at a time: forward or backward");
  }
  if (choice.splits > 0) {
    return invalid_request(fmt::format(
        "the kernel cuts the keys by its own rule, not into {} splits; choose splits: by rule",
        choice.splits));
  }
  if (packs_groups(choice)) {
    return invalid_request(
        "the kernel gives every query head its own thread blocks; choose group: separate heads");
  }
  if (choice.skip_unused_kv && choice.pass == to_string(PassKind::backward)) {
    return invalid_request(
        "the kernel loads K and V of every column tile, used or not; choose unused K, V: loaded");
  }
  if (const std::string variant = to_string(choice.variant); !variant.empty()) {
    return invalid_request(fmt::format("no kernel is {} with {}; choose the algorithm as it is",
                                       choice.algorithm, variant));
  }
  return std::nullopt;
}

/// The problem with its block mask.
Result<AttentionProblem> problem_of(const Choice& choice) {
  if (!choice.block_mask) return choice.problem;
  const Result<SimulationRequest> request = simulation_of(choice);
  if (!request) return request.error();
  return request.value().problem;
}

/// The row that measuring the choice gives; an error is a row, too.
MeasuredRun measure(KernelLibrary& library, const Choice& choice) {
  const Protocol protocol;
  const KernelChoice kernel = kernel_of(choice);
  Recording recording = library.empty_recording(protocol);
  const auto refused = [&](Error error) {
    RecordingRow row = describe_run(choice.problem, kernel, choice.inputs);
    row.error = std::move(error);
    return row;
  };
  const auto row = [&]() -> RecordingRow {
    if (auto error = other_than_kernel(choice)) return refused(std::move(*error));
    const Result<std::optional<AttentionInputs>> own = read_own_inputs(choice);
    if (!own) return refused(own.error());
    const Result<AttentionProblem> problem = problem_of(choice);
    if (!problem) return refused(problem.error());
    if (own.value()) return library.record_own(problem.value(), kernel, *own.value(), protocol);
    return library.record(problem.value(), kernel, choice.inputs, protocol);
  };
  recording.rows.push_back(row());
  return runs_of(recording, NumberKind::measured).front();
}

/// The library, or why there is none.
Result<std::shared_ptr<KernelLibrary>> load_library() {
  try {
    return KernelLibrary::load();
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace

GpuRunner::GpuRunner(std::function<void()> on_news)
    : on_news_(std::move(on_news)), thread_([this] { work(); }) {}

GpuRunner::~GpuRunner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  thread_.join();
}

GpuRunner::State GpuRunner::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string GpuRunner::gpu_name() const {
  const std::lock_guard lock(mutex_);
  return gpu_name_;
}

std::string GpuRunner::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void GpuRunner::run(const Choice& choice) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::idle) return;
    state_ = State::running;
    waiting_ = choice;
  }
  wanted_.notify_all();
}

std::vector<MeasuredRun> GpuRunner::take_results() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void GpuRunner::work() {
  const Result<std::shared_ptr<KernelLibrary>> library = load_library();
  {
    const std::lock_guard lock(mutex_);
    state_ = library ? State::idle : State::unavailable;
    if (library) gpu_name_ = library.value()->device().name;
    if (!library) reason_ = library.error().message;
  }
  if (on_news_) on_news_();
  if (!library) return;

  for (;;) {
    std::unique_lock lock(mutex_);
    wanted_.wait(lock, [this] { return stopping_ || waiting_.has_value(); });
    if (stopping_) return;
    const Choice choice = *std::exchange(waiting_, std::nullopt);
    lock.unlock();

    MeasuredRun run;
    try {
      run = measure(*library.value(), choice);
    } catch (const std::exception& error) {
      run.row.problem = choice.problem;
      run.row.algorithm = choice.algorithm;
      run.row.error = failed(error.what());
      run.provenance.kind = NumberKind::measured;
    }

    lock.lock();
    results_.push_back(std::move(run));
    state_ = State::idle;
    lock.unlock();
    if (on_news_) on_news_();
  }
}

}  // namespace attnscope::app
