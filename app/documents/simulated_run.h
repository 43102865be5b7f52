/// The model of one request: counts, predictions and values. The command line prints the results
/// (simulation_json.h); lessons compute their answers from them.
#pragma once

#include "app/documents/simulation_json.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

struct ModelRun {
  ResolvedRun run;
  GpuDescription gpu;
};
/// The request with every rule applied (including the kernel's tiles on the modelled GPU), and its
/// GPU. Errors as in gpu_of(), resolve() and, for TilingRule::kernel, kernels::resolve().
Result<ModelRun> model_run(RunSpec spec);

/// The counts of the schedule and of its warps. Errors as in simulate().
Result<SimulationAnswer> count_run(const ModelRun& model);

/// Adds the DRAM bytes, unless they take too long to predict, and the time, if the GPU has a
/// calibration.
void predict_run(SimulationAnswer& answer);

/// The inputs of the run's problem, with grouped query heads packed as in its tiles. Errors as in
/// load_inputs().
Result<AttentionInputs> inputs_of(const ModelRun& model);

/// Runs every head with actual values. Errors as in load_inputs() and simulate_numbers(), and
/// failed when a result contains a NaN.
Result<NumericResult> run_numbers(const ModelRun& model);

}  // namespace attnscope
