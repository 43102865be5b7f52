#include "kernels/measure/counters/launch_shapes.h"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "kernels/host/cuda_check.h"
#include "kernels/measure/counters/cupti_library.h"
#include "kernels/measure/counters/host_object.h"

namespace attnscope::kernels {

namespace {

using Extent = std::array<Index, 3>;

/// The launch that a driver call starts.
struct DriverLaunch {
  CUfunction function = nullptr;  ///< or a CUkernel
  std::string name = {};          ///< "" if CUPTI does not report it
  Extent grid = {};
  std::optional<Extent> cluster = {};  ///< if the call sets it
  Index threads = 0;                   ///< of a thread block
  Index dynamic_shared_bytes = 0;
};

/// `Parameters` has the members that all of the driver's launch functions share.
template <typename Parameters>
DriverLaunch launch_with(CUfunction function, const Parameters& launch) {
  return {.function = function,
          .grid = {launch.gridDimX, launch.gridDimY, launch.gridDimZ},
          .threads = Index{launch.blockDimX} * launch.blockDimY * launch.blockDimZ,
          .dynamic_shared_bytes = launch.sharedMemBytes};
}

DriverLaunch launch_with_attributes(const cuLaunchKernelEx_params& call) {
  DriverLaunch launch = launch_with(call.f, *call.config);
  for (const CUlaunchAttribute& set : std::span(call.config->attrs, call.config->numAttrs)) {
    if (set.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    launch.cluster = {set.value.clusterDim.x, set.value.clusterDim.y, set.value.clusterDim.z};
  }
  return launch;
}

/// The driver's functions that launch a kernel. Those of a thread's own default stream, _ptsz, have
/// the same parameters.
constexpr std::array kLaunchFunctions{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

/// The launch that a call of one of kLaunchFunctions starts.
DriverLaunch launch_of(CUpti_CallbackId function, const void* parameters) {
  switch (function) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return launch_with_attributes(*static_cast<const cuLaunchKernelEx_params*>(parameters));
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
      const auto& call = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
      return launch_with(call.f, call);
    }
    default: {
      const auto& call = *static_cast<const cuLaunchKernel_params*>(parameters);
      return launch_with(call.f, call);
    }
  }
}

/// Records what the driver launches for the thread that constructed it, from start() until it is
/// destroyed. The constructor and start() throw CuptiFailure.
class LaunchRecorder {
 public:
  explicit LaunchRecorder(const CuptiLibrary& cupti) : cupti_(cupti) {
    check_cupti(cupti_, cupti_.Subscribe(&subscriber_, &on_call, this), "cuptiSubscribe");
  }
  ~LaunchRecorder() { cupti_.Unsubscribe(subscriber_); }
  LaunchRecorder(const LaunchRecorder&) = delete;
  LaunchRecorder& operator=(const LaunchRecorder&) = delete;

  void start() const {
    for (const CUpti_CallbackId function : kLaunchFunctions) {
      check_cupti(cupti_,
                  cupti_.EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, function),
                  "cuptiEnableCallback");
    }
  }

  /// The launches since the last call. Throws std::bad_alloc if one could not be stored.
  std::vector<DriverLaunch> take() {
    if (failure_) std::rethrow_exception(failure_);
    return std::exchange(launches_, {});
  }

 private:
  /// The driver calls this before and after each launch: it must not throw, and calling the driver
  /// here could deadlock.
  static void CUPTIAPI on_call(void* self, CUpti_CallbackDomain /*domain*/,
                               CUpti_CallbackId function, const void* data) noexcept {
    auto& recorder = *static_cast<LaunchRecorder*>(self);
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite != CUPTI_API_ENTER) return;
    if (std::this_thread::get_id() != recorder.thread_) return;
    try {
      recorder.launches_.push_back(launch_of(function, call.functionParams));
      if (call.symbolName != nullptr) recorder.launches_.back().name = call.symbolName;
    } catch (...) {
      recorder.failure_ = std::current_exception();
    }
  }

  const CuptiLibrary& cupti_;
  const std::thread::id thread_ = std::this_thread::get_id();
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<DriverLaunch> launches_;
  std::exception_ptr failure_;
};

/// Queries the driver about kernels in the current context. Throws GpuError.
class KernelQueries {
 public:
  KernelQueries() {
    find("cuFuncGetAttribute", get_attribute_);
    find("cuKernelGetFunction", get_function_);
    find("cuOccupancyMaxActiveBlocksPerMultiprocessor", get_resident_blocks_);
    get_name_ = reinterpret_cast<decltype(get_name_)>(driver_function("cuFuncGetName", 12030));
  }

