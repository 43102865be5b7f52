#include "kernels/measure/counters/counter_profiler.h"

#include <fmt/core.h>

#include <array>

#include "kernels/measure/counters/counter_totals.h"
#include "kernels/measure/counters/cupti_library.h"
#include "kernels/measure/counters/host_object.h"

namespace attnscope::kernels {

namespace {

/// The most important counters come first: they share the first run of the pass.
constexpr std::array kCounterNames{
    counter::kRequestedReadBytes,  counter::kL2ReadSectors,      counter::kL2WriteSectors,
    counter::kDramReadBytes,       counter::kDramWriteBytes,     counter::kTimeNs,
    counter::kTensorActivePercent, counter::kL2ReductionSectors, counter::kRequestedWriteBytes,
    counter::kL2HitSectors,
};

constexpr std::size_t kMaxLaunches = 64;

CUcontext current_context() {
  constexpr unsigned kSinceCuda = 12000;
  void* const function = driver_function("cuCtxGetCurrent", kSinceCuda);
  CUcontext context = nullptr;
  if (function != nullptr) reinterpret_cast<decltype(&cuCtxGetCurrent)>(function)(&context);
  return context;
}

/// Enables the range profiler for the current context during its lifetime.
class RangeProfiler {
 public:
  RangeProfiler(const CuptiLibrary& cupti, CUcontext context) : cupti_(cupti) {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, params);
    params.ctx = context;
    check_cupti(cupti_, cupti_.RangeProfilerEnable(&params), "cuptiRangeProfilerEnable");
    object_ = params.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
    params.pRangeProfilerObject = object_;
    cupti_.RangeProfilerDisable(&params);
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  std::vector<std::uint8_t> counter_data(const CounterGroup& group) const {
    std::vector<const char*> names = group.c_names();
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = kMaxLaunches;
    size.maxNumRangeTreeNodes = kMaxLaunches;
    check_cupti(cupti_, cupti_.RangeProfilerGetCounterDataSize(&size),
                "cuptiRangeProfilerGetCounterDataSize");
    std::vector<std::uint8_t> data(size.counterDataSize);
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, params);
    params.pRangeProfilerObject = object_;
    params.counterDataSize = data.size();
    params.pCounterData = data.data();
    check_cupti(cupti_, cupti_.RangeProfilerCounterDataImageInitialize(&params),
                "cuptiRangeProfilerCounterDataImageInitialize");
    return data;
  }

  void configure(const CounterGroup& group, std::vector<std::uint8_t>& counter_data,
                 std::size_t hardware_pass) const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
    params.pRangeProfilerObject = object_;
    params.configSize = group.config_image.size();
    params.pConfig = group.config_image.data();
    params.counterDataImageSize = counter_data.size();
    params.pCounterDataImage = counter_data.data();
    params.range = CUPTI_UserRange;
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = kMaxLaunches;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = hardware_pass;
    params.targetNestingLevel = 1;
    check_cupti(cupti_, cupti_.RangeProfilerSetConfig(&params), "cuptiRangeProfilerSetConfig");
  }

  void start() const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, params);
    params.pRangeProfilerObject = object_;
    check_cupti(cupti_, cupti_.RangeProfilerStart(&params), "cuptiRangeProfilerStart");
  }
  void push(const std::string& name) const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, params);
    params.pRangeProfilerObject = object_;
    params.pRangeName = name.c_str();
    check_cupti(cupti_, cupti_.RangeProfilerPushRange(&params), "cuptiRangeProfilerPushRange");
  }
  void pop() const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, params);
    params.pRangeProfilerObject = object_;
    check_cupti(cupti_, cupti_.RangeProfilerPopRange(&params), "cuptiRangeProfilerPopRange");
  }
  /// Whether all hardware passes have run.
  bool stop() const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
    params.pRangeProfilerObject = object_;
    check_cupti(cupti_, cupti_.RangeProfilerStop(&params), "cuptiRangeProfilerStop");
    return params.isAllPassSubmitted != 0;
  }
  /// Number of lost ranges.
  std::size_t decode() const {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = object_;
    check_cupti(cupti_, cupti_.RangeProfilerDecodeData(&params), "cuptiRangeProfilerDecodeData");
    return params.numOfRangeDropped;
  }

 private:
  const CuptiLibrary& cupti_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
};

/// Range names are unique ("00007 scores"), since a pass may use the same name for several
/// launches.
constexpr std::size_t kRangePrefix = 6;
std::string range_name(std::size_t index, std::string_view launch) {
  return fmt::format("{:05} {}", index, launch);
}

