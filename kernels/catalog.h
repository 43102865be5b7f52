/// The kernels and what each supports. Plain C++: the app and the command line read it on machines
/// without CUDA. Each kernel follows the schedule in sim/schedule/ with the same algorithm name:
/// same tiling, same loop order, same names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/knobs.h"
#include "kernels/program_target.h"
#include "kernels/workspace_layout.h"
#include "reference/attention_problem.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

// kernels/compile/block_program.h
struct LaunchKind;
struct LaunchProgram;

/// The programs of a run in its tiling, whose sides are multiples of 16, in launch order, without
/// cuBLAS's and "sum_heads".
using KernelPrograms = std::vector<LaunchProgram>(const ResolvedRun& run, const LaunchKind& kind);
/// Those of each kernel, in kernels/NAME/NAME_programs.cpp. block_sparse2 has those of flash2.
KernelPrograms standard_programs, flash1_programs, flash2_programs, split_kv_programs;

/// The work of one thread block of a tile launch.
enum class BlockWork : std::uint8_t { head, row_tile, split_of_row_tile, column_tile };

/// One pass of a kernel.
struct KernelPass {
  std::string_view source;       ///< root-relative path of its CUDA source
  bool has_fp32 = false;         ///< in 16-bit precision every pass exists
  std::string_view launch = {};  ///< with the products, traceable; "": cuBLAS computes them
  BlockWork block_work = BlockWork::row_tile;
  bool adds_dQ = false;  ///< thread blocks add to dQ, in any order unless the run fixes it
  /// Its own tensors in the workspace, if any; a backward pass reads those of the forward pass.
  WorkspaceLayoutOf* workspace = nullptr;
  std::span<const std::string_view> knobs = {};  ///< names of the knobs of the 16-bit programs
  bool has_hopper = false;  ///< it also has a program with Hopper's instructions
  std::span<const std::string_view> hopper_knobs = {};  ///< those that this program has, too

  /// Whether cuBLAS computes its products, and chooses their tiles.
  bool uses_cublas() const { return launch.empty(); }
};

/// One kernel: its forward pass and, if it has one, its backward pass.
struct KernelInfo {
  std::string_view name;  ///< that of its algorithm, and of its schedule in sim/schedule/catalog
  std::string_view idea;  ///< one sentence: what changed from the kernel before it
  bool only_decodes = false;       ///< takes no packed sequences and no dropout
  bool takes_fp32_scores = false;  ///< takes score features in fp32, too
  bool honours_carry = false;
  bool takes_block_mask = false;  ///< computes only the tiles that a block mask keeps
  bool always_writes_lse = true;  ///< otherwise only if the caller requests it
  KernelPass forward;
  std::optional<KernelPass> backward = {};
  KernelPrograms* programs = nullptr;

  bool has_backward() const { return backward.has_value(); }
  /// Its backward pass for that kind of pass, otherwise its forward pass.
  const KernelPass& pass(PassKind kind) const {
    return kind == PassKind::backward ? backward.value() : forward;
  }
  /// The switches of a pass; for both passes, each switch once.
  std::vector<const Knob*> knobs(PassKind kind) const;
  bool has_knob(std::string_view knob, PassKind kind) const;
};

/// Every kernel, simplest first.
std::span<const KernelInfo> catalog();
std::vector<std::string> kernel_names();
/// Null if there is none.
const KernelInfo* find_kernel(std::string_view name);

/// Whether the kernel has the pass in this precision; for `both`, whether it has the forward pass.
bool takes_pass(const KernelInfo& kernel, PassKind pass, DType dtype);

/// The run's kernel. It is a programming error if the catalog has none of this name.
const KernelInfo& kernel_of(const ResolvedRun& run);

/// Whether a Hopper GPU runs the pass in the run's tiling with Hopper's instructions, given these
/// switches: the kernel has such a program, only `hopper_knobs` differ from their defaults, rows
/// are a multiple of 16 bytes long, in 16-bit precision, and a block can compute the tiles.
bool has_hopper_program(const ResolvedRun& run, const Knobs& knobs);

}  // namespace attnscope::kernels
