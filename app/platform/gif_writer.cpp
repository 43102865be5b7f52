#include "app/platform/gif_writer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace attnscope::app {

namespace {

constexpr int kStays = 255;             // the index of an unchanged pixel
constexpr std::size_t kFrequent = 160;  // colours with palette entries of their own

/// Colours whose upper six bits are equal in each channel.
constexpr std::size_t kBins = std::size_t{1} << 18;
std::size_t bin_of(const std::uint8_t* rgb) {
  return static_cast<std::size_t>(rgb[0] >> 2) << 12 | static_cast<std::size_t>(rgb[1] >> 2) << 6 |
         static_cast<std::size_t>(rgb[2] >> 2);
}

struct Bin {
  std::size_t index = 0;
  std::int64_t count = 0;
  std::array<std::int64_t, 3> sum{};

  std::int64_t mean(std::size_t channel) const { return sum[channel] / count; }
};

/// The bins with pixels, the most frequent first.
std::vector<Bin> bins_of(const Image& image, const std::vector<bool>& changed) {
  std::vector<Bin> all(kBins);
  for (std::size_t n = 0; n < changed.size(); ++n) {
    if (!changed[n]) continue;
    const std::uint8_t* rgb = image.rgb.data() + 3 * n;
    Bin& bin = all[bin_of(rgb)];
    ++bin.count;
    for (std::size_t channel = 0; channel < 3; ++channel) bin.sum[channel] += rgb[channel];
  }
  for (std::size_t n = 0; n < kBins; ++n) all[n].index = n;
  std::erase_if(all, [](const Bin& bin) { return bin.count == 0; });
  std::ranges::stable_sort(all, [](const Bin& a, const Bin& b) { return a.count > b.count; });
  return all;
}

using Box = std::pair<std::size_t, std::size_t>;  // bins [first, second)

/// The channel in which the colours of the box differ most, and the difference.
std::pair<std::size_t, std::int64_t> widest_channel(const std::vector<Bin>& bins, const Box& box) {
  std::pair<std::size_t, std::int64_t> widest{0, -1};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::int64_t low = 255, high = 0;
    for (std::size_t n = box.first; n < box.second; ++n) {
      low = std::min(low, bins[n].mean(channel));
      high = std::max(high, bins[n].mean(channel));
    }
    if (high - low > widest.second) widest = {channel, high - low};
  }
  return widest;
}

/// Median cut: halves the box with the widest range of colours until there are `most` boxes.
std::vector<Box> cut_into_boxes(std::vector<Bin>& bins, std::size_t begin, std::size_t most) {
  std::vector<Box> boxes;
  if (begin < bins.size()) boxes.push_back({begin, bins.size()});
  while (!boxes.empty() && boxes.size() < most) {
    std::size_t widest = 0;
    std::int64_t width = -1;
    for (std::size_t n = 0; n < boxes.size(); ++n) {
      const std::int64_t its = widest_channel(bins, boxes[n]).second;
      if (boxes[n].second - boxes[n].first < 2 || its <= width) continue;
      widest = n;
      width = its;
    }
    if (width < 0) break;
    Box& box = boxes[widest];
    const std::size_t channel = widest_channel(bins, box).first;
    const std::size_t middle = (box.first + box.second) / 2;
    const auto at = [&](std::size_t n) { return bins.begin() + static_cast<std::ptrdiff_t>(n); };
    std::nth_element(at(box.first), at(middle), at(box.second), [&](const Bin& a, const Bin& b) {
      return std::pair(a.mean(channel), a.index) < std::pair(b.mean(channel), b.index);
    });
    boxes.push_back({middle, box.second});
    boxes[widest].second = middle;
  }
  return boxes;
}

void put_word(std::string& bytes, int word) {
  bytes += static_cast<char>(word & 0xFF);
  bytes += static_cast<char>(word >> 8 & 0xFF);
}

/// Collects codes of a few bits into blocks.
class CodeBlocks {
 public:
  void put(unsigned code, unsigned bits) {
    pending_ |= code << count_;
    count_ += bits;
    while (count_ >= 8) put_byte();
  }
  std::string finish() {
    if (count_ > 0) put_byte();
    end_block();
    blocks_ += '\0';
    return std::move(blocks_);
  }

 private:
  void put_byte() {
    block_ += static_cast<char>(pending_ & 0xFF);
    pending_ >>= 8;
    count_ -= std::min(count_, 8U);
    if (block_.size() == 255) end_block();
  }
  void end_block() {
    if (block_.empty()) return;
    blocks_ += static_cast<char>(block_.size());
    blocks_ += block_;
    block_.clear();
  }

  std::string blocks_, block_;
  unsigned pending_ = 0;
  unsigned count_ = 0;
};

}  // namespace

