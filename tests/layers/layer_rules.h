/// The rules that keep the layers apart: reference <- sim, reference <- kernels <- kernels/measure,
/// app -> all. The link graph alone cannot do this: root-relative includes reach every header. Each
/// rule returns one line per violation, empty when there is none.
#pragma once

#include "tests/layers/source_tree.h"

namespace attnscope::test {

using Violations = std::vector<std::string>;

/// A folder includes only from its own layer and those below it.
Violations layer_violations(const SourceTree& tree);

/// Every quoted include is root-relative and names a file of the tree.
Violations unresolved_includes(const SourceTree& tree);

/// ImGui, GLFW, OpenGL and EGL stay in app/ and out of the lower layers' tests.
Violations graphics_violations(const SourceTree& tree);

/// No header that reference/, sim/ or app/ reaches includes a header of CUDA's.
Violations cuda_violations(const SourceTree& tree);

/// Headers stay light: Eigen only in reference/eigen_view.h, nlohmann/json only as json_fwd.hpp,
/// CLI11 in none; CLI11 only in app/.
Violations heavy_header_violations(const SourceTree& tree);

/// Files and folders directly in `folder` that include each other, directly or through others. A
/// source file and its header count as one, and so does a folder, except the folders whose paths
/// are `by_file`: there each file counts by itself.
Violations folder_cycles(const SourceTree& tree, std::string_view folder,
                         const std::vector<std::string_view>& by_file = {});

/// Files of C and C++ with fewer than 30 lines, except in kernels/, where a kernel's parameters are
/// in a separate file: such a file usually belongs in another one.
Violations fragments(const SourceTree& tree);

/// Tests that are not in the folder of the source that they are named after: NAME_test.cpp tests
/// NAME.h, NAME.cpp or a command, NAME_command.cpp, and is in its folder below tests/. Exempt:
/// tests/gui and tests/fuzz, which run whole programs.
Violations misplaced_tests(const SourceTree& tree);

/// Every header opens with #pragma once before its first include.
Violations unguarded_headers(const SourceTree& tree);

/// One question, one struct: no struct outside the tests repeats three or more fields of a run
/// (sizes, type, mask, algorithm, pass, tiles, ...). Exempt: the structs that define them, the C
/// interface, and kernel parameters.
Violations repeated_run_fields(const SourceTree& tree);

/// Words that mark unfinished work, or reveal on which machine or in which way a change was made.
Violations forbidden_words(const SourceTree& tree);

}  // namespace attnscope::test
