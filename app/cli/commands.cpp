#include "app/cli/commands.h"

#include "app/cli/accuracy_command.h"
#include "app/cli/compare_command.h"
#include "app/cli/fits_command.h"
#include "app/cli/flops_command.h"
#include "app/cli/fusion_command.h"
#include "app/cli/io_command.h"
#include "app/cli/list_command.h"
#include "app/cli/measure_command.h"
#include "app/cli/run_command.h"
#include "app/cli/simulate_command.h"
#include "app/cli/sweep_command.h"
#include "app/cli/trace_command.h"

namespace attnscope::cli {

std::vector<CommandSpec> all_commands() {
  return {simulate_command(),
          run_command(),
          measure_command(),
          compare_command(),
          sweep_command(simulate_command(), measure_command()),
          accuracy_command(),
          fusion_command(),
          io_command(),
          flops_command(),
          fits_command(),
          trace_command(),
          list_command()};
}

}  // namespace attnscope::cli