IndexedPicture with_palette(const Image& image, const std::vector<bool>& changed) {
  std::vector<Bin> bins = bins_of(image, changed);
  IndexedPicture picture;
  picture.palette.assign(std::size_t{256} * 3, 0);
  picture.pixels.assign(changed.size(), kStays);
  std::vector<std::uint8_t> entry_of_bin(kBins, 0);
  std::size_t entries = 0;
  const auto add_entry = [&](const Box& box) {
    Bin sum;
    for (std::size_t n = box.first; n < box.second; ++n) {
      entry_of_bin[bins[n].index] = static_cast<std::uint8_t>(entries);
      sum.count += bins[n].count;
      for (std::size_t channel = 0; channel < 3; ++channel) {
        sum.sum[channel] += bins[n].sum[channel];
      }
    }
    for (std::size_t channel = 0; channel < 3; ++channel) {
      picture.palette[3 * entries + channel] = static_cast<std::uint8_t>(sum.mean(channel));
    }
    ++entries;
  };
  const std::size_t own = std::min(bins.size(), bins.size() > kStays ? kFrequent : kStays);
  for (std::size_t n = 0; n < own; ++n) add_entry({n, n + 1});
  for (const Box& box : cut_into_boxes(bins, own, kStays - own)) add_entry(box);
  for (std::size_t n = 0; n < changed.size(); ++n) {
    if (changed[n]) picture.pixels[n] = entry_of_bin[bin_of(image.rgb.data() + 3 * n)];
  }
  return picture;
}

std::string lzw_blocks(const std::vector<std::uint8_t>& pixels) {
  constexpr unsigned kClear = 256, kEnd = 257, kMostCodes = 4096;
  constexpr std::size_t kSlots = std::size_t{1} << 14;
  // A hash table from (code of a string, next index) to the code of the longer string
  std::vector<std::uint32_t> keys(kSlots, 0);  // 0: free
  std::vector<std::uint16_t> codes(kSlots, 0);
  CodeBlocks blocks;
  unsigned bits = 9, next = kEnd + 1;
  blocks.put(kClear, bits);
  unsigned string = pixels.empty() ? kEnd : pixels.front();
  for (std::size_t n = 1; n < pixels.size(); ++n) {
    const std::uint32_t key = (string << 8 | pixels[n]) + 1;
    std::size_t slot = (key * 2654435761U >> 12) % kSlots;
    while (keys[slot] != 0 && keys[slot] != key) slot = (slot + 1) % kSlots;
    if (keys[slot] == key) {
      string = codes[slot];
      continue;
    }
    blocks.put(string, bits);
    string = pixels[n];
    if (next < kMostCodes) {
      keys[slot] = key;
      codes[slot] = static_cast<std::uint16_t>(next);
      if (next == 1U << bits) ++bits;
      ++next;
      continue;
    }
    blocks.put(kClear, bits);
    std::ranges::fill(keys, 0U);
    bits = 9;
    next = kEnd + 1;
  }
  if (string != kEnd) blocks.put(string, bits);
  if (next == 1U << bits && bits < 12) ++bits;
  blocks.put(kEnd, bits);
  return blocks.finish();
}

GifWriter::GifWriter(FileWriter file, int width, int height, int delay_cs)
    : file_(std::move(file)), width_(width), height_(height), delay_cs_(delay_cs) {}

Result<GifWriter> GifWriter::open(const std::filesystem::path& path, int width, int height,
                                  int delay_cs) {
  ATTNSCOPE_TRY(FileWriter file, FileWriter::open(path));
  GifWriter gif(std::move(file), width, height, delay_cs);
  std::string head = "GIF89a";
  put_word(head, width);
  put_word(head, height);
  head += std::string("\x70\0\0", 3);                                // no global palette
  head += std::string("\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0", 19);  // repeat forever
  gif.file_.write(head);
  return gif;
}

void GifWriter::add(const Image& image) {
  const std::size_t count = image.rgb.size() / 3;
  std::vector<bool> changed(count, true);
  if (!last_.rgb.empty()) {
    for (std::size_t n = 0; n < count; ++n) {
      changed[n] = !std::equal(image.rgb.begin() + static_cast<std::ptrdiff_t>(3 * n),
                               image.rgb.begin() + static_cast<std::ptrdiff_t>(3 * n + 3),
                               last_.rgb.begin() + static_cast<std::ptrdiff_t>(3 * n));
    }
  }
  const IndexedPicture picture = with_palette(image, changed);
  std::string frame("\x21\xF9\x04\x05", 4);  // transparent pixels keep their previous colour
  put_word(frame, delay_cs_);
  frame += static_cast<char>(kStays);
  frame += std::string("\0\x2C\0\0\0\0", 6);
  put_word(frame, width_);
  put_word(frame, height_);
  frame += static_cast<char>(0x87);  // a local palette of 256 colours
  frame.append(picture.palette.begin(), picture.palette.end());
  frame += '\x08';
  file_.write(frame);
  file_.write(lzw_blocks(picture.pixels));
  last_ = image;
}

std::optional<Error> GifWriter::finish() {
  file_.write(";");
  return file_.finish();
}

}  // namespace attnscope::app
