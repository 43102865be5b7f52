/// The kernels' sources, embedded when AttnScope was built: the app shows the text that is
/// compiled. Comments in them mark the lines that perform a step of the algorithm.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/step.h"

namespace attnscope::kernels {

/// Both texts end in a NUL, as C interfaces expect.
struct SourceFile {
  std::string_view path;  ///< root-relative, as #include names it: "kernels/device/place.cuh"
  std::string_view text;
};

/// A line that performs a step of the algorithm. A comment in the source marks it, such as
/// "// @scores", at its end or alone on the line above.
struct MarkedLine {
  std::string_view path;
  Step step;
  int number;  ///< from 1
};

/// The marked lines of every embedded file, in order.
std::span<const MarkedLine> marked_lines();

/// Numbers of the file's lines that perform the step; none if it is not embedded or marks none.
std::vector<int> lines_of_step(std::string_view path, Step step);

/// Every embedded file.
std::span<const SourceFile> embedded_sources();

/// The file with this path; null if it is not embedded.
const SourceFile* kernel_source(std::string_view path);

/// The file and every file that it includes, directly or indirectly, each once, in the order in
/// which a compiler first reads them; none if the path is empty. Throws CheckFailure for a file
/// that is not embedded.
std::vector<SourceFile> include_closure(std::string_view path);

/// One instance of a kernel's template.
struct KernelProgram {
  std::string source = {};                ///< embedded file that declares the kernel; "": none
  std::string expression;                 ///< "attnscope::kernels::flash2_forward<...>"
  std::string architecture = {};          ///< "sm_90a", or "compute_90": target_architecture()
  std::vector<std::string> options = {};  ///< additional options of NVRTC
  std::string text = {};                  ///< code to append, from no embedded file

  auto operator<=>(const KernelProgram&) const = default;
};

}  // namespace attnscope::kernels
