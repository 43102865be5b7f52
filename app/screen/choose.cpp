#include "app/screen/choose.h"

#include "app/app.h"
#include "app/choice_rules.h"

namespace attnscope::app {

const Choice& shown_choice(const Frame& frame) {
  return frame.app.refused ? frame.app.refused->choice : frame.app.wanted_choice();
}

void choose(const Frame& frame, const std::string& field,
            const std::function<void(Choice&)>& change) {
  // A refused choice is what the user sees in the fields: changes go on from it
  const Choice before = shown_choice(frame);
  Choice after = before;
  change(after);
  frame.app.last_edited_field = field;
  frame.app.commands.push(Choose{with_consequences(before, std::move(after))});
}

}  // namespace attnscope::app
