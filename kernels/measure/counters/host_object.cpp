#include "kernels/measure/counters/host_object.h"

namespace attnscope::kernels {

CuptiFailure::CuptiFailure(const CuptiLibrary& cupti, CUptiResult code, const char* function)
    : CuptiFailure(cupti_error(cupti, code, function)) {}

HostObject::HostObject(const CuptiLibrary& cupti, const std::string& chip,
                       const std::vector<std::uint8_t>& availability_image)
    : cupti_(cupti) {
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip.c_str();
  params.pCounterAvailabilityImage =
      availability_image.empty() ? nullptr : availability_image.data();
  check_cupti(cupti_, cupti_.ProfilerHostInitialize(&params), "cuptiProfilerHostInitialize");
  object_ = params.pHostObject;
}

HostObject::~HostObject() {
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
  params.pHostObject = object_;
  cupti_.ProfilerHostDeinitialize(&params);
}

bool HostObject::add(const std::vector<const char*>& names) {
  std::vector<const char*> copy = names;
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, params);
  params.pHostObject = object_;
  params.ppMetricNames = copy.data();
  params.numMetrics = copy.size();
  return cupti_.ProfilerHostConfigAddMetrics(&params) == CUPTI_SUCCESS;
}

std::vector<std::uint8_t> HostObject::config_image() const {
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = object_;
  check_cupti(cupti_, cupti_.ProfilerHostGetConfigImageSize(&size),
              "cuptiProfilerHostGetConfigImageSize");
  std::vector<std::uint8_t> image(size.configImageSize);
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, params);
  params.pHostObject = object_;
  params.configImageSize = image.size();
  params.pConfigImage = image.data();
  check_cupti(cupti_, cupti_.ProfilerHostGetConfigImage(&params),
              "cuptiProfilerHostGetConfigImage");
  return image;
}

std::size_t HostObject::hardware_passes(std::vector<std::uint8_t>& config_image) const {
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, params);
  params.configImageSize = config_image.size();
  params.pConfigImage = config_image.data();
  check_cupti(cupti_, cupti_.ProfilerHostGetNumOfPasses(&params),
              "cuptiProfilerHostGetNumOfPasses");
  return params.numOfPasses;
}

std::vector<double> HostObject::evaluate(const std::vector<std::uint8_t>& counter_data,
                                         std::size_t range, std::vector<const char*> names) const {
  std::vector<double> values(names.size());
  ATTNSCOPE_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
  params.pHostObject = object_;
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.rangeIndex = range;
  params.ppMetricNames = names.data();
  params.numMetrics = names.size();
  params.pMetricValues = values.data();
  check_cupti(cupti_, cupti_.ProfilerHostEvaluateToGpuValues(&params),
              "cuptiProfilerHostEvaluateToGpuValues");
  return values;
}

}  // namespace attnscope::kernels
