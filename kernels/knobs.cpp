#include "kernels/knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/message_text.h"

namespace attnscope::kernels {

namespace {

constexpr std::string_view kFlash2[] = {"flash2", "block_sparse2"};
constexpr std::string_view kOnline[] = {"flash2", "block_sparse2", "split_kv"};
constexpr std::string_view kTiled[] = {"flash1", "flash2", "block_sparse2", "split_kv"};
constexpr std::string_view kTrained[] = {"flash1", "flash2", "block_sparse2"};

constexpr KnobValue kStages[] = {{"2", 2}, {"1", 1}, {"3", 3}};
constexpr KnobValue kWarps[] = {{"rule", 0}, {"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}};
constexpr KnobValue kCopies[] = {{"async", 1}, {"registers", 0}};
constexpr KnobValue kSwizzle[] = {{"on", 1}, {"off", 0}};
constexpr KnobValue kRescale[] = {{"moved", 0}, {"always", 1}};
constexpr KnobValue kMask[] = {{"edge", 0}, {"all", 1}};
constexpr KnobValue kInstructions[] = {{"hopper", 1}, {"mma", 0}};

constexpr Knob kKnobs[] = {
    {"stages",
     "Column tiles on chip at once: with 2 or 3 the next Kj and Vj arrive while one is multiplied; "
     "with 1 the warps wait for each.",
     kStages, &Knobs::stages, "ATTNSCOPE_STAGES", kFlash2, true, false},
    {"warps",
     "Warps that share the rows of a row tile: more hide more latency, fewer read K and V from "
     "shared memory less often.",
     kWarps, &Knobs::warps, "", kFlash2, true, false},
    {"copies",
     "How a tile comes on chip: async copies go from L2 to shared memory while the warps work; "
     "through registers, a thread waits for what it loads before it stores it.",
     kCopies, &Knobs::async_copies, "ATTNSCOPE_ASYNC_COPIES", kTiled, true, true},
    {"swizzle",
     "Where a row's 16-byte chunks lie in shared memory: off, in order, so that eight rows read at "
     "once meet in the same banks; on, they change places from row to row.",
     kSwizzle, &Knobs::swizzle, "ATTNSCOPE_SWIZZLE", kTiled, true, true},
    {"rescale",
     "When O and l are multiplied by alpha: moved, only where a maximum of the warp's rows moved; "
     "always, in every step.",
     kRescale, &Knobs::rescale_always, "ATTNSCOPE_RESCALE_ALWAYS", kOnline, true, false},
    {"mask",
     "Which tiles compare keys with the mask: edge, only those that its edge or the last key cuts; "
     "all, every tile.",
     kMask, &Knobs::mask_all, "ATTNSCOPE_MASK_ALL", kTiled, true, true},
    {"instructions",
     "The program at d = 128 in tiles of 64 x 128: hopper uses wgmma and bulk copies where the GPU "
     "has them; mma is the program of every other problem.",
     kInstructions, &Knobs::hopper, "", kTrained, false, true},
};

const KnobValue* value_of(const Knob& knob, std::string_view name) {
  const auto found = std::ranges::find(knob.values, name, &KnobValue::name);
  return found == knob.values.end() ? nullptr : &*found;
}

Error refused(const std::string& message) {
  return invalid_field(ErrorCode::not_applicable, "switches", message);
}

/// Why the kernel does not have a switch of this name.
Error unknown_switch(std::string_view name, std::string_view kernel, PassKind pass) {
  const std::vector<std::string> names = knob_names(kernel, pass);
  if (names.empty()) {
    return refused(fmt::format("kernel {} has no switches; '{}' is one of: {}", kernel,
                               printable(name), fmt::join(knob_names("flash2", pass), ", ")));
  }
  const auto other = std::ranges::find(kKnobs, name, &Knob::name);
  if (other != std::end(kKnobs) && other->is_of(kernel, PassKind::both)) {
    return refused(fmt::format("{} is a switch of the {} pass", name,
                               other->in_forward ? "forward" : "backward"));
  }
  return refused(unknown_name_message(fmt::format("switch of kernel {}", kernel), name, names));
}

}  // namespace

bool Knob::is_of(std::string_view kernel, PassKind pass) const {
  const bool has_pass =
      (in_forward && pass != PassKind::backward) || (in_backward && pass != PassKind::forward);
  return has_pass && std::ranges::find(kernels, kernel) != kernels.end();
}

std::span<const Knob> all_knobs() {
  return kKnobs;
}

std::vector<std::string> knob_names(std::string_view kernel, PassKind pass) {
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) {
    if (knob.is_of(kernel, pass)) names.emplace_back(knob.name);
  }
  return names;
}

Knobs knobs_of(const std::map<std::string, std::string>& switches) {
  Knobs knobs;
  for (const Knob& knob : kKnobs) {
    const auto given = switches.find(std::string(knob.name));
    if (given != switches.end()) knobs.*knob.member = value_of(knob, given->second)->value;
  }
  return knobs;
}

Result<std::map<std::string, std::string>> check_switches(
    const std::map<std::string, std::string>& switches, std::string_view kernel, PassKind pass,
    DType dtype) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : switches) {
    const auto knob = std::ranges::find(kKnobs, name, &Knob::name);
    if (knob == std::end(kKnobs) || !knob->is_of(kernel, pass)) {
      return unknown_switch(name, kernel, pass);
    }
    if (dtype == DType::fp32) {
      return refused(fmt::format("{} is a switch of the kernels on the tensor cores; {} is fp32",
                                 name, field_name("dtype")));
    }
    if (value_of(*knob, value) == nullptr) {
      std::vector<std::string_view> names;
      for (const KnobValue& each : knob->values) names.push_back(each.name);
      return refused(fmt::format("switch {} is '{}'; it takes {}", name, printable(value),
                                 fmt::join(names, ", ")));
    }
    if (value != knob->values.front().name) kept.emplace(name, value);
  }
  return kept;
}

std::vector<std::string> knob_options(const Knobs& knobs) {
  std::vector<std::string> options;
  for (const Knob& knob : kKnobs) {
    const int value = knobs.*knob.member;
    if (knob.macro.empty() || value == knob.values.front().value) continue;
    options.push_back(fmt::format("-D{}={}", knob.macro, value));
  }
  return options;
}

}  // namespace attnscope::kernels
