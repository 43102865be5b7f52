#include "app/platform/opaque_fills.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <imgui_impl_opengl3.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace attnscope::app {

namespace {

/// Area, in pixels, above which drawing a run of triangles apart is worth two program switches.
constexpr float kLeastArea = 6000.0f;

constexpr const char* kVertexShader = R"(#version 330 core
uniform mat4 ProjMtx;
in vec2 Position;
in vec4 Color;
out vec4 fill_color;
void main() {
  fill_color = Color;
  gl_Position = ProjMtx * vec4(Position, 0, 1);
}
)";
constexpr const char* kFragmentShader = R"(#version 330 core
in vec4 fill_color;
out vec4 color;
void main() {
  color = fill_color;
}
)";

GLuint compile(GLenum kind, const char* source) {
  const GLuint shader = glCreateShader(kind);
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  return shader;
}

/// A program whose vertices have the attributes of the textured program at the same locations; 0 if
/// the driver rejects it.
GLuint link_program(GLuint textured) {
  const GLuint shaders[] = {compile(GL_VERTEX_SHADER, kVertexShader),
                            compile(GL_FRAGMENT_SHADER, kFragmentShader)};
  const GLuint program = glCreateProgram();
  for (const GLuint shader : shaders) glAttachShader(program, shader);
  for (const char* name : {"Position", "Color"}) {
    glBindAttribLocation(program, static_cast<GLuint>(glGetAttribLocation(textured, name)), name);
  }
  glLinkProgram(program);
  GLint linked = GL_FALSE;
  glGetProgramiv(program, GL_LINK_STATUS, &linked);
  for (const GLuint shader : shaders) glDeleteShader(shader);
  if (linked == GL_TRUE) return program;
  glDeleteProgram(program);
  return 0;
}

/// Three corners of a triangle of a command.
using Triangle = std::array<const ImDrawVert*, 3>;

Triangle triangle_at(const ImDrawList& list, const ImDrawCmd& command, unsigned index) {
  const ImDrawIdx* indices = list.IdxBuffer.Data + command.IdxOffset + index;
  const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
  return {vertices + indices[0], vertices + indices[1], vertices + indices[2]};
}

bool is_opaque(const Triangle& triangle, ImVec2 white) {
  for (const ImDrawVert* corner : triangle) {
    const bool has_texture = corner->uv.x != white.x || corner->uv.y != white.y;
    if (has_texture || (corner->col & IM_COL32_A_MASK) != IM_COL32_A_MASK) return false;
  }
  return true;
}

/// The area in square pixels.
float area_of(const Triangle& triangle) {
  const auto& [a, b, c] = triangle;
  return 0.5f * std::abs((b->pos.x - a->pos.x) * (c->pos.y - a->pos.y) -
                         (c->pos.x - a->pos.x) * (b->pos.y - a->pos.y));
}

/// A range of a command's indices that is opaque and large.
struct Run {
  unsigned begin = 0, end = 0;
};

std::vector<Run> large_opaque_runs(const ImDrawList& list, const ImDrawCmd& command, ImVec2 white) {
  std::vector<Run> runs;
  if (command.GetTexID() != ImGui::GetIO().Fonts->TexID) return runs;
  Run run;
  float area = 0.0f;
  const auto end_run = [&](unsigned next) {
    if (area >= kLeastArea) runs.push_back(run);
    run = {next, next};
    area = 0.0f;
  };
  for (unsigned k = 0; k + 2 < command.ElemCount; k += 3) {
    const Triangle triangle = triangle_at(list, command, k);
    if (!is_opaque(triangle, white)) {
      end_run(k + 3);
      continue;
    }
    run.end = k + 3;
    area += area_of(triangle);
  }
  end_run(command.ElemCount);
  return runs;
}

}  // namespace

OpaqueFills::~OpaqueFills() {
  if (program_ != 0) glDeleteProgram(program_);  // without a program, there may be no context
}

/// Reads the backend's program, which is in use, and its projection.
void OpaqueFills::prepare_program() {
  if (std::exchange(is_prepared_, true)) return;
  GLint current = 0;
  glGetIntegerv(GL_CURRENT_PROGRAM, &current);
  const auto textured = static_cast<GLuint>(current);
  if (textured != textured_program_) {
    glDeleteProgram(program_);
    program_ = link_program(textured);
    textured_program_ = textured;
  }
  if (program_ == 0) return;  // the backend draws the fills, too
  std::array<GLfloat, 16> projection{};
  glGetUniformfv(textured, glGetUniformLocation(textured, "ProjMtx"), projection.data());
  glUseProgram(program_);
  glUniformMatrix4fv(glGetUniformLocation(program_, "ProjMtx"), 1, GL_FALSE, projection.data());
}

void OpaqueFills::begin_fills(const ImDrawList* /*list*/, const ImDrawCmd* command) {
  auto& self = *static_cast<OpaqueFills*>(command->UserCallbackData);
  self.prepare_program();
  if (self.program_ == 0) return;
  glUseProgram(self.program_);
  glDisable(GL_BLEND);
}

void OpaqueFills::end_fills(const ImDrawList* /*list*/, const ImDrawCmd* command) {
  glUseProgram(static_cast<OpaqueFills*>(command->UserCallbackData)->textured_program_);
  glEnable(GL_BLEND);
}

/// Gives each large opaque run of the list a separate command, between two callbacks. Returns the
/// number of runs.
int OpaqueFills::split_commands(ImDrawList& list) {
  int runs = 0;
  const ImVec2 white = ImGui::GetFontTexUvWhitePixel();
  ImVector<ImDrawCmd> split;
  const auto add_part = [&](const ImDrawCmd& command, Run part) {
    if (part.begin == part.end) return;
    split.push_back(command);
    split.back().IdxOffset += part.begin;
    split.back().ElemCount = part.end - part.begin;
  };
  const auto add_callback = [&](ImDrawCallback callback) {
    split.push_back(ImDrawCmd());
    split.back().UserCallback = callback;
    split.back().UserCallbackData = this;
  };
  for (const ImDrawCmd& command : list.CmdBuffer) {
    if (command.UserCallback != nullptr) {
      split.push_back(command);
      continue;
    }
    unsigned drawn = 0;
    for (const Run& run : large_opaque_runs(list, command, white)) {
      add_part(command, {drawn, run.begin});
      add_callback(begin_fills);
      add_part(command, run);
      add_callback(end_fills);
      drawn = run.end;
      ++runs;
    }
    add_part(command, {drawn, command.ElemCount});
  }
  list.CmdBuffer.swap(split);
  return runs;
}

int OpaqueFills::render(ImDrawData& frame) {
  int runs = 0;
  // The frame keeps its own commands: it may be drawn again, or be written as SVG
  std::vector<ImVector<ImDrawCmd>> commands;
  for (int k = 0; k < frame.CmdListsCount; ++k) {
    commands.push_back(frame.CmdLists[k]->CmdBuffer);
    runs += split_commands(*frame.CmdLists[k]);
  }
  is_prepared_ = false;
  ImGui_ImplOpenGL3_RenderDrawData(&frame);
  for (int k = 0; k < frame.CmdListsCount; ++k) {
    frame.CmdLists[k]->CmdBuffer.swap(commands[static_cast<std::size_t>(k)]);
  }
  return runs;
}

}  // namespace attnscope::app
