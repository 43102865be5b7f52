#include "app/cli/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/cli/option_files.h"
#include "app/report/compare.h"
#include "reference/check.h"
#include "reference/field_rules.h"
#include "reference/message_text.h"
#include "sim/resolve.h"

namespace attnscope::cli {

std::string default_text(const RunField& field, const RunSpec& defaults) {
  const std::string value = field.print(defaults);
  const bool follows = !field.by_rule.empty() && !field.print({}).empty();
  return value.empty() || follows ? std::string(field.by_rule) : value;
}

namespace {

OptionSpec option_of(const RunField& field, const RunSpec& defaults) {
  const std::string shown = default_text(field, defaults);
  const bool switched = field.value_name.empty();
  const std::string by_default = switched || shown.empty() ? "" : fmt::format(" [{}]", shown);
  return {std::string(field.option), std::string(field.value_name),
          fmt::format("{}{}", field.help, by_default), field.repeatable, files_of(field)};
}

/// Whether the field is a size, which is read after the input files and packed sequences that may
/// set it.
bool is_size(const RunField& field) {
  return field.json == "problem" &&
         (field.kind == FieldKind::whole || field.kind == FieldKind::slopes);
}

std::optional<Error> set_checked(const RunField& field, const std::string& text, RunSpec& spec) {
  if (text.empty()) return not_understood(field, text);
  if (auto error = set_field(field, text, spec)) return error;
  return check_range(field, spec);
}

std::optional<Error> read_field(const GivenOptions& given, const RunField& field, RunSpec& spec) {
  if (field.option.empty() || !given.has(field.option)) return std::nullopt;
  return set_checked(field,
                     field.value_name.empty()
                         ? "true"
                         : fmt::format("{}", fmt::join(given.all(field.option), ",")),
                     spec);
}

/// Keeps the sizes of K and V that files or packed keys set; otherwise they would follow those of
/// Q.
void keep_given_keys(const GivenOptions& given, const AttentionProblem& of_files, RunSpec& spec) {
  const bool own_keys = !spec.files.K.empty() || !spec.files.V.empty();
  const bool packed = !spec.problem.cu_seqlens_k.empty();
  if (own_keys && !given.has("kv-heads")) spec.problem.kv_heads = of_files.kv_heads;
  if ((own_keys || packed) && !given.has("kv-len")) spec.problem.N_kv = of_files.N_kv;
}

}  // namespace

std::vector<OptionSpec> field_options(std::initializer_list<std::string_view> keys,
                                      const RunSpec& defaults) {
  std::vector<OptionSpec> options;
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(keys, field.key) != keys.end()) {
      options.push_back(option_of(field, defaults));
    }
  }
  return options;
}

std::vector<OptionSpec> run_options(FieldTarget target,
                                    std::initializer_list<std::string_view> without) {
  std::vector<OptionSpec> options;
  for (const RunField& field : run_fields()) {
    const bool wanted = field.target == target || field.target == FieldTarget::both;
    const bool left_out = std::ranges::find(without, field.key) != without.end();
    if (wanted && !left_out && !field.option.empty()) options.push_back(option_of(field, {}));
  }
  return with_help(std::move(options),
                   {{"algorithm", "", fmt::format("required; {}", run_field("algorithm").help)}});
}

std::vector<OptionSpec> with_help(std::vector<OptionSpec> options,
                                  std::initializer_list<OptionSpec> changes) {
  for (const auto& [name, value_name, help, repeatable, files] : changes) {
    const auto option = std::ranges::find(options, name, &OptionSpec::name);
    ATTNSCOPE_CHECK(option - options.begin(), <, std::ssize(options));
    option->help = help;
    if (!value_name.empty()) option->value_name = value_name;
  }
  return options;
}

std::vector<OptionSpec> shape_options(const RunSpec& defaults) {
  return field_options({"batch", "heads", "kv_heads", "seq_len", "kv_len", "head_dim", "dtype",
                        "mask", "alibi", "softcap", "dropout", "dropout_seed", "key_lengths",
                        "cu_seqlens_q", "cu_seqlens_k", "Br", "Bc"},
                       defaults);
}

std::vector<OptionSpec> what_if_options() {
  std::vector<OptionSpec> options;
  for (const RunField& field : what_if_fields()) options.push_back(option_of(field, {}));
  return options;
}

std::vector<OptionSpec> modelled_gpu_options() {
  return joined(
      {with_help(field_options({"allow_overflow", "gpu"}),
                 {{"gpu", "", "the modelled GPU; see attnscope-cli list gpus [this machine's]"}}),
       what_if_options()});
}

std::vector<OptionSpec> joined(std::initializer_list<std::vector<OptionSpec>> lists) {
  std::vector<OptionSpec> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Result<RunSpec> parse_run(const GivenOptions& given, const RunSpec& defaults) {
  RunSpec spec = defaults;
  AttentionProblem of_files;
  for (const bool sizes : {false, true}) {
    if (sizes) {
      take_sizes_of_files(spec);
      of_files = spec.problem;
    }
    for (const RunField& field : run_fields()) {
      if (is_size(field) != sizes) continue;
      if (auto error = read_field(given, field, spec)) return *error;
    }
  }
  keep_given_keys(given, of_files, spec);
  if (given.has("dropout-seed") && !spec.problem.score.has_dropout()) {
    return invalid_field(ErrorCode::contradiction, "dropout_seed",
                         "{} is given without {}, so nothing is dropped",
                         field_name("dropout_seed"), field_name("dropout"));
  }
  return spec;
}

Result<RunSpec> parse_run_of(const GivenOptions& given,
                             const std::vector<std::string>& algorithms) {
  const auto name = given.text("algorithm");
  if (!name) {
    return invalid_field(ErrorCode::missing, "algorithm", "{} is required; known: {}",
                         field_name("algorithm"), fmt::join(algorithms, ", "));
  }
  if (std::ranges::find(algorithms, *name) == algorithms.end()) {
    return invalid_field(ErrorCode::unknown_name, "algorithm",
                         unknown_name_message("algorithm", *name, algorithms));
  }
  return parse_run(given);
}

Result<GpuDescription> gpu_beside(const GivenOptions& given, const RunSpec& spec,
                                  const DeviceInfo& device) {
  RunSpec beside = spec;
  if (!given.has("gpu")) {
    const auto fitting = find_gpu_of(device);
    if (!fitting) {
      return unavailable("no shipped description of the GPU '{}'; name one with {}", device.name,
                         field_name("gpu"));
    }
    beside.gpu = *fitting;
  }
  return gpu_of(beside);
}

std::optional<PassKind> parse_one_pass(std::string_view name) {
  const auto pass = parse_name<PassKind>(name);
  return pass == PassKind::both ? std::nullopt : pass;
}

Result<std::vector<RunSpec>> parse_list(std::string_view key, std::string_view list,
                                        const RunSpec& spec) {
  std::vector<RunSpec> specs;
  for (const std::string& text : split(list)) {
    if (auto error = set_checked(run_field(key), text, specs.emplace_back(spec))) return *error;
  }
  return specs;
}

}  // namespace attnscope::cli
