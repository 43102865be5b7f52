/// The values of one run that expressions name. Each document is computed when it is first needed
/// and kept.
///
///   KEY...                       the document of `attnscope-cli simulate --check --json`; a tensor
///                                that is missing in "by_tensor" moved 0 bytes
///   gpu.KEY                      the GPU's description, assets/gpus/NAME.json
///   measured.KEY                 the run in the document of `compare`, with the measurement of
///                                exactly this run on this GPU: of this session if there is one
///                                that has the value, else of a shipped recording; and its "time"
///                                in the document of `measure`
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
#include "kernels/recording/recording_row.h"
#include "reference/run_spec.h"

namespace attnscope::lessons {

/// The runs measured on this machine's GPU in this session, the newest last; null: none.
using SessionRuns = std::shared_ptr<const std::vector<Recording>>;

/// Whether the path begins with "measured".
bool is_measured(const Path& path);

class RunValues {
 public:
  RunValues(RunSpec spec, SessionRuns session);
  ~RunValues();

  const RunSpec& spec() const { return spec_; }
  /// Replaces the session's runs; keeps all values that do not come from them.
  void set_session(SessionRuns session);

  /// The value of the path. Errors as in ValueSource; unavailable: times on a GPU without a
  /// calibration, or for steps that it lacks; DRAM bytes that take too long to predict; a run or a
  /// counter that was not measured; values of a run that is too large for them.
  Result<Value> value(const Path& path);
  /// The session's measurement that has the value of this path into "measured"; nothing if the
  /// value is from a shipped recording. Errors as in value().
  Result<std::optional<Recording>> measurement_of(const Path& path);
  Result<Index> visit(Index n);
  Result<Index> launch(Index n);
  Result<TilePlace> tile(Index step);
  /// The first step whose result differs between this run and another one. invalid_request unless
  /// both have the same operations; unavailable, when no result differs.
  Result<Index> first_difference(RunValues& other);

 private:
  struct Documents;
  struct FoundValue;
  Result<FoundValue> measured_value(const Path& path);

  RunSpec spec_;
  SessionRuns session_;
  std::unique_ptr<Documents> documents_;
};

}  // namespace attnscope::lessons
