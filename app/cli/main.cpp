/// attnscope-cli: the model and the kernels without a window.
#include "app/cli/commands.h"

int main(int argc, char** argv) {
  return attnscope::cli::run_program({argv + 1, argv + argc});
}
