/// A kernel of the embedded sources with its template arguments, and the size of its thread blocks.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "kernels/compile/compiler.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct BlockProgram {
  KernelProgram program;  ///< its architecture is chosen later
  int threads = 0;
  Index shared_bytes = 0;  ///< dynamic
  /// Its blocks may start while the launch before it on the stream still runs, where the GPU can do
  /// this: the kernel then calls device::wait_for_launch_before().
  bool overlaps_launch_before = false;
};

/// "attnscope::kernels::device::Columns::all" of "Columns::all".
inline std::string in_device(std::string_view name) {
  return fmt::format("attnscope::kernels::device::{}", name);
}

/// The device type of a tensor's elements.
inline std::string element_type(DType dtype) {
  if (dtype == DType::fp32) return "float";
  return in_device(dtype == DType::fp16 ? "Fp16" : "Bf16");
}

/// The instance of a template in attnscope::kernels for these arguments: numbers, truth values and
/// names.
template <typename... Arguments>
std::string instance_of(std::string_view kernel, const Arguments&... arguments) {
  const std::string texts[] = {fmt::format("{}", arguments)...};
  return fmt::format("attnscope::kernels::{}<{}>", kernel, fmt::join(texts, ", "));
}

}  // namespace attnscope::kernels
