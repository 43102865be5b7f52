/// Messages that name a choice as the command line does, in the words of the fields on the screen.
#pragma once

#include <string>

namespace attnscope::app {

/// "seq-len is 0; ..." becomes "N is 0; ..."; hints at command-line options are left out.
std::string in_screen_words(std::string message);

}  // namespace attnscope::app
