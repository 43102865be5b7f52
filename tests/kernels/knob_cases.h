/// Every value of every switch of every kernel, for tests on a GPU.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/knobs.h"
#include "kernels/resolve.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

/// A kernel's pass with one switch that is not at its default.
struct KnobCase {
  const KernelInfo* kernel;
  PassKind pass;
  std::string name, value;
};

inline std::ostream& operator<<(std::ostream& out, const KnobCase& each) {
  return out << each.kernel->name << ' ' << to_string(each.pass) << ' ' << each.name << '='
             << each.value;
}

inline std::vector<KnobCase> knob_cases() {
  std::vector<KnobCase> cases;
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      for (const Knob* const knob : kernel.knobs(pass)) {
        for (const KnobValue& value : knob->values.subspan(1)) {
          cases.push_back({&kernel, pass, std::string(knob->name), std::string(value.name)});
        }
      }
    }
  }
  return cases;
}

/// The case's run of a problem, in tiles that suit the switch; the kernel may not support it. If
/// the GPU's program lacks the switch, the run names the other program.
inline ResolvedRun run_of(const KnobCase& each, const AttentionProblem& problem,
                          const ProgramTarget& gpu) {
  // Each of up to eight warps needs 16 rows; with sliced keys, each warp has O of all rows
  const Tiling sides = each.name == "partition"            ? Tiling{64, 64}
                       : find_knob(each.name)->hopper_only ? Tiling{128, 176}
                                                           : Tiling{128, 64};
  const bool chosen = each.pass == PassKind::forward && each.kernel->name != "split_kv";
  ResolvedRun run = test::kernel_run(each.kernel->name, problem, each.pass,
                                     chosen ? std::optional(sides) : std::nullopt);
  run.asked.switches = {{each.name, each.value}};
  if (check_program(run, gpu)) run.asked.switches.emplace(kInstructionsKnob, "mma");
  return run;
}

}  // namespace attnscope::kernels
