/// The options that every command on an attention problem shares, and what they mean together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/command_line.h"
#include "reference/attention_problem.h"
#include "reference/inputs.h"
#include "reference/result.h"
#include "sim/device/gpu_description.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::cli {

/// --algorithm, --pass, the sizes, --dtype, --mask, the tiling, --carry: what a run is.
std::vector<OptionSpec> problem_options();
/// The part of them that says what is computed and in which tiles, with these defaults.
std::vector<OptionSpec> shape_options(const AttentionProblem& defaults);
/// --gpu, --sram-bytes, --l2-bytes, --allow-overflow: what the model assumes.
std::vector<OptionSpec> model_options();
/// --inputs, --seed, --q, --k, --v, --do: the numbers that go in.
std::vector<OptionSpec> input_options();
/// --json, --csv.
std::vector<OptionSpec> output_options();

/// Several lists as one.
std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> lists);

/// The problem options of one command line, as values. Text that cannot be understood is an error
/// here; whether the values fit together is check_together()'s question.
struct ProblemRequest {
  AttentionProblem problem;
  std::string algorithm;
  PassKind pass = PassKind::forward;
  std::optional<Index> Br;  ///< either may be given alone: the other is the default tiling's
  std::optional<Index> Bc;
  Carry carry = Carry::problem;
  InputSpec inputs;
  InputPaths input_files;  ///< .npy files; an empty path means drawn from `inputs`
};

/// Reads shape_options(); a size that was not given is the default's.
Result<ProblemRequest> parse_shape(const GivenOptions& given, const AttentionProblem& defaults);

/// Reads the values; --algorithm must be among the options and in `algorithms`.
Result<ProblemRequest> parse_problem(const GivenOptions& given,
                                     const std::vector<std::string>& algorithms);

/// Nothing when the values make a problem that can be computed, else one line.
std::optional<Error> check_together(const ProblemRequest& request);

/// The device of --gpu with --sram-bytes and --l2-bytes put in.
Result<GpuDescription> parse_gpu(const GivenOptions& given, const std::string& fallback = "h200");

}  // namespace attnscope::cli
