/// CUPTI, loaded at run time: without it the program still starts.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>

#include "reference/result.h"

namespace attnscope::kernels {

/// The functions of CUPTI that measurements call, under their own names without the prefix.
// NOLINTBEGIN(readability-identifier-naming)
struct CuptiLibrary {
  decltype(&cuptiGetResultString) GetResultString;
  decltype(&cuptiSubscribe) Subscribe;
  decltype(&cuptiUnsubscribe) Unsubscribe;
  decltype(&cuptiEnableCallback) EnableCallback;
  decltype(&cuptiProfilerInitialize) ProfilerInitialize;
  decltype(&cuptiProfilerDeviceSupported) ProfilerDeviceSupported;
  decltype(&cuptiProfilerGetCounterAvailability) ProfilerGetCounterAvailability;
  decltype(&cuptiDeviceGetChipName) DeviceGetChipName;
  decltype(&cuptiProfilerHostInitialize) ProfilerHostInitialize;
  decltype(&cuptiProfilerHostDeinitialize) ProfilerHostDeinitialize;
  decltype(&cuptiProfilerHostConfigAddMetrics) ProfilerHostConfigAddMetrics;
  decltype(&cuptiProfilerHostGetConfigImageSize) ProfilerHostGetConfigImageSize;
  decltype(&cuptiProfilerHostGetConfigImage) ProfilerHostGetConfigImage;
  decltype(&cuptiProfilerHostGetNumOfPasses) ProfilerHostGetNumOfPasses;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) ProfilerHostEvaluateToGpuValues;
  decltype(&cuptiRangeProfilerEnable) RangeProfilerEnable;
  decltype(&cuptiRangeProfilerDisable) RangeProfilerDisable;
  decltype(&cuptiRangeProfilerGetCounterDataSize) RangeProfilerGetCounterDataSize;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) RangeProfilerCounterDataImageInitialize;
  decltype(&cuptiRangeProfilerSetConfig) RangeProfilerSetConfig;
  decltype(&cuptiRangeProfilerStart) RangeProfilerStart;
  decltype(&cuptiRangeProfilerStop) RangeProfilerStop;
  decltype(&cuptiRangeProfilerPushRange) RangeProfilerPushRange;
  decltype(&cuptiRangeProfilerPopRange) RangeProfilerPopRange;
  decltype(&cuptiRangeProfilerDecodeData) RangeProfilerDecodeData;
  decltype(&cuptiRangeProfilerGetCounterDataInfo) RangeProfilerGetCounterDataInfo;
  decltype(&cuptiRangeProfilerCounterDataGetRangeInfo) RangeProfilerCounterDataGetRangeInfo;
};
// NOLINTEND(readability-identifier-naming)

/// Loads CUPTI once, with the libnvperf libraries beside it: from the folder in
/// ATTNSCOPE_CUPTI_DIR, the loader's search path, CUDA_HOME or /usr/local/cuda. unavailable, with a
/// remedy, if there is none.
Result<const CuptiLibrary*> load_cupti();

/// One line for a code that a CUPTI function returned: its meaning and a remedy. unavailable for
/// missing permission and unsupported devices, otherwise failed.
Error cupti_error(const CuptiLibrary& cupti, CUptiResult code, const char* function);

}  // namespace attnscope::kernels
