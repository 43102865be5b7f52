/// An OpenGL framebuffer in memory, in addition to the window's.
#pragma once

#include "app/platform/png.h"

namespace attnscope::app {

/// Bound while it exists; then the window's is bound again. Belongs to the current context.
class Framebuffer {
 public:
  Framebuffer(int width, int height);
  ~Framebuffer();
  Framebuffer(const Framebuffer&) = delete;
  Framebuffer& operator=(const Framebuffer&) = delete;

  /// Whether the driver can draw into it.
  bool is_complete() const;
  void bind() const;
  Image read_pixels() const { return read_framebuffer(width_, height_); }

 private:
  int width_, height_;
  unsigned framebuffer_ = 0;
  unsigned color_ = 0;
};

}  // namespace attnscope::app
