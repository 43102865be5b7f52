#include "sim/snapshot/journal.h"

#include <algorithm>
#include <limits>

namespace attnscope {

std::array<double, kTensorCount> Journal::not_a_number() {
  std::array<double, kTensorCount> values{};
  values.fill(std::numeric_limits<double>::quiet_NaN());
  return values;
}

void Journal::set_initial_value(Tensor tensor, double value) {
  initial_[static_cast<std::size_t>(tensor)] = value;
}

std::ptrdiff_t& Journal::last_at(Tensor tensor, const Shape& origin) {
  auto& last = last_[static_cast<std::size_t>(tensor)];
  const Index key = (origin.rows << 32) + origin.cols;
  const auto place = std::ranges::lower_bound(last, key, {}, [](const auto& e) { return e.first; });
  if (place != last.end() && place->first == key) return place->second;
  return last.insert(place, {key, -1})->second;
}

void Journal::append(Index step, Tensor tensor, const Shape& origin, const RowMatrix& values) {
  std::ptrdiff_t& last = last_at(tensor, origin);
  entries_.push_back({step, tensor, origin, {values.rows(), values.cols()}, last, values_.size()});
  last = static_cast<std::ptrdiff_t>(entries_.size()) - 1;
  values_.insert(values_.end(), values.data(), values.data() + values.size());
}

void Journal::apply(const Entry& entry, RowMatrix& tensor) const {
  tensor.block(entry.origin.rows, entry.origin.cols, entry.shape.rows, entry.shape.cols) =
      Eigen::Map<const RowMatrix>(values_.data() + entry.offset, entry.shape.rows,
                                  entry.shape.cols);
}

void Journal::undo(const Entry& entry, RowMatrix& tensor) const {
  if (entry.previous >= 0) {
    apply(entries_[static_cast<std::size_t>(entry.previous)], tensor);
    return;
  }
  tensor.block(entry.origin.rows, entry.origin.cols, entry.shape.rows, entry.shape.cols)
      .setConstant(initial_[static_cast<std::size_t>(entry.tensor)]);
}

std::size_t Journal::count_until(Index step) const {
  const auto past = std::ranges::upper_bound(entries_, step, {}, &Entry::step);
  return static_cast<std::size_t>(past - entries_.begin());
}

void Journal::move(Index from, Index to, NumericExecutor& executor) const {
  const std::size_t begin = count_until(from);
  const std::size_t end = count_until(to);
  for (std::size_t index = begin; index < end; ++index) {
    apply(entries_[index], executor.hbm(entries_[index].tensor));
  }
  for (std::size_t index = begin; index > end; --index) {
    undo(entries_[index - 1], executor.hbm(entries_[index - 1].tensor));
  }
}

}  // namespace attnscope
