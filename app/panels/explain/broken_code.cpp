#include "app/panels/explain/broken_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

namespace {

/// A range of characters of a line.
struct Part {
  std::size_t begin = 0, end = 0;
};

/// Whether a name in the pseudo-code, such as "l_i", is the tensor's.
bool is_name_of(std::string_view name, Tensor tensor) {
  const std::string_view letters = display_name(tensor);
  if (!name.starts_with(letters)) return false;
  const std::string_view subscript = name.substr(letters.size());
  constexpr std::array<std::string_view, 5> kSubscripts = {"", "_i", "_j", "_ij", "_i^s"};
  return std::ranges::find(kSubscripts, subscript) != kSubscripts.end();
}

/// The statement of the line that assigns to the tensor: "l_i = 0" of "O_i = 0; l_i = 0".
std::optional<Part> statement_of(std::string_view line, Tensor tensor) {
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find("; ", begin), line.size());
    const std::size_t equals = line.substr(begin, end - begin).find(" = ");
    if (equals != std::string_view::npos && is_name_of(line.substr(begin, equals), tensor)) {
      return Part{begin, end};
    }
    begin = end + 2;
  }
  return std::nullopt;
}

/// The tensor's name in a line that lists names: "V_j" of "load K_j, V_j".
std::optional<Part> name_of(std::string_view line, Tensor tensor) {
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" ,;()", begin), line.size());
    if (end > begin && is_name_of(line.substr(begin, end - begin), tensor)) {
      return Part{begin, end};
    }
    begin = end + 1;
  }
  return std::nullopt;
}

/// The factor of the tensor: "alpha · " of "O_i = alpha · O_i + P V_j".
std::optional<Part> factor_of(std::string_view line, Tensor tensor) {
  constexpr std::string_view kTimes = " · ";
  for (std::size_t at = line.find(kTimes); at != std::string_view::npos;
       at = line.find(kTimes, at + 1)) {
    const std::size_t operand = at + kTimes.size();
    const std::size_t operand_end = std::min(line.find_first_of(" ;)", operand), line.size());
    if (!is_name_of(line.substr(operand, operand_end - operand), tensor)) continue;
    const bool in_parentheses = line[at - 1] == ')';
    const std::size_t before = line.find_last_of(in_parentheses ? "(" : " (", at - 1);
    return Part{in_parentheses ? before : before + 1, operand};
  }
  return std::nullopt;
}

/// The term that the statement adds: " + P V_j" of "O_i = alpha · O_i + P V_j".
std::optional<Part> addend_of(std::string_view line, Tensor tensor) {
  const std::optional<Part> statement = statement_of(line, tensor);
  if (!statement) return std::nullopt;
  const std::size_t plus = line.find(" + ", statement->begin);
  if (plus >= statement->end) return std::nullopt;
  return Part{plus, std::min(line.find(") /", plus), statement->end)};
}

/// The divisor: " / l_i".
std::optional<Part> divisor_of(std::string_view line, Tensor tensor) {
  const std::optional<Part> statement = statement_of(line, tensor);
  if (!statement) return std::nullopt;
  const std::size_t divided = line.find(" / ", statement->begin);
  if (divided >= statement->end) return std::nullopt;
  return Part{divided, statement->end};
}

/// The characters that represent the operation, if any.
std::optional<Part> part_of_operation(std::string_view line, const PassOperation& operation) {
  switch (operation.kind) {
    case OpKind::load:
    case OpKind::store:
      return name_of(line, operation.tensor);
    case OpKind::rescale:
      return factor_of(line, operation.tensor);
    case OpKind::normalize:
      return divisor_of(line, operation.tensor);
    case OpKind::add_row_sum:
    case OpKind::accumulate:
    case OpKind::accumulate_transposed:
    case OpKind::gradient_product:
    case OpKind::gradient_product_transposed:
    case OpKind::add_row_dot:
    case OpKind::add:
    case OpKind::atomic_add:
      return addend_of(line, operation.tensor);
    default:
      return statement_of(line, operation.tensor);
  }
}

/// Strikes out the part of the line that the break drops.
ShownLine without_dropped(std::string_view text, std::span<const PassOperation> dropped, bool whole,
                          const DroppedOp& names) {
  ShownLine line{std::string(text), 0, 0, 0, true};
  const std::optional<Part> part =
      whole ? Part{0, text.size()} : part_of_operation(text, dropped.front());
  if (part) line = {line.text, part->begin, part->end, part->end, true};
  if (part && !names.only) return line;

  // Words for an operation that no characters represent, or that is dropped only once
  if (!part) line.begin = line.struck_end = text.size();
  if (part && part->end != text.size()) return line;
  const std::string what =
      part ? "dropped once"
           : fmt::format("{} {} dropped{}", names.kind, names.tensor, names.only ? " once" : "");
  line.text += "  " + what;
  line.end = line.text.size();
  return line;
}

/// Strikes out the tensor's computation or load, and adds the value that it has instead: "alpha =
/// 1".
ShownLine with_value(std::string_view text, Tensor tensor, Index value) {
  const std::optional<Part> statement = statement_of(text, tensor);
  const std::optional<Part> part = statement ? statement : name_of(text, tensor);
  ShownLine line{std::string(text), text.size(), text.size(), text.size(), true};
  std::string name(display_name(tensor));
  if (part) {
    line.begin = part->begin;
    line.struck_end = part->end;
    const std::string_view struck = text.substr(part->begin, part->end - part->begin);
    name = struck.substr(0, struck.find(' '));
  }
  const std::string instead = fmt::format(" {} = {}", name, value);
  line.text.insert(line.struck_end, instead);
  line.end = line.struck_end + instead.size();
  return line;
}

}  // namespace

std::vector<ShownLine> shown_lines(const Pass& pass, std::size_t launch,
                                   std::span<const PassOperation> operations,
                                   const RunBreak& broken) {
  const auto& code = pass.launches[launch].pseudo_code;
  std::vector<ShownLine> lines;
  for (std::size_t k = 0; k < code.size(); ++k) {
    std::vector<PassOperation> affected;
    bool whole = true;
    for (const PassOperation& each : operations) {
      if (each.launch != launch || each.line != k) continue;
      if (is_broken(each, pass, broken)) {
        affected.push_back(each);
      } else {
        whole = false;
      }
    }
    if (affected.empty()) {
      lines.push_back({std::string(code[k].text)});
    } else if (broken.replaces()) {
      lines.push_back(with_value(code[k].text, parse_name<Tensor>(broken.replaced.tensor).value(),
                                 broken.replaced.value));
    } else {
      lines.push_back(without_dropped(code[k].text, affected, whole, broken.dropped));
    }
  }
  return lines;
}

std::span<const ShownLine> BrokenCode::lines(const Snapshot& snapshot, bool hides_break) {
  const RunOfWork run{snapshot.run};
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  if (!lines_.empty() && run_ == run && launch_ == launch && hides_break_ == hides_break) {
    return lines_;
  }
  run_ = run;
  launch_ = launch;
  hides_break_ = hides_break;
  const RunInfo& info = *snapshot.run;
  const RunBreak broken = hides_break ? RunBreak{} : info.resolved().asked.variant.broken;
  const PassRun pass_run{info.problem(), info.tiling(), info.options, {}};
  const auto operations =
      broken.any() ? operations_of(info.pass, pass_run) : std::vector<PassOperation>{};
  lines_ = shown_lines(info.pass, launch, operations, broken);
  return lines_;
}

}  // namespace attnscope::app
