#include "kernels/client/elf_extents.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace attnscope {

namespace {

#if defined(__x86_64__)
constexpr auto kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr auto kMachine = EM_AARCH64;
#else
constexpr auto kMachine = EM_NONE;  // a machine without a GPU that the kernels support
#endif

/// Reads records at byte offsets of a file.
class ElfFile {
 public:
  ElfFile(const std::filesystem::path& path, std::uint64_t size)
      : file_(path, std::ios::binary), size_(size) {}

  bool contains(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  /// `count` records, or nothing when they do not lie within the file.
  template <typename Record>
  std::optional<std::vector<Record>> read(std::uint64_t offset, std::uint64_t count) {
    const std::uint64_t bytes = count * sizeof(Record);  // count has 16 bits
    if (!contains(offset, bytes)) return std::nullopt;
    std::vector<Record> records(count);
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(records.data()), static_cast<std::streamsize>(bytes));
    return file_ ? std::optional(std::move(records)) : std::nullopt;
  }

 private:
  std::ifstream file_;
  std::uint64_t size_;
};

const char* why_not_this_machine(const Elf64_Ehdr& header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is not an ELF file";
  const bool is_class = header.e_ident[EI_CLASS] == ELFCLASS64 &&
                        header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == kMachine;
  if (!is_class) return "it was built for another machine";
  return header.e_type == ET_DYN ? nullptr : "it is not a shared library";
}

}  // namespace

std::optional<std::string> why_not_loadable(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "it is not a regular file";
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) return error.message();

  ElfFile file(path, size);
  const auto headers = file.read<Elf64_Ehdr>(0, 1);
  if (!headers) return "it is too short for a shared library, or cannot be read";
  const Elf64_Ehdr& header = headers->front();
  if (const char* reason = why_not_this_machine(header)) return reason;

  // The segments are mapped, and read as far as the tables say
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0) {
    return "its program table is invalid";
  }
  const auto segments = file.read<Elf64_Phdr>(header.e_phoff, header.e_phnum);
  if (!segments) return "its program table lies beyond the end of the file";
  for (const Elf64_Phdr& segment : *segments) {
    if (!file.contains(segment.p_offset, segment.p_filesz)) {
      return "the file is truncated: a segment lies beyond its end";
    }
    if (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz) {
      return "a segment's size in the file exceeds its size in memory";
    }
  }

  // The last part of a file is often a section or the section table: a file without it is cut off
  if (header.e_shnum == 0) return std::nullopt;
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return "its section table is invalid";
  const auto sections = file.read<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  if (!sections) return "the file is truncated: its section table lies beyond its end";
  for (const Elf64_Shdr& section : *sections) {
    const bool has_bytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    if (has_bytes && !file.contains(section.sh_offset, section.sh_size)) {
      return "the file is truncated: a section lies beyond its end";
    }
  }
  return std::nullopt;
}

}  // namespace attnscope
