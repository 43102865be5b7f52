#include "app/command.h"

namespace attnscope::app {

void CommandSink::push(Command command) {
  commands_.push_back(std::move(command));
}

std::vector<Command> CommandSink::take() {
  return std::exchange(commands_, {});
}

}  // namespace attnscope::app
