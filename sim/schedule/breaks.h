/// The operations of a pass that can be broken, by name, and the check of a RunBreak against them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/result.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

/// An operation of a launch's pseudo-code, which may run any number of times.
struct PassOperation {
  std::size_t launch = 0;  ///< index into Pass::launches
  std::uint8_t line = 0;   ///< index into the launch's pseudo-code
  OpKind kind = OpKind::load;
  Tensor tensor = Tensor::Q;  ///< of its first destination
  bool operator==(const PassOperation&) const = default;
};

/// The operations that the pass executes for a head of any batch entry, by launch and line, in the
/// order in which they first run. The pass must be from make_head_pass().
std::vector<PassOperation> operations_of(const Pass& pass, const PassRun& run);

/// The break that drops the operation, either always or once; it names the line if another line of
/// the launch has the same operation.
RunBreak break_of(const PassOperation& operation, const Pass& pass,
                  std::span<const PassOperation> operations,
                  std::optional<Occurrence> only = std::nullopt);

/// Whether the break drops the operation of the pass, or replaces its result on chip.
bool is_broken(const PassOperation& operation, const Pass& pass, const RunBreak& broken);

/// Nothing if the pass has the operation or statistic named by the break; else unknown_name, with
/// the possible names.
std::optional<Error> check_break(const RunBreak& broken, const Pass& pass, const PassRun& run);

/// "rescale:O", as a break names the operation.
std::string operation_name(const PassOperation& operation);

/// "rescale O dropped", "line 14 dropped", "alpha is always 1"; empty if nothing is broken.
std::string break_words(const RunBreak& broken);

/// Sets Launch::dropped to the operations that the options' break drops; make_pass() calls it.
void mark_dropped(const ScheduleOptions& options, Pass& pass);

}  // namespace attnscope
