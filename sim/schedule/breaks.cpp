#include "sim/schedule/breaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/message_text.h"
#include "reference/result.h"

namespace attnscope {

namespace {

/// Records each operation the first time it runs.
class OperationList : public CountingObserver {
 public:
  void begin_launch(std::string_view /*name*/, const TileGrid& /*grid*/) override { ++launch_; }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      const PassOperation operation{launch_ - 1, op.line, op.kind, op.dest_tiles[0].tensor};
      if (std::ranges::find(found_, operation) == found_.end()) found_.push_back(operation);
    }
  }
  void mark() override {}
  void repeat(Index /*times*/) override {}
  void restart() { launch_ = 0; }

  std::vector<PassOperation> by_line() const {
    std::vector<PassOperation> sorted = found_;
    std::ranges::stable_sort(
        sorted, {}, [](const PassOperation& each) { return std::pair(each.launch, each.line); });
    return sorted;
  }

 private:
  std::size_t launch_ = 0;
  std::vector<PassOperation> found_;
};

Error unknown(const RunBreak& broken, std::string message) {
  Error error = invalid_field(ErrorCode::unknown_name, "break", std::move(message));
  error.value = to_string(broken);
  return error;
}

bool is_row_statistic(Tensor tensor) {
  return layout_of(tensor) == TensorLayout::query_by_one;
}

bool leaves_on_chip(const PassOperation& operation) {
  return operation.kind != OpKind::store && operation.kind != OpKind::atomic_add;
}

/// The name of the break in a message: on the screen, as its list shows it.
std::string name_for_reader(const RunBreak& broken) {
  return worded(to_string(broken), break_words(broken));
}

std::optional<Error> check_replaced(const RunBreak& broken,
                                    std::span<const PassOperation> operations) {
  std::vector<std::string> names;
  for (const PassOperation& each : operations) {
    const std::string name(to_string(each.tensor));
    const bool is_new = std::ranges::find(names, name) == names.end();
    if (leaves_on_chip(each) && is_new && is_row_statistic(each.tensor)) names.push_back(name);
    // The second result of the running maximum
    const std::string alpha(to_string(Tensor::alpha));
    const bool has_alpha = std::ranges::find(names, alpha) != names.end();
    if (each.kind == OpKind::running_max && !has_alpha) names.push_back(alpha);
  }
  const std::string& tensor = broken.replaced.tensor;
  if (std::ranges::find(names, tensor) != names.end()) return std::nullopt;
  return unknown(broken,
                 fmt::format("{} is '{}': this pass has no row statistic {} on chip{}",
                             field_name("break"), name_for_reader(broken), tensor,
                             names.empty() ? ", nor any other"
                                           : fmt::format("; it has {}", fmt::join(names, ", "))));
}

DroppedOps dropped_ops(const DroppedOp& dropped) {
  DroppedOps ops{.only = dropped.only};
  if (dropped.line > 0) ops.line = static_cast<std::uint8_t>(dropped.line - 1);
  if (dropped.kind.empty()) return ops;
  ops.kind = parse_name<OpKind>(dropped.kind);
  ops.tensor = parse_name<Tensor>(dropped.tensor);
  return ops;
}

/// Whether the names of a break are names of a kind and a tensor.
bool has_names(const DroppedOp& dropped) {
  return dropped.kind.empty() ||
         (parse_name<OpKind>(dropped.kind) && parse_name<Tensor>(dropped.tensor));
}

bool matches(const DroppedOps& dropped, const PassOperation& operation) {
  TileOp op;
  op.kind = operation.kind;
  op.line = operation.line;
  op.dest_tiles[0].tensor = operation.tensor;
  return dropped.matches(op);
}

}  // namespace

std::vector<PassOperation> operations_of(const Pass& pass, const PassRun& run) {
  OperationList list;
  for (const KeyLengthGroup& group : group_batch_by_key_length(run.problem)) {
    CountingObserver* const observers[] = {&list};
    list.restart();
    count_head(pass, run, group.first, 0, observers);
  }
  return list.by_line();
}

