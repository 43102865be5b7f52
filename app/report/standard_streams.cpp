#include "app/report/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace attnscope {

void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    // The lowest free number is this one; the wrong direction makes every use of it fail
    const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != -1 && opened != descriptor) ::close(opened);
  }
}

void print_to_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

}  // namespace attnscope
