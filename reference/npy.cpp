#include "reference/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "reference/check.h"
#include "reference/files/file_writer.h"
#include "reference/files/nearest_file.h"
#include "reference/message_text.h"
#include "reference/rounding.h"

namespace attnscope {
namespace {

static_assert(std::endian::native == std::endian::little,
              "payloads are read as they lie in memory");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 32;                // NumPy's own limit
constexpr std::size_t kMaxHeaderBytes = 1U << 16U;  // version 1 headers are shorter

/// Parses the header's dictionary: Python literals of a fixed, small grammar.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  struct Header {
    std::string descr;
    bool fortran_order = false;
    std::vector<Index> shape;
  };

  /// Nothing if the text is not a dictionary with exactly the three keys of the format.
  std::optional<Header> parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = take_string();
      if (!key || !take(':')) return std::nullopt;
      bool* seen = nullptr;
      bool parsed = false;
      if (*key == "descr") {
        seen = &has_descr;
        const auto descr = take_string();
        parsed = descr.has_value();
        if (descr) header.descr = *descr;
      } else if (*key == "fortran_order") {
        seen = &has_order;
        parsed = take_bool(header.fortran_order);
      } else if (*key == "shape") {
        seen = &has_shape;
        parsed = take_shape(header.shape);
      }
      if (!parsed || *seen) return std::nullopt;
      *seen = true;
      if (!take(',') && !peek('}')) return std::nullopt;
    }
    skip_space();
    const bool complete = has_descr && has_order && has_shape && text_.empty();
    return complete ? std::optional(header) : std::nullopt;
  }

 private:
  void skip_space() {
    const std::size_t begin = text_.find_first_not_of(" \t\n");
    text_.remove_prefix(begin == std::string_view::npos ? text_.size() : begin);
  }
  bool peek(char c) {
    skip_space();
    return !text_.empty() && text_.front() == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> take_string() {
    skip_space();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  bool take_bool(bool& value) {
    value = take_word("True");
    return value || take_word("False");
  }
  bool take_shape(std::vector<Index>& shape) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_space();
      Index extent = 0;
      const char* const end = text_.data() + text_.size();
      const auto [rest, error] = std::from_chars(text_.data(), end, extent);
      if (error != std::errc{} || extent < 0 || shape.size() == kMaxRank) return false;
      text_.remove_prefix(static_cast<std::size_t>(rest - text_.data()));
      shape.push_back(extent);
      if (!take(',') && (!peek(')') || shape.size() == 1)) return false;  // (3) is not a tuple
    }
    return true;
  }

  std::string_view text_;
};

/// The bytes of an array of this shape; nothing if more than 2^62.
std::optional<std::size_t> payload_bytes(const std::vector<Index>& shape, std::size_t element) {
  constexpr Index kMaxBytes = Index{1} << 62;
  Index bytes = static_cast<Index>(element);
  for (const Index extent : shape) {
    if (extent == 0) return 0;
  }
  for (const Index extent : shape) {
    if (bytes > kMaxBytes / extent) return std::nullopt;
    bytes *= extent;
  }
  return static_cast<std::size_t>(bytes);
}

template <typename T>
T read_as(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Converts one element per value.
using Widen = void(const char* from, std::span<double> values);

template <typename T, auto to_double = [](T value) { return static_cast<double>(value); }>
void widen_as(const char* from, std::span<double> values) {
  for (double& value : values) {
    value = to_double(read_as<T>(from));
    from += sizeof(T);
  }
}

double from_bool(std::uint8_t byte) {
  return byte == 0 ? 0.0 : 1.0;
}

}  // namespace

/// An element type: its NumPy name, its size, and its conversion to double.
struct NpyElement {
  std::string_view descr;
  std::size_t bytes;
  Widen* widen;
};

