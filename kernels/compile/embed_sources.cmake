# Writes OUTPUT, a C++ file with the text of every one of FILES (relative to ROOT):
#   cmake -DFILES=a;b -DROOT=... -DOUTPUT=... -P embed_sources.cmake
set(entries "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  string(APPEND entries "    {\"${file}\", R\"attnscope_source(${text})attnscope_source\"sv},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by kernels/compile/embed_sources.cmake.
#include \"kernels/compile/kernel_sources.h\"

namespace attnscope::kernels {

namespace {
using namespace std::string_view_literals;

constexpr SourceFile kSources[] = {
${entries}};
}

std::span<const SourceFile> embedded_sources() {
  return kSources;
}

}  // namespace attnscope::kernels
")
