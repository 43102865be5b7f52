/// NVRTC, CUDA's compiler as a library, loaded at run time: without it, programs still start but
/// cannot compile kernels. It needs neither a GPU nor a driver. Internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/target_architecture.h"
#include "kernels/shared_library.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// The entry points used, as nvrtc.h declares them: functions return 0 on success.
struct NvrtcLibrary {
  SharedLibrary library;
  std::string build = {};  ///< "13.0 libnvrtc.so.13.0.88": the version and the library's file

  using Program = void*;
  int (*version)(int* major, int* minor) = library.require("nvrtcVersion");
  int (*architecture_count)(int* count) = library.require("nvrtcGetNumSupportedArchs");
  int (*architectures)(int* tenths) = library.require("nvrtcGetSupportedArchs");
  int (*create)(Program* program, const char* source, const char* name, int header_count,
                const char* const* headers,
                const char* const* header_names) = library.require("nvrtcCreateProgram");
  int (*destroy)(Program* program) = library.require("nvrtcDestroyProgram");
  int (*add_name_expression)(Program program,
                             const char* expression) = library.require("nvrtcAddNameExpression");
  int (*compile)(Program program, int option_count,
                 const char* const* options) = library.require("nvrtcCompileProgram");
  int (*log_size)(Program program, std::size_t* bytes) = library.require("nvrtcGetProgramLogSize");
  int (*log)(Program program, char* text) = library.require("nvrtcGetProgramLog");
  int (*cubin_size)(Program program, std::size_t* bytes) = library.require("nvrtcGetCUBINSize");
  int (*cubin)(Program program, char* bytes) = library.require("nvrtcGetCUBIN");
  int (*ptx_size)(Program program, std::size_t* bytes) = library.require("nvrtcGetPTXSize");
  int (*ptx)(Program program, char* text) = library.require("nvrtcGetPTX");
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

CudaVersion version_of(const NvrtcLibrary& nvrtc);

/// The libraries' names in the order in which they are tried: newest first, but a driver of CUDA 12
/// can only run the code of NVRTC 12. `driver` is empty if there is no driver.
std::vector<std::string> nvrtc_names(const std::optional<CudaVersion>& driver);

/// NVRTC 13 or 12; loaded by the first call, whose result all later calls return.
const Result<NvrtcLibrary>& nvrtc();

/// The result of target_architecture() for the architectures that this machine's NVRTC supports.
Result<std::string> target_architecture(std::string_view compute_capability);

}  // namespace attnscope::kernels
