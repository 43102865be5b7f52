#include "kernels/measure/device_query.h"

#include <fmt/core.h>

#include <array>

#include "kernels/catalog.h"
#include "kernels/host/cuda_check.h"
#include "kernels/resolve.h"
#include "kernels/shared_library.h"

namespace attnscope::kernels {

namespace {

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Nothing if the driver works and finds the GPU.
std::optional<Error> find_device(int device) {
  // The run-time library has no error for "no driver at all"
  if (!SharedLibrary({"libcuda.so.1"}).problem().empty()) {
    return unavailable(
        "no NVIDIA driver: libcuda.so.1 cannot be loaded; install the driver on a "
        "machine with an NVIDIA GPU");
  }
  int driver_version = 0;
  if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version < CUDART_VERSION) {
    const int needed = CUDART_VERSION / 1000;
    if (driver_version / 1000 < needed) {
      return unavailable(
          "the NVIDIA driver supports CUDA {}, but this build needs {}.0; update the driver",
          cuda_version_text(driver_version), needed);
    }
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    return unavailable("no GPU: the NVIDIA driver finds none (is CUDA_VISIBLE_DEVICES set?)");
  }
  if (error != cudaSuccess) {
    return unavailable("the NVIDIA driver does not start: {} ({})", cudaGetErrorString(error),
                       cudaGetErrorName(error));
  }
  if (device < 0 || device >= count) {
    return invalid_request("GPU {} does not exist; there {} (0 to {})", device,
                           count == 1 ? "is 1" : fmt::format("are {}", count), count - 1);
  }
  return std::nullopt;
}

/// Data from the management library (NVML); values that it does not report stay empty.
class ManagementLibrary {
 public:
  ManagementLibrary() { ready_ = call("nvmlInit_v2"); }
  ~ManagementLibrary() {
    if (ready_) call("nvmlShutdown");
  }
  ManagementLibrary(const ManagementLibrary&) = delete;
  ManagementLibrary& operator=(const ManagementLibrary&) = delete;

  /// Under MIG, the bus id names the whole GPU, whose clocks and power limit the instances share.
  /// Properties that differ between instances are read elsewhere.
  void describe(const char* pci_bus_id, DeviceInfo& device) const {
    if (!ready_) return;
    std::array<char, 96> driver{};
    const auto driver_bytes = static_cast<unsigned>(driver.size());
    if (call("nvmlSystemGetDriverVersion", driver.data(), driver_bytes)) {
      device.driver = driver.data();
    }
    void* handle = nullptr;
    if (!call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id, &handle)) return;
    constexpr unsigned kSmClock = 1;      // NVML_CLOCK_SM
    constexpr unsigned kMemoryClock = 2;  // NVML_CLOCK_MEM
    device.sm_clock_mhz = max_clock_mhz(handle, kSmClock);
    device.memory_clock_mhz = max_clock_mhz(handle, kMemoryClock);
    unsigned limit_mw = 0;
    if (call("nvmlDeviceGetPowerManagementLimit", handle, &limit_mw)) {
      device.power_limit_w = limit_mw * 1e-3;
    }
  }

 private:
  /// Calls the function, whose parameters have exactly these types. False if it is missing or
  /// fails.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    int (*function)(Arguments...) = library_.find(name);
    return function != nullptr && function(arguments...) == 0;
  }

  std::optional<double> max_clock_mhz(void* handle, unsigned clock) const {
    unsigned mhz = 0;
    if (!call("nvmlDeviceGetMaxClockInfo", handle, clock, &mhz)) return std::nullopt;
    return mhz;
  }

  const SharedLibrary library_{{"libnvidia-ml.so.1"}};
  bool ready_ = false;
};

}  // namespace

Result<DeviceInfo> open_device(int device) {
  if (auto error = find_device(device)) return *error;
  ATTNSCOPE_CUDA(cudaSetDevice(device));
  cudaDeviceProp properties{};
  ATTNSCOPE_CUDA(cudaGetDeviceProperties(&properties, device));

  DeviceInfo info;
  // Under MIG, the runtime opens an instance as a separate device: the SMs, L2 and memory are the
  // instance's, and its name ends in the profile, "MIG 1g.10gb". A shipped description of the whole
  // GPU does not match it: describes() compares these numbers.
  info.name = properties.name;
  info.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<Index>(properties.totalGlobalMem);
  int driver_version = 0;
  ATTNSCOPE_CUDA(cudaDriverGetVersion(&driver_version));
  info.cuda = cuda_version_text(driver_version);
  std::array<char, 32> pci_bus_id{};
  ATTNSCOPE_CUDA(cudaDeviceGetPCIBusId(pci_bus_id.data(), pci_bus_id.size(), device));
  ManagementLibrary().describe(pci_bus_id.data(), info);

  if (auto error = check_compute_capability(info.name, info.compute_capability)) return *error;
  return info;
}

}  // namespace attnscope::kernels
