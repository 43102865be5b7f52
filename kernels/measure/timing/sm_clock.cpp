#include "kernels/measure/timing/sm_clock.h"

#include <vector>

#include "kernels/measure/measuring_programs.h"
#include "kernels/measure/timing/statistics.h"

namespace attnscope::kernels {

namespace {

std::vector<SmClockReading> fetch(const DeviceBuffer& readings_dev) {
  std::vector<SmClockReading> readings(readings_dev.bytes() / sizeof(SmClockReading));
  readings_dev.copy_to_host(readings.data());
  return readings;
}

}  // namespace

SmClock::SmClock(CompiledKernels& kernels, Index sm_count)
    : kernels_(kernels),
      sm_count_(sm_count),
      before_(static_cast<std::size_t>(sm_count) * sizeof(SmClockReading)),
      after_(before_.bytes()) {}

void SmClock::read_before_pass(const Stream& stream) const {
  read(stream, before_);
}

void SmClock::read_after_pass(const Stream& stream) const {
  read(stream, after_);
}

void SmClock::read(const Stream& stream, const DeviceBuffer& readings) const {
  auto* const readings_dev = static_cast<SmClockReading*>(readings.data_dev());
  kernels_.start(sm_clock_program(), sm_count_, stream.get(), readings_dev);
}

std::optional<double> SmClock::mean_hz() const {
  return mean_sm_clock_hz(fetch(before_), fetch(after_));
}

}  // namespace attnscope::kernels
