# Writes OUTPUT, a C++ file with the text of each of FILES (relative to ROOT) and the lines that
# comments such as "// @scores" mark as a step: an unknown step does not compile.
#   cmake -DFILES=a;b -DROOT=... -DOUTPUT=... -P embed_sources.cmake
set(entries "")
set(marks "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  string(APPEND entries "    {\"${file}\", R\"attnscope_source(${text})attnscope_source\"sv},\n")

  # A list of lines, without the characters that are special in CMake's lists
  string(REGEX REPLACE "[][;\\\\]" "." lines "${text}")
  string(REPLACE "\n" ";" lines "${lines}")
  set(number 0)
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    if(line MATCHES "//.*@[A-Za-z]")
      string(REGEX MATCHALL "@[A-Za-z0-9_]+" steps "${line}")
      set(marked ${number})
      if(line MATCHES "^ *//( @[A-Za-z0-9_]+)+$") # a line of its own, above the one it marks
        math(EXPR marked "${number} + 1")
      endif()
      foreach(step IN LISTS steps)
        string(REPLACE "@" "Step::" step ${step})
        string(APPEND marks "    {\"${file}\", ${step}, ${marked}},\n")
      endforeach()
    endif()
  endforeach()
endforeach()
file(WRITE ${OUTPUT} "// Made by kernels/compile/embed_sources.cmake.
#include \"kernels/compile/kernel_sources.h\"

namespace attnscope::kernels {

namespace {
using namespace std::string_view_literals;

constexpr SourceFile kSources[] = {
${entries}};

constexpr MarkedLine kMarkedLines[] = {
${marks}};
}

std::span<const SourceFile> embedded_sources() {
  return kSources;
}

std::span<const MarkedLine> marked_lines() {
  return kMarkedLines;
}

}  // namespace attnscope::kernels
")
