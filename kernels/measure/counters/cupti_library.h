/// CUPTI, loaded at run time: without it the program still starts.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "kernels/shared_library.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// The functions of CUPTI that measurements call, under their own names without the prefix.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
struct CuptiLibrary {
  SharedLibrary library;
#define ATTNSCOPE_CUPTI(name) decltype(&cupti##name) name = library.require("cupti" #name)
  ATTNSCOPE_CUPTI(GetResultString);
  ATTNSCOPE_CUPTI(Subscribe);
  ATTNSCOPE_CUPTI(Unsubscribe);
  ATTNSCOPE_CUPTI(EnableCallback);
  ATTNSCOPE_CUPTI(ProfilerInitialize);
  ATTNSCOPE_CUPTI(ProfilerDeviceSupported);
  ATTNSCOPE_CUPTI(ProfilerGetCounterAvailability);
  ATTNSCOPE_CUPTI(DeviceGetChipName);
  ATTNSCOPE_CUPTI(ProfilerHostInitialize);
  ATTNSCOPE_CUPTI(ProfilerHostDeinitialize);
  ATTNSCOPE_CUPTI(ProfilerHostConfigAddMetrics);
  ATTNSCOPE_CUPTI(ProfilerHostGetConfigImageSize);
  ATTNSCOPE_CUPTI(ProfilerHostGetConfigImage);
  ATTNSCOPE_CUPTI(ProfilerHostGetNumOfPasses);
  ATTNSCOPE_CUPTI(ProfilerHostEvaluateToGpuValues);
  ATTNSCOPE_CUPTI(RangeProfilerEnable);
  ATTNSCOPE_CUPTI(RangeProfilerDisable);
  ATTNSCOPE_CUPTI(RangeProfilerGetCounterDataSize);
  ATTNSCOPE_CUPTI(RangeProfilerCounterDataImageInitialize);
  ATTNSCOPE_CUPTI(RangeProfilerSetConfig);
  ATTNSCOPE_CUPTI(RangeProfilerStart);
  ATTNSCOPE_CUPTI(RangeProfilerStop);
  ATTNSCOPE_CUPTI(RangeProfilerPushRange);
  ATTNSCOPE_CUPTI(RangeProfilerPopRange);
  ATTNSCOPE_CUPTI(RangeProfilerDecodeData);
  ATTNSCOPE_CUPTI(RangeProfilerGetCounterDataInfo);
  ATTNSCOPE_CUPTI(RangeProfilerCounterDataGetRangeInfo);
#undef ATTNSCOPE_CUPTI
};
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

/// Loads CUPTI once, with the libnvperf libraries beside it: from the folder in
/// ATTNSCOPE_CUPTI_DIR, the loader's search path, CUDA_HOME or /usr/local/cuda. unavailable, with a
/// remedy, if there is none.
Result<const CuptiLibrary*> load_cupti();

/// One line for a code that a CUPTI function returned: its meaning and a remedy. unavailable for
/// missing permission and unsupported devices, otherwise failed.
Error cupti_error(const CuptiLibrary& cupti, CUptiResult code, const char* function);

}  // namespace attnscope::kernels