RunBreak break_of(const PassOperation& operation, const Pass& pass,
                  std::span<const PassOperation> operations, std::optional<Occurrence> only) {
  const Launch& launch = pass.launches[operation.launch];
  const bool on_two_lines = std::ranges::any_of(operations, [&](const PassOperation& other) {
    return other.launch == operation.launch && other.kind == operation.kind &&
           other.tensor == operation.tensor && other.line != operation.line;
  });
  RunBreak broken;
  broken.dropped = {.launch = std::string(launch.name),
                    .line = on_two_lines ? operation.line + 1 : 0,
                    .kind = std::string(to_string(operation.kind)),
                    .tensor = std::string(to_string(operation.tensor)),
                    .only = only};
  return broken;
}

bool is_broken(const PassOperation& operation, const Pass& pass, const RunBreak& broken) {
  if (broken.replaces()) {
    const std::optional<Tensor> tensor = parse_name<Tensor>(broken.replaced.tensor);
    // Alpha is the second result of the running maximum
    return (operation.tensor == tensor && leaves_on_chip(operation)) ||
           (operation.kind == OpKind::running_max && tensor == Tensor::alpha);
  }
  const std::optional<DroppedOps>& dropped = pass.launches[operation.launch].dropped;
  return broken.drops() && dropped && matches(*dropped, operation);
}

std::optional<Error> check_break(const RunBreak& broken, const Pass& pass, const PassRun& run) {
  const std::vector<PassOperation> operations = operations_of(pass, run);
  if (broken.replaces()) return check_replaced(broken, operations);
  const DroppedOp& dropped = broken.dropped;
  std::vector<std::string> launches;
  for (const Launch& launch : pass.launches) launches.emplace_back(launch.name);
  if (std::ranges::find(launches, dropped.launch) == launches.end()) {
    return unknown(broken,
                   fmt::format("{} is '{}': {}", field_name("break"), name_for_reader(broken),
                               unknown_name_message("launch", dropped.launch, launches)));
  }
  std::vector<std::string> names;
  std::vector<std::string> names_on_screen;
  for (const PassOperation& each : operations) {
    if (pass.launches[each.launch].name != dropped.launch) continue;
    if (has_names(dropped) && matches(dropped_ops(dropped), each)) return std::nullopt;
    const std::string name = fmt::format("{}:{}", each.line + 1, operation_name(each));
    if (std::ranges::find(names, name) != names.end()) continue;
    names.push_back(name);
    const std::string on_screen =
        fmt::format("{} {}", to_string(each.kind), to_string(each.tensor));
    const bool is_new = std::ranges::find(names_on_screen, on_screen) == names_on_screen.end();
    if (is_new) names_on_screen.push_back(on_screen);
  }
  return unknown(broken,
                 fmt::format("{} is '{}': launch {} has no such operation in this run; it has {}",
                             field_name("break"), name_for_reader(broken), dropped.launch,
                             worded(fmt::format("{}", fmt::join(names, ", ")),
                                    fmt::format("{}", fmt::join(names_on_screen, ", ")))));
}

std::string operation_name(const PassOperation& operation) {
  return fmt::format("{}:{}", to_string(operation.kind), to_string(operation.tensor));
}

std::string break_words(const RunBreak& broken) {
  if (!broken.any()) return "";
  if (broken.replaces()) {
    return fmt::format("{} is always {}", broken.replaced.tensor, broken.replaced.value);
  }
  const DroppedOp& dropped = broken.dropped;
  const std::string once = dropped.only ? " once" : "";
  if (dropped.kind.empty()) return fmt::format("line {} dropped{}", dropped.line, once);
  return fmt::format("{} {} dropped{}", dropped.kind, dropped.tensor, once);
}

void mark_dropped(const ScheduleOptions& options, Pass& pass) {
  const RunBreak& broken = options.variant.broken;
  if (!broken.drops() || !has_names(broken.dropped)) return;
  for (Launch& launch : pass.launches) {
    if (launch.name == broken.dropped.launch) launch.dropped = dropped_ops(broken.dropped);
  }
}

}  // namespace attnscope
