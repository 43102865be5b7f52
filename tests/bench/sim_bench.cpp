/// Speed of the model on one core: tile operations counted per second, the time to count one long
/// head, and the time of seeks. Prints one line per figure, with its target; the exit status is 1
/// if one is missed. Seconds are the thread's own processor time, so that other programs on the
/// machine do not count.

#include <fmt/core.h>

#include <time.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sim/observers/flop_counter.h"
#include "sim/observers/traffic_counter.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/stepped_run.h"
#include "tests/support/model_request.h"

namespace attnscope {
namespace {

/// Processor time of this thread, in seconds.
double now_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool report(std::string_view what, double value, std::string_view unit, bool met,
            std::string_view bar) {
  fmt::print("{:<64} {:>9.3g} {:<6} bar {:<12} {}\n", what, value, unit, bar,
             met ? "met" : "MISSED");
  return met;
}

/// Times the counting of one head of N queries and keys by one observer; returns whether the target
/// is met.
bool bench_counting(std::string_view algorithm) {
  const AttentionProblem problem{.N = 65536, .N_kv = 65536, .d = 64};
  TrafficCounter traffic;
  OpCounter ops;
  Observer* const counters[] = {&traffic};
  Observer* const op_counter[] = {&ops};
  const Pass pass = make_pass(*find_algorithm(algorithm), PassKind::forward, {});
  const PassRun run{problem, {64, 64}, {}, {}};
  run_head(pass, run, 0, 0, op_counter);
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = now_s();
    run_head(pass, run, 0, 0, counters);
    best = std::min(best, now_s() - start);
  }
  const double ops_per_s =
      static_cast<double>(std::reduce(ops.launches().begin(), ops.launches().end())) / best;
  return report(fmt::format("{}: tile operations counted a second, N = 65,536", algorithm),
                ops_per_s / 1e6, "M/s", ops_per_s >= 50e6, ">= 50 M/s");
}

bool bench_long_head(std::string_view algorithm, PassKind pass) {
  test::ModelRequest request;
  request.problem = {.N = 131072, .N_kv = 131072, .d = 64};
  request.algorithm = algorithm;
  request.pass = pass;
  request.set_tiling({128, 128});
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;  // flash1's backward pass slightly exceeds the registers
  const double start = now_s();
  const bool ok = simulate(request).ok();
  const double seconds = now_s() - start;
  return report(fmt::format("{}: {} of one head, N = 131,072, 128 x 128 tiles", algorithm,
                            pass == PassKind::both ? "both passes" : "forward"),
                seconds, "s", ok && seconds < 2, "< 2 s");
}

/// Times both passes of one head of packed sequences, with every step of the score function.
bool bench_packed(std::string_view algorithm) {
  test::ModelRequest request;
  request.problem = {.N = 131072, .N_kv = 131072, .d = 64, .mask = Mask::causal()};
  request.problem.score = {30.0, standard_alibi_slopes(1), {0.1, 1}};
  for (Index begin = 0; begin <= request.problem.N; begin += request.problem.N / 4) {
    request.problem.cu_seqlens_q.push_back(begin);
  }
  request.problem.cu_seqlens_k = request.problem.cu_seqlens_q;
  request.algorithm = algorithm;
  request.pass = PassKind::both;
  request.set_tiling({128, 128});
  request.gpu_description = load_gpu("h200").value();
  request.allow_overflow = true;  // P~ and the cap's derivative need space, too
  const double start = now_s();
  const bool ok = simulate(request).ok();
  const double seconds = now_s() - start;
  return report(fmt::format("{}: both passes, 4 packed sequences of 32,768, all steps", algorithm),
                seconds, "s", ok && seconds < 2, "< 2 s");
}

/// Times the drawing and counting of a random block mask over a long sequence.
bool bench_block_sparse(std::string_view algorithm) {
  test::ModelRequest request;
  request.problem = {.N = 65536, .N_kv = 65536, .d = 64};
  request.algorithm = algorithm;
  request.pass = PassKind::both;
  request.set_tiling({64, 64});
  request.gpu_description = load_gpu("h200").value();
  request.block_mask = parse_block_pattern("random:0.05").value();
  const double start = now_s();
  const bool ok = simulate(request).ok();
  const double seconds = now_s() - start;
  return report(fmt::format("{}: both passes, N = 65,536, 5 % of 64 x 64 tiles", algorithm),
                seconds, "s", ok && seconds < 1, "< 1 s");
}

/// Times seeks to random steps; the slowest must finish within a frame.
bool bench_seek(std::string_view algorithm) {
  test::ModelRequest request;
  request.problem = {.N = 1024, .N_kv = 1024, .d = 64, .dtype = DType::fp16};
  request.algorithm = algorithm;
  request.set_tiling({32, 32});
  request.round_to_storage = true;
  request.gpu_description = load_gpu("h200").value();
  const double begin = now_s();
  auto run =
      SteppedRun::create({.run = test::resolve(request).value(), .gpu = request.gpu_description});
  if (!run.ok()) return false;
  const double create_s = now_s() - begin;
  std::mt19937_64 random(1);
  std::vector<double> times_s;
  for (int n = 0; n < 200; ++n) {
    const auto count = static_cast<std::uint64_t>(run.value()->info()->step_count);
    const auto step = static_cast<Index>(random() % count);
    const double start = now_s();
    const Snapshot snapshot = run.value()->at(step);
    times_s.push_back(now_s() - start);
    if (snapshot.step != step) return false;
  }
  std::ranges::sort(times_s);
  fmt::print("{:<64} {:>9.3g} s\n",
             fmt::format("{}: prepare N = 1024, d = 64, 32 x 32 tiles", algorithm), create_s);
  report(fmt::format("{}: seek to a random step, median", algorithm),
         1e3 * times_s[times_s.size() / 2], "ms", times_s[times_s.size() / 2] <= 0.016, "<= 16 ms");
  return report(fmt::format("{}: seek to a random step, slowest of 200", algorithm),
                1e3 * times_s.back(), "ms", times_s.back() <= 0.016, "<= 16 ms");
}

}  // namespace
}  // namespace attnscope

int main() {
  bool met = true;
  for (const attnscope::Algorithm& algorithm : attnscope::algorithms()) {
    met &= attnscope::bench_counting(algorithm.name);
    met &= attnscope::bench_long_head(algorithm.name, algorithm.has_backward
                                                          ? attnscope::PassKind::both
                                                          : attnscope::PassKind::forward);
    if (algorithm.has_backward) met &= attnscope::bench_packed(algorithm.name);
    met &= attnscope::bench_seek(algorithm.name);
    if (algorithm.takes_block_mask) met &= attnscope::bench_block_sparse(algorithm.name);
  }
  return met ? 0 : 1;
}