namespace {

constexpr NpyElement kFloatingTypes[] = {{"<f2", 2, widen_as<std::uint16_t, from_fp16_bits>},
                                         {"<f4", 4, widen_as<float>},
                                         {"<f8", 8, widen_as<double>}};
constexpr NpyElement kWholeTypes[] = {
    {"|b1", 1, widen_as<std::uint8_t, from_bool>},
    {"|u1", 1, widen_as<std::uint8_t>},
    {"|i1", 1, widen_as<std::int8_t>},
    {"<u2", 2, widen_as<std::uint16_t>},
    {"<i2", 2, widen_as<std::int16_t>},
    {"<u4", 4, widen_as<std::uint32_t>},
    {"<i4", 4, widen_as<std::int32_t>},
    {"<u8", 8, widen_as<std::uint64_t>},
    {"<i8", 8, widen_as<std::int64_t>},
};

/// The element type with this NumPy name; null if it is not supported.
const NpyElement* find_type(std::string_view descr, NpyTypes types) {
  const auto find_in = [&](std::span<const NpyElement> list) {
    const auto found = std::ranges::find(list, descr, &NpyElement::descr);
    return found == list.end() ? nullptr : &*found;
  };
  const NpyElement* type = find_in(kFloatingTypes);
  if (type == nullptr && types == NpyTypes::any_number) type = find_in(kWholeTypes);
  return type;
}

/// Splits a file into the text of its header and its payload; an error's message gives the reason.
struct Parts {
  std::string_view header;
  std::string_view payload;
};

Result<Parts> split(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with(kMagic)) {
    return invalid_request("{}: not a .npy file", name);
  }
  const Error truncated = invalid_request("{}: the file ends inside its .npy header", name);
  if (bytes.size() < kMagic.size() + 2) return truncated;
  const int version = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (version != 1 && version != 2) {
    return invalid_request("{}: .npy version {}; versions 1 and 2 are supported", name, version);
  }

  const std::size_t length_at = kMagic.size() + 2;
  const std::size_t header_at = length_at + (version == 1 ? 2 : 4);
  if (bytes.size() < header_at) return truncated;
  const std::size_t length = version == 1 ? read_as<std::uint16_t>(bytes.data() + length_at)
                                          : read_as<std::uint32_t>(bytes.data() + length_at);
  if (length > kMaxHeaderBytes) {
    return invalid_request("{}: a .npy header of {} bytes; at most {} are read", name, length,
                           kMaxHeaderBytes);
  }
  if (bytes.size() - header_at < length) return truncated;
  return Parts{bytes.substr(header_at, length), bytes.substr(header_at + length)};
}

/// The header's fields, and the type that they name.
struct TypedHeader {
  HeaderParser::Header fields;
  const NpyElement* type = nullptr;
};

Result<TypedHeader> read_header(std::string_view text, std::string_view name, NpyTypes types) {
  auto header = HeaderParser(text).parse();
  if (!header) {
    return invalid_request("{}: the .npy header is not a dictionary of descr, fortran_order, shape",
                           name);
  }
  const NpyElement* type = find_type(header->descr, types);
  if (type == nullptr) {
    return invalid_request("{}: type '{}'; little-endian '<f2', '<f4' and '<f8'{} are supported",
                           name, printable(header->descr),
                           types == NpyTypes::any_number ? ", whole numbers and booleans" : "");
  }
  if (header->fortran_order) {
    return invalid_request("{}: Fortran order; save it in C order (numpy.ascontiguousarray)", name);
  }

  return TypedHeader{std::move(*header), type};
}

/// The size of a regular file.
Result<std::uintmax_t> size_of_file(const std::string& path) {
  // Check the file type first: opening a directory succeeds, and a pipe has no size
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return not_a_file(path);
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return invalid_request("{}: its size cannot be read", path);
  return size;
}

/// Nothing if the header is followed by exactly the bytes that the shape requires.
std::optional<Error> check_payload(const TypedHeader& header, std::uintmax_t bytes,
                                   std::string_view name) {
  const auto& [fields, type] = header;
  const auto wanted_bytes = payload_bytes(fields.shape, type->bytes);
  if (!wanted_bytes) {
    return invalid_request("{}: shape [{}] is too large to count its bytes", name,
                           fmt::join(fields.shape, ", "));
  }
  if (bytes == *wanted_bytes) return std::nullopt;
  return invalid_request("{}: shape [{}] of '{}' needs {} bytes of data, but {} follow", name,
                         fmt::join(fields.shape, ", "), fields.descr, *wanted_bytes, bytes);
}

