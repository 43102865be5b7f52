#include "reference/pass_kind.h"

namespace attnscope {

std::string_view to_string(PassKind pass) {
  switch (pass) {
    case PassKind::forward:
      return "forward";
    case PassKind::backward:
      return "backward";
    case PassKind::both:
      return "both";
  }
  return "?";
}

std::optional<PassKind> parse_pass(std::string_view name) {
  for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
    if (name == to_string(pass)) return pass;
  }
  return std::nullopt;
}

}  // namespace attnscope
