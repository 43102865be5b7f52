#include "tests/kernels/device_tensor.h"

#include <algorithm>
#include <cstring>

#include "reference/rounding.h"

namespace attnscope::kernels {

namespace {

constexpr Index kPaddingElements = 8;
constexpr std::byte kPoison{0xff};

void encode(DType dtype, double value, std::byte* destination) {
  if (dtype == DType::fp32) {
    const float stored = static_cast<float>(value);
    std::memcpy(destination, &stored, sizeof stored);
  } else {
    const std::uint16_t stored = dtype == DType::fp16 ? to_fp16_bits(value) : to_bf16_bits(value);
    std::memcpy(destination, &stored, sizeof stored);
  }
}

double decode(DType dtype, const std::byte* source) {
  if (dtype == DType::fp32) {
    float stored = 0;
    std::memcpy(&stored, source, sizeof stored);
    return static_cast<double>(stored);
  }
  std::uint16_t stored = 0;
  std::memcpy(&stored, source, sizeof stored);
  return dtype == DType::fp16 ? from_fp16_bits(stored) : from_bf16_bits(stored);
}

}  // namespace

void share_heads(HeadTensor& tensor) {
  for (Index b = 0; b < tensor.batch; ++b) {
    for (Index h = 1; h < tensor.heads; ++h) {
      std::ranges::copy(tensor.head(b, 0), tensor.head(b, h).begin());
    }
  }
}

DeviceTensor::DeviceTensor(Index batch, Index heads, Index rows, Index cols, DType dtype,
                           Layout layout)
    : dtype_(dtype) {
  shape_.batch = batch;
  shape_.heads = heads;
  shape_.rows = rows;
  shape_.cols = cols;
  if (layout == Layout::contiguous) {
    stride_row_ = cols;
    stride_head_ = rows * cols;
    stride_batch_ = heads * stride_head_;
  } else if (layout == Layout::shared) {
    stride_row_ = cols;
    stride_head_ = 0;
    stride_batch_ = rows * cols;
  } else {
    stride_head_ = cols;
    stride_row_ = heads * cols + kPaddingElements;
    stride_batch_ = rows * stride_row_;
  }
  buffer_ = DeviceBuffer(static_cast<std::size_t>(batch * stride_batch_ * size_bytes(dtype)));
  poison();
}

void DeviceTensor::poison() {
  buffer_.fill_bytes(static_cast<int>(kPoison));
}

std::size_t DeviceTensor::offset_bytes(Index b, Index h, Index row) const {
  return static_cast<std::size_t>((b * stride_batch_ + h * stride_head_ + row * stride_row_) *
                                  size_bytes(dtype_));
}

void DeviceTensor::upload(const HeadTensor& values) {
  std::vector<std::byte> host(buffer_.bytes(), kPoison);
  for (Index b = 0; b < shape_.batch; ++b) {
    for (Index h = 0; h < shape_.heads; ++h) {
      for (Index row = 0; row < shape_.rows; ++row) {
        std::byte* element = host.data() + offset_bytes(b, h, row);
        for (Index col = 0; col < shape_.cols; ++col, element += size_bytes(dtype_)) {
          encode(dtype_, values.at(b, h, row, col), element);
        }
      }
    }
  }
  buffer_.copy_from_host(host.data());
}

std::vector<std::byte> DeviceTensor::bytes() const {
  std::vector<std::byte> host(buffer_.bytes());
  buffer_.copy_to_host(host.data());
  return host;
}

HeadTensor DeviceTensor::download() const {
  const std::vector<std::byte> host = bytes();
  HeadTensor values(shape_.batch, shape_.heads, shape_.rows, shape_.cols);
  for (Index b = 0; b < shape_.batch; ++b) {
    for (Index h = 0; h < shape_.heads; ++h) {
      for (Index row = 0; row < shape_.rows; ++row) {
        const std::byte* element = host.data() + offset_bytes(b, h, row);
        for (Index col = 0; col < shape_.cols; ++col, element += size_bytes(dtype_)) {
          values.at(b, h, row, col) = decode(dtype_, element);
        }
      }
    }
  }
  return values;
}

bool DeviceTensor::padding_is_untouched() const {
  std::vector<std::byte> host = bytes();
  const auto row_bytes = static_cast<std::ptrdiff_t>(shape_.cols * size_bytes(dtype_));
  for (Index b = 0; b < shape_.batch; ++b) {
    for (Index h = 0; h < shape_.heads; ++h) {
      for (Index row = 0; row < shape_.rows; ++row) {
        const auto begin = host.begin() + static_cast<std::ptrdiff_t>(offset_bytes(b, h, row));
        std::fill(begin, begin + row_bytes, kPoison);
      }
    }
  }
  return std::all_of(host.begin(), host.end(), [](std::byte byte) { return byte == kPoison; });
}

TensorView DeviceTensor::view() const {
  return {.data_dev = buffer_.data_dev(),
          .stride_batch = stride_batch_,
          .stride_head = stride_head_,
          .stride_row = stride_row_};
}

}  // namespace attnscope::kernels
