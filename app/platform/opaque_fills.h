/// Draws the large opaque shapes of a frame with a shader that neither samples the font's texture
/// nor blends. With a software OpenGL, each pixel of them costs a fraction of what it costs Dear
/// ImGui's own shader; the picture is the same.
#pragma once

#include <imgui.h>

namespace attnscope::app {

/// Divides the commands of a frame among its own program and the backend's.
class OpaqueFills {
 public:
  OpaqueFills() = default;
  /// Needs the OpenGL context in which render() was called.
  ~OpaqueFills();
  OpaqueFills(const OpaqueFills&) = delete;
  OpaqueFills& operator=(const OpaqueFills&) = delete;

  /// Draws the frame with Dear ImGui's OpenGL 3 backend into the bound framebuffer. Returns the
  /// number of runs of shapes that are drawn apart.
  int render(ImDrawData& frame);

 private:
  static void begin_fills(const ImDrawList* list, const ImDrawCmd* command);
  static void end_fills(const ImDrawList* list, const ImDrawCmd* command);
  int split_commands(ImDrawList& list);
  void prepare_program();

  unsigned program_ = 0;           ///< OpenGL's name of the program; 0: none was linked
  unsigned textured_program_ = 0;  ///< the backend's, whose attributes and projection are used
  bool is_prepared_ = false;       ///< whether the program has this frame's projection
};

}  // namespace attnscope::app
