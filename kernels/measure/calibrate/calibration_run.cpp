#include "kernels/measure/calibrate/calibration_run.h"

#include <algorithm>
#include <cmath>

#include "kernels/measure/timing/statistics.h"
#include "reference/check.h"

namespace attnscope::kernels {

void CalibrationRun::measure(const std::vector<QuantityKind>& kinds, const Sample& sample,
                             int repeats) {
  show(kinds.front().name);
  sample();
  std::vector<std::vector<double>> samples(kinds.size());
  for (int n = 0; n < (repeats > 0 ? repeats : control_.repeats); ++n) {
    const std::vector<double> values = sample();
    ATTNSCOPE_CHECK(values.size(), ==, kinds.size());
    for (std::size_t k = 0; k < kinds.size(); ++k) samples[k].push_back(values[k]);
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) add(kinds[k], std::move(samples[k]));
}

void CalibrationRun::measure(const QuantityKind& kind, const std::function<double()>& sample,
                             int repeats) {
  measure(
      std::vector{kind}, [&] { return std::vector{sample()}; }, repeats);
}

void CalibrationRun::add(const QuantityKind& kind, std::vector<double> samples,
                         const std::string& reason) {
  MeasuredQuantity quantity{.name = kind.name, .unit = kind.unit, .how = kind.how};
  const bool has_meaning =
      std::ranges::all_of(samples, [](double value) { return std::isfinite(value) && value > 0; });
  if (samples.empty() || !has_meaning) {
    quantity.unavailable =
        samples.empty() ? reason : "a repeat gave a value that is not above 0; measure again";
  } else {
    const TimeStatistics statistics = statistics_of(std::move(samples));
    quantity.value = to_seven_digits(statistics.median_s);
    quantity.min = to_seven_digits(statistics.min_s);
    quantity.max = to_seven_digits(statistics.max_s);
    quantity.n = statistics.n;
  }
  quantities_.push_back(std::move(quantity));
}

double CalibrationRun::event_time_s(const std::function<void()>& enqueue, int head_starts) {
  const Stream& stream = session_.stream();
  for (int n = 0; n < head_starts; ++n) session_.conditioning().give_head_start(stream);
  start_.record(stream);
  enqueue();
  stop_.record(stream);
  stop_.wait();
  return stop_.seconds_since(start_);
}

BlockTime* CalibrationRun::block_times_dev(Index blocks) {
  const std::size_t bytes = static_cast<std::size_t>(blocks) * sizeof(BlockTime);
  if (times_.bytes() < bytes) times_ = DeviceBuffer(bytes);
  return static_cast<BlockTime*>(times_.data_dev());
}

std::vector<BlockTime> CalibrationRun::time_blocks(
    Index blocks, const std::function<void(BlockTime* times_dev)>& enqueue) {
  const std::size_t bytes = static_cast<std::size_t>(blocks) * sizeof(BlockTime);
  enqueue(block_times_dev(blocks));
  session_.stream().wait();
  std::vector<BlockTime> times(static_cast<std::size_t>(blocks));
  ATTNSCOPE_CUDA(cudaMemcpy(times.data(), times_.data_dev(), bytes, cudaMemcpyDeviceToHost));
  return times;
}

double span_s(const std::vector<BlockTime>& blocks) {
  const auto begin = std::ranges::min_element(blocks, {}, &BlockTime::begin_ns);
  const auto end = std::ranges::max_element(blocks, {}, &BlockTime::end_ns);
  return static_cast<double>(end->end_ns - begin->begin_ns) * 1e-9;
}

double median_cycles(const std::vector<BlockTime>& blocks) {
  std::vector<double> cycles;
  cycles.reserve(blocks.size());
  for (const BlockTime& block : blocks) {
    cycles.push_back(static_cast<double>(block.end_cycles - block.begin_cycles));
  }
  return median_of(std::move(cycles));
}

double clock_hz(const std::vector<BlockTime>& blocks) {
  double cycles = 0, ns = 0;
  for (const BlockTime& block : blocks) {
    cycles += static_cast<double>(block.end_cycles - block.begin_cycles);
    ns += static_cast<double>(block.end_ns - block.begin_ns);
  }
  return ns > 0 ? cycles / (ns * 1e-9) : 0;
}

std::vector<MeasuredQuantity> calibrate(Session& session, const CalibrationControl& control) {
  CalibrationRun run(session, control);
  measure_dram(run);
  measure_l2(run);
  measure_latencies(run);
  measure_launches(run);
  measure_operations(run);
  measure_steps(run);
  measure_clocks(run);
  return run.take_quantities();
}

}  // namespace attnscope::kernels
