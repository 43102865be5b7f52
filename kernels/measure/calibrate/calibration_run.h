/// A running calibration: launches kernels, times them and collects quantities. Call its functions
/// inside Session::run(), which turns their exceptions (such as CudaError) into errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/measure/calibrate/block_time.cuh"
#include "kernels/measure/calibrate/calibrate.h"
#include "kernels/measure/session.h"

namespace attnscope::kernels {

/// The name of a measurement, its unit and its method.
struct QuantityKind {
  std::string name, unit, how;
};

/// The values of one repeat: one for each quantity.
using Sample = std::function<std::vector<double>()>;

class CalibrationRun {
 public:
  CalibrationRun(Session& session, const CalibrationControl& control)
      : session_(session), control_(control) {}

  Session& session() { return session_; }
  const ProgramTarget& target() const { return session_.target(); }
  cudaStream_t stream() const { return session_.stream().get(); }
  CompiledKernels& kernels() { return session_.resources().kernels; }
  Index sm_count() const { return session_.device().sm_count; }
  Index l2_bytes() const { return session_.device().l2_bytes; }
  int repeats() const { return control_.repeats; }

  /// Calls `sample` once to warm up, then `repeats` times, and adds the medians.
  void measure(const std::vector<QuantityKind>& kinds, const Sample& sample, int repeats = 0);
  void measure(const QuantityKind& kind, const std::function<double()>& sample, int repeats = 0);
  /// Adds a quantity from its samples, or as unavailable, with the reason, if there are none.
  void add(const QuantityKind& kind, std::vector<double> samples, const std::string& reason = "");
  void add_unavailable(const QuantityKind& kind, const std::string& reason) {
    add(kind, {}, reason);
  }
  void show(std::string_view step) const {
    if (control_.progress) control_.progress(step);
  }

  /// Seconds, measured with events, of the work that `enqueue` puts on the stream. The stream is
  /// first kept busy for about 50 us per head start, so that the GPU does not wait for the host.
  double event_time_s(const std::function<void()>& enqueue, int head_starts = 1);

  /// Device memory for one BlockTime per block, valid until the next call.
  BlockTime* block_times_dev(Index blocks);
  /// Launches with `enqueue`, which receives that memory, and returns the times.
  std::vector<BlockTime> time_blocks(Index blocks,
                                     const std::function<void(BlockTime* times_dev)>& enqueue);

  std::vector<MeasuredQuantity> take_quantities() { return std::move(quantities_); }

 private:
  Session& session_;
  const CalibrationControl& control_;
  Event start_, stop_;
  DeviceBuffer times_;
  std::vector<MeasuredQuantity> quantities_;
};

/// Seconds from the start of the first block to the end of the last, by the GPU's timer.
double span_s(const std::vector<BlockTime>& blocks);
/// The median block's cycles.
double median_cycles(const std::vector<BlockTime>& blocks);
/// The SM clock, averaged over the blocks.
double clock_hz(const std::vector<BlockTime>& blocks);

/// The SM clock while one warp runs on each SM for about 0.2 ms: close to that of kernels that draw
/// little power.
double light_clock_hz(CalibrationRun& run);

// The parts of a calibration, in order.
void measure_dram(CalibrationRun& run);
void measure_l2(CalibrationRun& run);
void measure_latencies(CalibrationRun& run);
void measure_launches(CalibrationRun& run);
void measure_operations(CalibrationRun& run);
void measure_steps(CalibrationRun& run);
void measure_clocks(CalibrationRun& run);

}  // namespace attnscope::kernels