std::vector<std::pair<std::size_t, std::string>> ranges_in(
    const CuptiLibrary& cupti, const std::vector<std::uint8_t>& counter_data) {
  ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = counter_data.data();
  info.counterDataImageSize = counter_data.size();
  check_cupti(cupti, cupti.RangeProfilerGetCounterDataInfo(&info),
              "cuptiRangeProfilerGetCounterDataInfo");
  std::vector<std::pair<std::size_t, std::string>> ranges;
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
    ATTNSCOPE_CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, range);
    range.pCounterDataImage = counter_data.data();
    range.counterDataImageSize = counter_data.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    check_cupti(cupti, cupti.RangeProfilerCounterDataGetRangeInfo(&range),
                "cuptiRangeProfilerCounterDataGetRangeInfo");
    ranges.emplace_back(i, range.rangeName);
  }
  return ranges;
}

/// Puts L2 into the state in which the pass begins.
std::optional<Error> condition(const Stream& stream, const Conditioning& conditioning,
                               const Pass& pass, CacheState cache) {
  if (cache == CacheState::cold) {
    conditioning.sweep_cache(stream);
  } else if (auto error = pass({})) {
    return error;
  }
  stream.wait();
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<CounterProfiler>> CounterProfiler::create(
    int device, const Stream& stream, const Conditioning& conditioning) try {
  const auto loaded = load_cupti();
  if (!loaded) return loaded.error();
  const CuptiLibrary& cupti = *loaded.value();
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  check_cupti(cupti, cupti.ProfilerInitialize(&initialize), "cuptiProfilerInitialize");

  // Query the chip's counters, and those that this machine permits
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(device);
  check_cupti(cupti, cupti.DeviceGetChipName(&chip), "cuptiDeviceGetChipName");
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, availability);
  availability.ctx = current_context();
  check_cupti(cupti, cupti.ProfilerGetCounterAvailability(&availability),
              "cuptiProfilerGetCounterAvailability");
  std::vector<std::uint8_t> image(availability.counterAvailabilityImageSize);
  availability.pCounterAvailabilityImage = image.data();
  check_cupti(cupti, cupti.ProfilerGetCounterAvailability(&availability),
              "cuptiProfilerGetCounterAvailability");
  auto plan = plan_counters(cupti, chip.pChipName, std::move(image), kCounterNames);
  if (!plan) return plan.error();
  if (plan.value().groups.empty()) {
    return unavailable("none of the planned hardware counters exists on the chip {}",
                       plan.value().chip);
  }

  // Run the profiler once: its first use is slow, and reveals a missing permission
  const CounterPlan& planned = plan.value();
  auto host = std::make_shared<const HostObject>(cupti, planned.chip, planned.availability_image);
  std::unique_ptr<CounterProfiler> profiler(
      new CounterProfiler(cupti, std::move(plan).value(), std::move(host)));
  const Pass sweep_pass = [&](const LaunchMarks& marks) -> std::optional<Error> {
    if (marks.before) marks.before("sweep");
    conditioning.sweep_cache(stream);
    if (marks.after) marks.after("sweep");
    return std::nullopt;
  };
  const auto trial = profiler->collect(stream, conditioning, sweep_pass, CacheState::warm);
  if (!trial) return trial.error();
  return profiler;
} catch (const CuptiFailure& failure) {
  return failure.error();
}

Result<std::vector<LaunchCounters>> CounterProfiler::collect(const Stream& stream,
                                                             const Conditioning& conditioning,
                                                             const Pass& pass,
                                                             CacheState cache) const try {
  std::vector<LaunchCounters> launches;
  const CUcontext context = current_context();
  for (const CounterGroup& group : plan_.groups) {
    const RangeProfiler profiler(cupti_, context);
    std::vector<std::uint8_t> data = profiler.counter_data(group);
    profiler.configure(group, data, 0);

    // Run the pass until the hardware has collected all of the group's counters
    bool complete = false;
    for (std::size_t run = 0; run < group.hardware_passes && !complete; ++run) {
      std::size_t launch_index = 0;
      LaunchMarks marks;
      marks.before = [&](std::string_view launch) {
        profiler.push(range_name(launch_index++, launch));
      };
      marks.after = [&](std::string_view) { profiler.pop(); };
      profiler.start();  // evicts L2's contents, so conditioning comes after it; nothing outside
                         // ranges is counted
      auto error = condition(stream, conditioning, pass, cache);
      if (!error) error = pass(marks);
      stream.wait();
      complete = profiler.stop();
      if (error) return *error;
    }
    if (!complete)
      return failed("hardware counters: the profiler requested more passes than planned");
    if (profiler.decode() != 0) return failed("hardware counters: the profiler lost launches");

    // Translate to values, launch by launch
    for (const auto& [range, name] : ranges_in(cupti_, data)) {
      const std::size_t launch = std::stoul(name);
      if (launch >= launches.size()) launches.resize(launch + 1);
      launches[launch].name = name.substr(kRangePrefix);
      launches[launch].counted = is_counted(launches[launch].name);
      const std::vector<double> values = host_->evaluate(data, range, group.c_names());
      for (std::size_t i = 0; i < values.size(); ++i) {
        launches[launch].counters.emplace(group.names[i], values[i]);
      }
    }
  }
  return launches;
} catch (const CuptiFailure& failure) {
  return failure.error();
}

}  // namespace attnscope::kernels
