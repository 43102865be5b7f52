# Writes OUTPUT, a C++ file with the text of every one of FILES (relative to ROOT):
#   cmake -DFILES=a;b -DROOT=... -DOUTPUT=... -P embed_sources.cmake
set(entries "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  string(APPEND entries "    {\"${file}\", R\"attnscope_source(${text})attnscope_source\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by app/panels/embed_sources.cmake.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include \"app/panels/source_view.h\"

namespace attnscope::app {

std::optional<std::string_view> embedded_source(std::string_view path) {
  struct Entry {
    std::string_view path;
    std::string_view text;
  };
  static constexpr Entry kEntries[] = {
${entries}    {\"\", \"\"}};
  const auto found = std::ranges::find(kEntries, path, &Entry::path);
  if (path.empty() || found == std::end(kEntries)) return std::nullopt;
  return found->text;
}

}  // namespace attnscope::app
")
