#include "kernels/knobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

namespace {

constexpr KnobValue kStageCounts[] = {{"2", 2}, {"1", 1}, {"3", 3}};
constexpr KnobValue kWarpCounts[] = {{"rule", 0}, {"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}};
constexpr KnobValue kCopyKinds[] = {{"async", 1}, {"registers", 0}};
constexpr KnobValue kOnOff[] = {{"on", 1}, {"off", 0}};
constexpr KnobValue kRescaled[] = {{"moved", 0}, {"always", 1}};
constexpr KnobValue kMasked[] = {{"edge", 0}, {"all", 1}};
constexpr KnobValue kPartitions[] = {{"split-q", 0}, {"sliced-k", 1}};
constexpr KnobValue kOrders[] = {{"last", 0}, {"first", 1}};
constexpr KnobValue kSchedules[] = {{"persistent", 1}, {"blocks", 0}};
constexpr KnobValue kHeadOrders[] = {{"together", 1}, {"apart", 0}};
constexpr KnobValue kExponentials[] = {{"special", 0}, {"mixed", 4}};
constexpr KnobValue kInstructionSets[] = {{"hopper", 1}, {"mma", 0}};

constexpr Knob kKnobs[] = {
    {"stages",
     "Column tiles on chip at once: with 2 or 3, the next Kj and Vj are copied while the current "
     "ones are multiplied; with 1, the warps wait for each copy.",
     kStageCounts, &Knobs::stages, "ATTNSCOPE_STAGES"},
    {"warps",
     "Warps per block: more warps hide more latency; fewer warps read K and V from shared memory "
     "less often.",
     kWarpCounts, &Knobs::warps, ""},
    {"partition",
     "How a block's warps divide the work: split-q, by rows of the row tile, each with all keys; "
     "sliced-k, by keys of each column tile, so every warp has m, l and O of all rows, which are "
     "merged at the end.",
     kPartitions, &Knobs::sliced_k, "ATTNSCOPE_SLICED_K"},
    {"copies",
     "How a tile is copied to shared memory: async, by asynchronous copies from L2 while the "
     "warps compute; registers, by threads that wait for each load before they store it.",
     kCopyKinds, &Knobs::async_copies, "ATTNSCOPE_ASYNC_COPIES"},
    {"swizzle",
     "The order of a row's 16-byte chunks in shared memory: off, the same in every row, so that "
     "eight rows read at once conflict in the same banks; on, permuted from row to row, without "
     "conflicts.",
     kOnOff, &Knobs::swizzle, "ATTNSCOPE_SWIZZLE"},
    {"rescale",
     "When O and l are multiplied by alpha: moved, only where the maximum of one of the warp's "
     "rows has changed; always, in every step.",
     kRescaled, &Knobs::rescale_always, "ATTNSCOPE_RESCALE_ALWAYS"},
    {"mask",
     "Which tiles are masked element by element: edge, only those that the mask's edge or the "
     "last key cuts; all, every tile.",
     kMasked, &Knobs::mask_all, "ATTNSCOPE_MASK_ALL"},
    {"order",
     "The row tile of a head whose thread block starts first: last, which sees the most keys under "
     "a causal mask, so that the long blocks are not the last to end; first, in ascending order.",
     kOrders, &Knobs::ascending, "ATTNSCOPE_ASCENDING"},
    {kInstructionsKnob,
     "The program, if there are two: hopper, with wgmma and bulk copies where the GPU has them; "
     "mma, the program for all other problems.",
     kInstructionSets, &Knobs::hopper, ""},
    {"overlap",
     "In the Hopper program, what runs while four warps compute a softmax: on, their product of "
     "the previous tile with V; off, none of their products.",
     kOnOff, &Knobs::overlap, "ATTNSCOPE_OVERLAP", true},
    {"ping-pong",
     "In the Hopper program, how two groups of four warps share the tensor cores: on, they start "
     "their products in turn, so that one multiplies while the other computes its softmax; off, in "
     "any order.",
     kOnOff, &Knobs::ping_pong, "ATTNSCOPE_PING_PONG", true},
    {"schedule",
     "In the Hopper program, what a thread block computes: persistent, one row tile after another, "
     "so that the loads of the next overlap the stores of the last; blocks, one row tile.",
     kSchedules, &Knobs::persistent, "ATTNSCOPE_PERSISTENT", true},
    {"heads",
     "In the Hopper program under a causal mask, the order in which row tiles start: together, "
     "those of heads whose K and V fit together in 32 MiB of L2, the longest first; apart, head "
     "after head.",
     kHeadOrders, &Knobs::heads_together, "", true},
    {"trim",
     "In the Hopper program, which column tiles four warps multiply: on, those that any of their "
     "64 rows sees; off, all that the row tile sees.",
     kOnOff, &Knobs::trim, "ATTNSCOPE_TRIM", true},
    {"exp",
     "In the Hopper program, where exponentials of unmasked tiles are computed: special, on the "
     "special function units; mixed, every fourth by a polynomial on the multiply-add units, to "
     "within 7.5e-5.",
     kExponentials, &Knobs::polynomial, "ATTNSCOPE_POLYNOMIAL_EVERY", true},
};

}  // namespace

std::span<const Knob> all_knobs() {
  return kKnobs;
}

const Knob* find_knob(std::string_view name) {
  const auto found = std::ranges::find(kKnobs, name, &Knob::name);
  return found == std::end(kKnobs) ? nullptr : &*found;
}

const KnobValue* find_value(const Knob& knob, std::string_view name) {
  const auto found = std::ranges::find(knob.values, name, &KnobValue::name);
  return found == knob.values.end() ? nullptr : &*found;
}

Knobs knobs_of(const RunSpec& spec) {
  Knobs knobs{.visit_hidden = spec.variant.visit_hidden ? 1 : 0};
  for (const Knob& knob : kKnobs) {
    const auto given = spec.switches.find(std::string(knob.name));
    if (given == spec.switches.end()) continue;
    const KnobValue* const value = find_value(knob, given->second);
    ATTNSCOPE_CHECK(value != nullptr, ==, true);
    knobs.*knob.member = value->value;
  }
  return knobs;
}

std::vector<std::string> knob_options(const Knobs& knobs) {
  std::vector<std::string> options;
  for (const Knob& knob : kKnobs) {
    const int value = knobs.*knob.member;
    if (knob.macro.empty() || value == knob.values.front().value) continue;
    options.push_back(fmt::format("-D{}={}", knob.macro, value));
  }
  if (knobs.visit_hidden != 0) options.emplace_back("-DATTNSCOPE_VISIT_HIDDEN=1");
  return options;
}

}  // namespace attnscope::kernels
