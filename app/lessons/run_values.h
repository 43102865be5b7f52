/// The values of one run that expressions name. Each document is computed when it is first needed
/// and kept.
///
///   KEY...                       the document of `attnscope-cli simulate --check --json`; a tensor
///                                that is missing in "by_tensor" moved 0 bytes
///   gpu.KEY                      the GPU's description, assets/gpus/NAME.json
///   recorded.KEY                 the run in the document of `compare`, with the shipped recording
///                                of this run on this GPU
///   row, softmax, errors, orders  the document of `accuracy` at the run's size and type
///   schedule.KEY                 {"Tr", "Tc", "steps", "visits", "thread_blocks"} of the first
///   head
///                                and, for thread_blocks, of the largest launch of the whole run
///   online_softmax[query=q,j=j]  {"query", "i", "j", "m_prev", "row_max", "m", "alpha", "l_prev",
///                                "row_sum", "l", "O"} of each row and tile of keys of one head;
///                                O is its first column, not divided by l
#pragma once

#include <memory>

#include "app/lessons/expression.h"
#include "reference/run_spec.h"

namespace attnscope::lessons {

class RunValues {
 public:
  explicit RunValues(RunSpec spec);
  ~RunValues();

  const RunSpec& spec() const { return spec_; }

  /// The value of the path. Errors as in ValueSource; unavailable: times on a GPU without a
  /// calibration, or for steps that it does not have; DRAM bytes that take too long to predict; a
  /// run that was not recorded; values of a run that is too large for them.
  Result<Value> value(const Path& path);
  Result<Index> visit(Index n);
  Result<Index> launch(Index n);
  Result<TilePlace> tile(Index step);
  /// The first step whose result differs between this run and another one. invalid_request unless
  /// both have the same operations; unavailable, when no result differs.
  Result<Index> first_difference(RunValues& other);

 private:
  struct Documents;
  RunSpec spec_;
  std::unique_ptr<Documents> documents_;
};

}  // namespace attnscope::lessons