std::size_t elements_of(std::span<const Index> shape) {
  std::size_t elements = 1;
  for (const Index extent : shape) elements *= static_cast<std::size_t>(extent);
  return elements;
}

}  // namespace

Result<NpyArray> parse_npy(std::string_view bytes, std::string_view name, NpyTypes types) {
  ATTNSCOPE_TRY(const auto parts, split(bytes, name));
  ATTNSCOPE_TRY(auto header, read_header(parts.header, name, types));
  const std::string_view payload = parts.payload;
  if (auto error = check_payload(header, payload.size(), name)) return *error;
  NpyArray array{std::move(header.fields.shape), {}};
  array.data.resize(elements_of(array.shape));
  header.type->widen(payload.data(), array.data);
  return array;
}

Result<NpyReader> NpyReader::open(const std::string& path, NpyTypes types) {
  ATTNSCOPE_TRY(const auto size, size_of_file(path));
  NpyReader reader;
  reader.path_ = path;
  reader.file_.open(path, std::ios::binary);
  if (!reader.file_) return invalid_request("{}: cannot be opened for reading", path);
  const auto first_bytes = std::min<std::uintmax_t>(size, kMaxHeaderBytes + 64);
  std::string first(first_bytes, '\0');
  if (auto error = reader.read_bytes(first)) return *error;
  ATTNSCOPE_TRY(const auto parts, split(first, path));
  ATTNSCOPE_TRY(auto header, read_header(parts.header, path, types));
  const std::uintmax_t begin = first.size() - parts.payload.size();
  reader.file_.seekg(static_cast<std::streamoff>(begin));
  reader.wrong_size_ = check_payload(header, size - begin, path);
  reader.shape_ = std::move(header.fields.shape);
  reader.element_ = header.type;
  return reader;
}

std::optional<Error> NpyReader::read(std::span<double> values) {
  if (wrong_size_) return wrong_size_;
  constexpr std::size_t kBlock = 1U << 16U;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    block_.resize(block.size() * element_->bytes);
    if (auto error = read_bytes(block_)) return error;
    element_->widen(block_.data(), block);
  }
  return std::nullopt;
}

std::optional<Error> NpyReader::read_bytes(std::span<char> bytes) {
  file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file_) return std::nullopt;
  return invalid_request("{}: cannot be read to its end", path_);
}

Result<NpyArray> read_npy(const std::string& path, NpyTypes types) {
  ATTNSCOPE_TRY(auto reader, NpyReader::open(path, types));
  if (const auto& error = reader.wrong_size()) return *error;
  NpyArray array{reader.shape(), {}};
  array.data.resize(elements_of(array.shape));
  if (auto error = reader.read(array.data)) return *error;
  return array;
}

Result<std::vector<Index>> read_npy_shape(const std::string& path, NpyTypes types) {
  ATTNSCOPE_TRY(const auto reader, NpyReader::open(path, types));
  return reader.shape();
}

std::vector<Index> with_batch_and_heads(std::vector<Index> shape) {
  constexpr std::size_t kAxes = 4;
  const bool lacks_axes = shape.size() == 2 || shape.size() == 3;
  if (lacks_axes) shape.insert(shape.begin(), kAxes - shape.size(), 1);
  return shape;
}

std::optional<Error> write_npy(const std::string& path, std::span<const Index> shape,
                               std::span<const double> data) {
  ATTNSCOPE_CHECK(elements_of(shape), ==, data.size());

  // Pad the header with spaces, so that the payload begins at a multiple of 64 bytes
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}{}), }}",
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header.push_back('\n');
  const auto length = static_cast<std::uint16_t>(header.size());

  ATTNSCOPE_TRY(auto file, FileWriter::open(path));
  file.write(kMagic);
  file.write(std::string_view("\x01\x00", 2));
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  file.write({reinterpret_cast<const char*>(data.data()), data.size_bytes()});
  return file.finish();
}

}  // namespace attnscope
