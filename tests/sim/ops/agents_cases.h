/// Runs by agents, forward and backward, and what they send to observers.
#pragma once

#include <string>
#include <vector>

#include "sim/resolve.h"
#include "sim/snapshot/describe_op.h"
#include "tests/sim/schedule/schedule_cases.h"

namespace attnscope::test {

/// A request with row tiles of 24 rows, which up to four consumers can share; backward, with
/// column tiles of 24 keys.
inline ModelRequest agents_request(const AttentionProblem& problem, Index consumers, Index stages,
                                   PassKind pass = PassKind::forward) {
  ModelRequest request;
  request.problem = problem;
  request.algorithm = "flash2";
  request.pass = pass;
  request.set_tiling(pass == PassKind::forward ? Tiling{24, 16} : Tiling{12, 24});
  request.variant = {.stages = stages, .consumers = consumers};
  request.gpu_description = load_gpu("h200").value();
  return request;
}

inline AttentionProblem packed(AttentionProblem problem) {
  problem.cu_seqlens_q = {0, 30, 30, 80};
  problem.cu_seqlens_k = {0, 60, 70, 110};
  return problem;
}

inline std::vector<AttentionProblem> agents_problems() {
  const AttentionProblem plain{.heads = 2, .kv_heads = 1, .N = 80, .N_kv = 110, .d = 8};
  std::vector<AttentionProblem> all;
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left),
                           Mask::window(20, 3), Mask::window(0, 0)}) {
    AttentionProblem problem = plain;
    problem.mask = mask;
    all.push_back(problem);
    all.push_back(packed(problem));
  }
  AttentionProblem odd{.N = 61, .N_kv = 47, .d = 5, .mask = Mask::causal()};
  odd.score = {20.0, {0.25}, {0.2, 3}};
  all.push_back(odd);
  AttentionProblem padded{.batch = 2, .N = 5, .N_kv = 90, .d = 16};
  padded.key_lengths = {33, 0};
  all.push_back(padded);
  return all;
}

/// The operations of a head, and the agents that wait forever.
struct AgentsStream : Observer {
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) listed.push_back(op_listing(op));
  }
  void deadlock(std::span<const StuckAgent> agents) override {
    for (const StuckAgent& each : agents) stuck.push_back(stuck_words(each));
  }
  std::vector<std::string> listed, stuck;
};

inline AgentsStream agents_stream(const ModelRequest& request) {
  const ResolvedRun run = resolve(request).value();
  const ScheduleOptions options = schedule_options(run, request.gpu_description);
  AgentsStream stream;
  Observer* const observers[] = {&stream};
  run_head(make_pass(*find_algorithm(run.algorithm()), run.pass(), options),
           {run.problem, run.tiling, options, {}}, 0, 0, observers);
  return stream;
}

}  // namespace attnscope::test
