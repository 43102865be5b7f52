/// The switches of the kernels ("knobs"): one optimisation each, which a run may leave out or
/// change to measure its worth. Plain C++.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::kernels {

struct KernelInfo;  // kernels/catalog.h

/// A value of every knob. What a kernel does not have keeps its default.
struct Knobs {
  int stages = 2;          ///< column tiles on chip at once
  int warps = 0;           ///< of a thread block; 0: by rule
  int async_copies = 1;    ///< tiles are copied by cp.async, else through registers
  int swizzle = 1;         ///< chunks of a shared tile change places from row to row
  int rescale_always = 0;  ///< O and l are rescaled in every step
  int mask_all = 0;        ///< every tile is masked, not only those that the edge cuts
  int hopper = 1;          ///< Hopper's instructions where there is such a program
  bool operator==(const Knobs&) const = default;
};

struct KnobValue {
  std::string_view name;
  int value;
};

struct Knob {
  std::string_view name;
  std::string_view idea;              ///< one sentence: what it does, and what the default gains
  std::span<const KnobValue> values;  ///< the first is the default
  int Knobs::*member;
  std::string_view macro;  ///< of kernels/device/knobs.cuh; "": the host alone uses it
};

// The catalog says which pass of which kernel has them
extern const Knob kStagesKnob, kWarpsKnob, kCopiesKnob, kSwizzleKnob, kRescaleKnob, kMaskKnob,
    kInstructionsKnob;

/// Every knob.
std::span<const Knob* const> all_knobs();

/// The values of the switches, which check_switches() accepts.
Knobs knobs_of(const std::map<std::string, std::string>& switches);

/// The switches that the pass has; a value that is the default is left out, so that a run has one
/// description. With a switch or value that the kernel does not have, or not in 16 bits, an error
/// of the field "switches".
Result<std::map<std::string, std::string>> check_switches(
    const std::map<std::string, std::string>& switches, const KernelInfo& kernel, PassKind pass,
    DType dtype);

/// The macros of the knobs that are not at their default, as options of the compiler.
std::vector<std::string> knob_options(const Knobs& knobs);

}  // namespace attnscope::kernels
