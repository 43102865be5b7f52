/// Every store of a run, in order, so that HBM can be set to its state after any step, forwards or
/// backwards, at a cost proportional to the stores in between.
#pragma once

#include <array>
#include <vector>

#include "sim/observers/numeric_executor.h"

namespace attnscope {

class Journal {
 public:
  /// Records that the op at `step` stored `values` at `origin`; steps must ascend.
  void append(Index step, Tensor tensor, const Shape& origin, const RowMatrix& values);

  /// The value of a tensor before its first store; NaN unless set.
  void set_initial_value(Tensor tensor, double value);

  /// Brings the executor's HBM from the state after step `from` to the state after step `to`.
  void move(Index from, Index to, NumericExecutor& executor) const;

 private:
  struct Entry {
    Index step;
    Tensor tensor;
    Shape origin;
    Shape shape;
    std::ptrdiff_t previous;  ///< previous entry of the same place, or -1
    std::size_t offset;       ///< into values_
  };
  /// The last entry that stored at this origin, or -1.
  std::ptrdiff_t& last_at(Tensor tensor, const Shape& origin);
  void apply(const Entry& entry, RowMatrix& tensor) const;
  void undo(const Entry& entry, RowMatrix& tensor) const;
  std::size_t count_until(Index step) const;

  std::vector<Entry> entries_;
  std::vector<double> values_;
  std::array<double, kTensorCount> initial_ = not_a_number();
  std::array<std::vector<std::pair<Index, std::ptrdiff_t>>, kTensorCount> last_;

  static std::array<double, kTensorCount> not_a_number();
};

}  // namespace attnscope
