/// The switches of the kernels ("knobs"): each is an optimisation that a run may turn off or change
/// to measure its effect. Plain C++.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/run_spec.h"

namespace attnscope::kernels {

/// The values of all knobs. A knob that a kernel does not have keeps its default.
struct Knobs {
  int stages = 2;          ///< column tiles on chip at once
  int warps = 0;           ///< of a thread block; 0: by rule
  int async_copies = 1;    ///< tiles are copied by cp.async; off: through registers
  int swizzle = 1;         ///< a shared tile's chunks are permuted from row to row
  int rescale_always = 0;  ///< O and l are rescaled in every step
  int mask_all = 0;        ///< all tiles are masked, not only those at the mask's edge
  int sliced_k = 0;        ///< warps share the keys of a column tile, not the rows of the row tile
  int ascending = 0;       ///< the blocks of a head's first row tiles start first
  int hopper = 1;          ///< 1: the program that uses Hopper's instructions, if any
  int overlap = 1;         ///< Hopper: a tile's softmax overlaps the warpgroup's own products
  int ping_pong = 1;       ///< Hopper: two consumers start their products in turn
  int persistent = 1;      ///< Hopper: a block computes row tile after row tile
  int heads_together = 1;  ///< Hopper, causal: the longest row tiles of several heads start first
  int trim = 1;            ///< Hopper: a consumer skips column tiles hidden from its rows
  int polynomial = 0;      ///< Hopper: one in this many exponentials uses multiply-adds; 0: none
  int visit_hidden = 0;    ///< ScheduleVariant::visit_hidden: the model has it as well
  bool operator==(const Knobs&) const = default;
};

struct KnobValue {
  std::string_view name;
  int value;
};

struct Knob {
  std::string_view name;
  std::string_view idea;              ///< one sentence: what it sets, and what each value does
  std::span<const KnobValue> values;  ///< the first is the default
  int Knobs::*member;
  std::string_view macro;    ///< in kernels/device/knobs.cuh; "": only the host uses the knob
  bool hopper_only = false;  ///< only programs with Hopper's instructions have it
};

/// The knob that chooses between two programs of a pass.
inline constexpr const char* kInstructionsKnob = "instructions";

/// All knobs. The catalog says which passes of which kernels have them.
std::span<const Knob> all_knobs();
/// The knob with this name; null if there is none.
const Knob* find_knob(std::string_view name);
/// The value with this name; null if the knob has none.
const KnobValue* find_value(const Knob& knob, std::string_view name);

/// The values of a run's switches, which kernels::check_switches() has accepted, and of the choices
/// that the kernel shares with the model.
Knobs knobs_of(const RunSpec& spec);

/// The macros of the knobs that are not at their defaults, as compiler options.
std::vector<std::string> knob_options(const Knobs& knobs);

}  // namespace attnscope::kernels
