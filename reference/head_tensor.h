/// A [batch, heads, rows, cols] tensor in C order, in double precision: exchanged by the reference,
/// the simulator's inputs and outputs, and the checks of kernels.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// Q, O [B, H, N, d]; K, V [B, H_kv, N_kv, d]; LSE [B, H, N, 1].
struct HeadTensor {
  Index batch = 0;
  Index heads = 0;
  Index rows = 0;
  Index cols = 0;
  std::vector<double> data;  ///< batch * heads * rows * cols values, C order

  HeadTensor() = default;
  /// All values are `fill`.
  HeadTensor(Index batch_count, Index head_count, Index row_count, Index col_count,
             double fill = 0.0)
      : batch(batch_count),
        heads(head_count),
        rows(row_count),
        cols(col_count),
        data(static_cast<std::size_t>(batch_count * head_count * row_count * col_count), fill) {}

  Index size() const { return batch * heads * rows * cols; }
  Index head_size() const { return rows * cols; }
  bool same_shape(const HeadTensor& other) const {
    return batch == other.batch && heads == other.heads && rows == other.rows && cols == other.cols;
  }

  /// The [rows, cols] values of one head, C order.
  std::span<double> head(Index b, Index h) {
    return std::span(data).subspan(head_offset(b, h), static_cast<std::size_t>(head_size()));
  }
  std::span<const double> head(Index b, Index h) const {
    return std::span(data).subspan(head_offset(b, h), static_cast<std::size_t>(head_size()));
  }

  double& at(Index b, Index h, Index row, Index col) { return data[offset(b, h, row, col)]; }
  double at(Index b, Index h, Index row, Index col) const { return data[offset(b, h, row, col)]; }

  bool operator==(const HeadTensor&) const = default;

 private:
  std::size_t head_offset(Index b, Index h) const {
    return static_cast<std::size_t>((b * heads + h) * rows * cols);
  }
  std::size_t offset(Index b, Index h, Index row, Index col) const {
    return static_cast<std::size_t>(((b * heads + h) * rows + row) * cols + col);
  }
};

}  // namespace attnscope
