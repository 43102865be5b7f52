/// NVRTC, CUDA's compiler as a library, loaded at run time: without it, programs still start but
/// cannot compile kernels. It needs neither a GPU nor a driver. Also the architecture that it
/// compiles for, and whether the GPU's driver can run the result.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/shared_library.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// A CUDA version: that of a toolkit's library, or the newest that a driver supports.
struct CudaVersion {
  int major = 0, minor = 0;
  auto operator<=>(const CudaVersion&) const = default;
};

/// The entry points used, as nvrtc.h declares them: functions return 0 on success.
struct NvrtcLibrary {
  SharedLibrary library;
  CudaVersion version = {};
  std::vector<int> architectures = {};  ///< that it compiles for; 90 is compute capability 9.0
  std::string build = {};  ///< "13.0 libnvrtc.so.13 110242032": version, file and its size

  using Program = void*;
  /// The functions that return the size of one of a program's texts, and copy it.
  struct Text {
    int (*size)(Program program, std::size_t* bytes);
    int (*copy)(Program program, char* text);
  };
  int (*get_version)(int* major, int* minor) = library.require("nvrtcVersion");
  int (*count_architectures)(int* count) = library.require("nvrtcGetNumSupportedArchs");
  int (*get_architectures)(int* tenths) = library.require("nvrtcGetSupportedArchs");
  int (*create)(Program* program, const char* source, const char* name, int header_count,
                const char* const* headers,
                const char* const* header_names) = library.require("nvrtcCreateProgram");
  int (*destroy)(Program* program) = library.require("nvrtcDestroyProgram");
  int (*add_name_expression)(Program program,
                             const char* expression) = library.require("nvrtcAddNameExpression");
  int (*compile)(Program program, int option_count,
                 const char* const* options) = library.require("nvrtcCompileProgram");
  Text log{library.require("nvrtcGetProgramLogSize"), library.require("nvrtcGetProgramLog")};
  Text cubin{library.require("nvrtcGetCUBINSize"), library.require("nvrtcGetCUBIN")};
  Text ptx{library.require("nvrtcGetPTXSize"), library.require("nvrtcGetPTX")};
  int (*lowered_name)(Program program, const char* expression,
                      const char** name) = library.require("nvrtcGetLoweredName");
  const char* (*error_string)(int result) = library.require("nvrtcGetErrorString");
  /// Sets a callback that NVRTC calls repeatedly while it compiles; a result of 1 cancels the
  /// compilation. Null if NVRTC is older than 12.8.
  int (*set_flow_callback)(Program program, int (*callback)(void* payload, void* unused),
                           void* payload) = library.find("nvrtcSetFlowCallback");
};

/// Loads the first of the named libraries that can be loaded, and never unloads it. unavailable,
/// with a remedy, if none can be loaded or the library lacks one of the entry points.
Result<NvrtcLibrary> load_nvrtc(const std::vector<std::string>& names);

/// The libraries' names in the order in which they are tried: newest first, but a driver of CUDA 12
/// can only run the code of NVRTC 12. `driver` is empty if there is no driver.
std::vector<std::string> nvrtc_names(const std::optional<CudaVersion>& driver);

/// NVRTC 13 or 12; loaded by the first call, whose result all later calls return.
const Result<NvrtcLibrary>& nvrtc();

/// The architecture to compile for, on a GPU of this compute capability, "9.0". If NVRTC supports
/// the GPU, machine code, "sm_90a", including the instructions that only this architecture has, if
/// any. Otherwise PTX, "compute_80", for the newest architecture that NVRTC supports and that is
/// older than the GPU; the driver compiles it. unavailable if there is none.
Result<std::string> target_architecture(std::string_view compute_capability,
                                        const NvrtcLibrary& nvrtc);

/// Whether the architecture names PTX ("compute_80") rather than machine code.
bool is_ptx(std::string_view architecture);

/// unavailable if the driver cannot run the output of this NVRTC. A driver for CUDA 13.0 runs
/// machine code from 13.x and earlier, but PTX only from 13.0 and earlier.
std::optional<Error> check_driver(const CudaVersion& nvrtc, const CudaVersion& driver,
                                  std::string_view architecture);

/// target_architecture() for a GPU of this machine and its nvrtc(): unavailable also if the driver
/// cannot run NVRTC's output.
Result<std::string> architecture_here(std::string_view compute_capability);

}  // namespace attnscope::kernels
