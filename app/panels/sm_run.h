/// A run as blocks on SMs in time: the model's beside one that a GPU's instrumented kernel
/// recorded. Computes and reads files; draws nothing.
#pragma once

#include <string>
#include <vector>

#include "kernels/trace/kernel_trace.h"
#include "sim/device/gpu_description.h"
#include "sim/ops/tile_op.h"

namespace attnscope::app {

/// What a thread block did for a while.
struct SmStep {
  std::string what;  ///< "load K_j", "S = Q_i K_j^T"
  Tensor tensor = Tensor::Q;
  bool waiting = false;
  std::int32_t i = 0;
  std::int32_t j = 0;
  Index begin_ps = 0;
  Index end_ps = 0;
};

struct SmBlock {
  Index sm = 0;
  Index slot = 0;  ///< which of the SM's resident blocks
  Index batch = 0;
  Index head = 0;
  Index block = 0;  ///< within the head
  Index begin_ps = 0;
  Index end_ps = 0;
  std::vector<SmStep> steps;
};

struct SmRun {
  std::vector<SmBlock> blocks;
  Index end_ps = 0;
  Index slots = 1;  ///< most blocks that are resident on one SM
};

/// One launch of one problem, modelled and recorded.
struct SmRunPair {
  KernelTrace trace;  ///< without the steps, which are in `recorded`
  std::string name;   ///< of its file
  SmRun modelled;     ///< lower bound from the datasheet of `gpu`
  SmRun recorded;
  std::string gpu;            ///< the modelled GPU
  std::vector<Index> sms;     ///< SMs with blocks in either, ascending
  bool same_problem = false;  ///< as what was asked for
  std::string variant;        ///< that was asked for of this problem and that no kernel runs
};

/// What a recorded run is looked for by.
struct SmRunKey {
  AttentionProblem problem;
  std::string algorithm;
  PassKind pass = PassKind::forward;
  Tiling tiling;
  std::string variant = {};  ///< in words; traces are of none
  bool operator==(const SmRunKey&) const = default;
};

SmRun recorded_run(const KernelTrace& trace);

/// The traced launch of the trace's problem by the model. The algorithm and the GPU must exist.
Result<SmRun> modelled_run(const KernelTrace& trace, const GpuDescription& gpu);

/// The recorded run of assets/recordings/traces that suits best: the same problem and tiling, else
/// another run of the same algorithm and pass. unavailable when there is none.
Result<SmRunPair> find_sm_run(const SmRunKey& key);

/// The recorded m, l and alpha of a row of the shown head; nullptr where there is none.
const TracedRow* find_row(const KernelTrace& trace, Index batch, Index head, Index row);

}  // namespace attnscope::app
