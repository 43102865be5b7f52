/// An OpenGL 3.3 core context without any window or X server, through EGL: for pictures made on a
/// server, and for tests.
#pragma once

#include <memory>

#include "app/platform/png.h"
#include "reference/result.h"

namespace attnscope::app {

class OffscreenContext {
 public:
  /// Tries the EGL devices (NVIDIA), Mesa's surfaceless platform and the default display, in that
  /// order. Unavailable, with what each answered, when none gives an OpenGL 3.3 core context.
  static Result<std::unique_ptr<OffscreenContext>> create(int width, int height);
  ~OffscreenContext();
  OffscreenContext(const OffscreenContext&) = delete;
  OffscreenContext& operator=(const OffscreenContext&) = delete;

  int width() const;
  int height() const;
  /// Begins a frame of Dear ImGui with this surface's size and a fixed time step.
  void begin_frame();
  /// Makes the framebuffer the target of what is drawn next.
  void bind();
  Image read_pixels();

 private:
  struct State;
  explicit OffscreenContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace attnscope::app