  LaunchShape shape_of(const DriverLaunch& launch) const {
    const CUfunction function = function_of(launch.function);
    LaunchShape shape{.name = launch.name.empty() ? name_of(function) : launch.name,
                      .grid = launch.grid,
                      .cluster = launch.cluster ? *launch.cluster : required_cluster(function),
                      .threads = launch.threads,
                      .registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
                      .shared_bytes = launch.dynamic_shared_bytes +
                                      attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                      .local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)};
    for (Index& blocks : shape.cluster) blocks = std::max<Index>(blocks, 1);
    shape.name.resize(std::min(shape.name.size(), LaunchShape::kMostNameBytes));
    int resident_blocks = 0;
    check(get_resident_blocks_(&resident_blocks, function, static_cast<int>(launch.threads),
                               static_cast<std::size_t>(launch.dynamic_shared_bytes)),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    shape.resident_blocks = resident_blocks;
    return shape;
  }

 private:
  template <typename Function>
  static void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(driver_function(name, 12000));
    if (function == nullptr) throw GpuError(unavailable("the driver lacks {}", name));
  }
  static void check(CUresult code, const char* function) {
    if (code == CUDA_SUCCESS) return;
    const auto error = static_cast<cudaError_t>(code);  // both have the same values
    throw GpuError(failed("{} returned {}", function, cudaGetErrorName(error)));
  }

  /// The function of a handle that may be a CUkernel, which belongs to no context: libraries launch
  /// both kinds, and not all queries accept both.
  CUfunction function_of(CUfunction handle) const {
    int registers = 0;
    const CUresult code = get_attribute_(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, handle);
    if (code != CUDA_ERROR_INVALID_HANDLE) return handle;
    CUfunction function = nullptr;
    check(get_function_(&function, reinterpret_cast<CUkernel>(handle)), "cuKernelGetFunction");
    return function;
  }
  Index attribute(CUfunction function, CUfunction_attribute name) const {
    int value = 0;
    check(get_attribute_(&value, name, function), "cuFuncGetAttribute");
    return value;
  }
  /// The cluster that the kernel was compiled for: zeros if it has none.
  Extent required_cluster(CUfunction function) const {
    return {attribute(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH),
            attribute(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT),
            attribute(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)};
  }
  std::string name_of(CUfunction function) const {
    if (get_name_ == nullptr) throw GpuError(unavailable("the driver lacks cuFuncGetName"));
    const char* name = nullptr;
    check(get_name_(&name, function), "cuFuncGetName");
    return name;
  }

  decltype(&cuFuncGetAttribute) get_attribute_ = nullptr;
  decltype(&cuKernelGetFunction) get_function_ = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) get_resident_blocks_ = nullptr;
  decltype(&cuFuncGetName) get_name_ = nullptr;  ///< null before CUDA 12.3
};

/// A launch of the pass, and the kernels that it started.
struct RecordedLaunch {
  std::string name;
  std::vector<DriverLaunch> kernels;
};

/// Runs the pass once. Throws CuptiFailure and CudaError.
Result<std::vector<RecordedLaunch>> record(const CuptiLibrary& cupti, const Stream& stream,
                                           const Pass& pass) {
  std::vector<RecordedLaunch> recorded;
  LaunchRecorder recorder(cupti);
  recorder.start();
  LaunchMarks marks;
  marks.before = [&](std::string_view) { recorder.take(); };  // drops what ran between launches
  marks.after = [&](std::string_view name) {
    recorded.push_back({std::string(name), recorder.take()});
  };
  const auto error = pass(marks);
  stream.wait();
  if (error) return *error;
  return recorded;
}

}  // namespace

std::optional<Error> add_launch_shapes(const Stream& stream, const Pass& pass,
                                       std::vector<LaunchCounters>& launches) try {
  const auto cupti = load_cupti();
  if (!cupti) return cupti.error();
  const KernelQueries queries;
  const auto recorded = record(*cupti.value(), stream, pass);
  if (!recorded) return recorded.error();
  if (!std::ranges::equal(recorded.value(), launches, {}, &RecordedLaunch::name,
                          &LaunchCounters::name)) {
    return failed("the pass did not start the same launches as when its counters were read");
  }

  // Query all shapes before any is added
  std::vector<std::vector<LaunchShape>> shapes;
  for (const RecordedLaunch& launch : recorded.value()) {
    std::vector<LaunchShape>& kernels = shapes.emplace_back();
    for (const DriverLaunch& kernel : launch.kernels) kernels.push_back(queries.shape_of(kernel));
  }
  for (std::size_t n = 0; n < launches.size(); ++n) launches[n].kernels = std::move(shapes[n]);
  return std::nullopt;
} catch (const CuptiFailure& failure) {
  return failure.error();
} catch (const CudaError&) {
  throw;
} catch (const GpuError& failure) {  // only the shapes are missing
  return failure.error;
}

}  // namespace attnscope::kernels
