/// Text that is worded differently on the screen.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

/// Marks two wordings of a part of a message: words() keeps `on_screen` for Reader::screen, and
/// `elsewhere` for the command line and files. Neither contains a field_name().
std::string worded(std::string_view elsewhere, std::string_view on_screen);

}  // namespace attnscope
