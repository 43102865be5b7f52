#include "app/platform/frame_contents.h"

#include <type_traits>

namespace attnscope::app {

namespace {

/// Appends the bytes of values, which must have no padding.
template <typename T>
void append(std::span<const T> values, std::vector<std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto added = std::as_bytes(values);
  bytes.insert(bytes.end(), added.begin(), added.end());
}

template <typename T>
void append(const T& value, std::vector<std::byte>& bytes) {
  append(std::span<const T>(&value, 1), bytes);
}

template <typename T>
void append(const ImVector<T>& values, std::vector<std::byte>& bytes) {
  append(values.Size, bytes);
  append(std::span<const T>(values.Data, static_cast<std::size_t>(values.Size)), bytes);
}

void append(const ImDrawCmd& command, std::vector<std::byte>& bytes) {
  append(command.ClipRect, bytes);
  append(command.GetTexID(), bytes);
  append(command.VtxOffset, bytes);
  append(command.IdxOffset, bytes);
  append(command.ElemCount, bytes);
  append(command.UserCallback, bytes);
  append(command.UserCallbackData, bytes);
}

}  // namespace

bool FrameContents::replace(const ImDrawData& frame, std::span<const Surface> surfaces,
                            ImU32 background, int width, int height) {
  next_.clear();
  append(width, next_);
  append(height, next_);
  append(background, next_);
  append(frame.DisplayPos, next_);
  append(frame.DisplaySize, next_);
  append(frame.FramebufferScale, next_);
  append(surfaces.size(), next_);
  append(surfaces, next_);
  append(frame.CmdListsCount, next_);
  for (int k = 0; k < frame.CmdListsCount; ++k) {
    const ImDrawList& list = *frame.CmdLists[k];
    append(list.CmdBuffer.Size, next_);
    for (const ImDrawCmd& command : list.CmdBuffer) append(command, next_);
    append(list.VtxBuffer, next_);
    append(list.IdxBuffer, next_);
  }
  const bool differs = next_ != last_;
  last_.swap(next_);
  return differs;
}

}  // namespace attnscope::app
