/// attnscope-cli: the model and the kernels without a window.
#include "app/cli/commands.h"
#include "app/report/interruption.h"

int main(int argc, char** argv) {
  attnscope::end_on_signals();
  return attnscope::cli::run_program({argv + 1, argv + argc});
}
