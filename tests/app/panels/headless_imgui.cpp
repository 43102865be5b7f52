#include "tests/app/panels/headless_imgui.h"

#include <algorithm>
#include <map>

#include "app/platform/imgui_session.h"
#include "app/ui/theme.h"

namespace attnscope::test {

using app::Rect;

namespace {

struct LoadedFonts {
  ImFontAtlas atlas;
  app::Fonts fonts;
};

/// The fonts of a scale, in the atlas that the current context then has: rasterising them takes
/// longer than most tests.
const app::Fonts& use_fonts(float scale) {
  static std::map<float, LoadedFonts> all;
  const auto [place, is_new] = all.try_emplace(scale);
  LoadedFonts& loaded = place->second;
  ImGui::GetIO().Fonts = &loaded.atlas;
  if (is_new) {
    loaded.atlas.Flags |= ImFontAtlasFlags_NoBakedLines;  // so that only letters are textured
    loaded.fonts = app::load_fonts(app::find_font_files(), {scale}).front();
    loaded.atlas.Build();
  }
  return loaded.fonts;
}

}  // namespace

HeadlessImGui::HeadlessImGui(float width, float height, float layout_scale, float font_scale) {
  ImGui::CreateContext(&none_);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DeltaTime = 1.0f / 60.0f;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  resize(width, height, layout_scale, font_scale);
  set_mouse({-1000.0f, -1000.0f});
}

HeadlessImGui::~HeadlessImGui() {
  ImGui::DestroyContext();
}

void HeadlessImGui::resize(float width, float height, float layout_scale, float font_scale,
                           app::ThemeName theme) {
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {width, height};
  fonts_ = &use_fonts(font_scale);
  app::apply_to_imgui(app::theme(theme), layout_scale);
  ImGui::GetStyle().AntiAliasedLinesUseTex = false;
}

void HeadlessImGui::set_mouse(ImVec2 at, bool pressed) {
  ImGui::GetIO().MousePos = at;
  ImGui::GetIO().MouseDown[0] = pressed;
}

void HeadlessImGui::frame(const Rect& rect, const std::function<void()>& draw) {
  ImGui::NewFrame();
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  ImGui::Begin(
      "screen", nullptr,
      ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoBackground);
  ImGui::SetCursorScreenPos(rect.min);
  ImGui::BeginChild("panel", {rect.width(), rect.height()}, false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  draw();
  ImGui::EndChild();
  ImGui::End();
  ImGui::Render();
}

int HeadlessImGui::vertex_count() const {
  return ImGui::GetDrawData()->TotalVtxCount;
}

std::vector<Rect> HeadlessImGui::letters() const {
  std::vector<Rect> letters;
  const ImVec2 white = ImGui::GetIO().Fonts->TexUvWhitePixel;
  const ImDrawData* data = ImGui::GetDrawData();
  for (int k = 0; k < data->CmdListsCount; ++k) {
    const ImDrawList& list = *data->CmdLists[k];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const Rect clip{{command.ClipRect.x, command.ClipRect.y},
                      {command.ClipRect.z, command.ClipRect.w}};
      // A letter is two triangles over four vertices in a row, six indices
      for (unsigned at = 0; at + 6 <= command.ElemCount;) {
        const auto base =
            command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + at)];
        const ImDrawVert* v = &list.VtxBuffer[static_cast<int>(base)];
        if (v->uv.x == white.x && v->uv.y == white.y) {
          at += 3;
          continue;
        }
        at += 6;
        Rect box{v[0].pos, v[0].pos};
        for (int corner = 1; corner < 4; ++corner) {
          box.min = {std::min(box.min.x, v[corner].pos.x), std::min(box.min.y, v[corner].pos.y)};
          box.max = {std::max(box.max.x, v[corner].pos.x), std::max(box.max.y, v[corner].pos.y)};
        }
        const bool visible = box.max.x > clip.min.x && box.min.x < clip.max.x &&
                             box.max.y > clip.min.y && box.min.y < clip.max.y;
        if (visible) letters.push_back(box);
      }
    }
  }
  return letters;
}

ImU32 HeadlessImGui::color_at(ImVec2 at) const {
  const auto side = [](ImVec2 a, ImVec2 b, ImVec2 p) {
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
  };
  ImU32 color = 0;
  const ImVec2 white = ImGui::GetIO().Fonts->TexUvWhitePixel;
  const ImDrawData* data = ImGui::GetDrawData();
  for (int k = 0; k < data->CmdListsCount; ++k) {
    const ImDrawList& list = *data->CmdLists[k];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const Rect clip{{command.ClipRect.x, command.ClipRect.y},
                      {command.ClipRect.z, command.ClipRect.w}};
      if (!clip.contains(at)) continue;
      for (unsigned index = 0; index + 3 <= command.ElemCount; index += 3) {
        const auto vertex = [&](unsigned corner) -> const ImDrawVert& {
          const auto place = static_cast<int>(command.IdxOffset + index + corner);
          return list.VtxBuffer[static_cast<int>(command.VtxOffset + list.IdxBuffer[place])];
        };
        const ImDrawVert &a = vertex(0), &b = vertex(1), &c = vertex(2);
        const bool opaque = a.uv.x == white.x && a.uv.y == white.y && (a.col >> 24) == 255;
        const float s = side(a.pos, b.pos, at), t = side(b.pos, c.pos, at);
        const float u = side(c.pos, a.pos, at);
        const bool inside = (s >= 0 && t >= 0 && u >= 0) || (s <= 0 && t <= 0 && u <= 0);
        if (opaque && inside) color = a.col;
      }
    }
  }
  return color;
}

int HeadlessImGui::letters_outside(const Rect& rect) const {
  const std::vector<Rect> all = letters();
  return static_cast<int>(std::ranges::count_if(all, [&](const Rect& letter) {
    return letter.min.x < rect.min.x - 1.0f || letter.max.x > rect.max.x + 1.0f ||
           letter.min.y < rect.min.y - 1.0f || letter.max.y > rect.max.y + 1.0f;
  }));
}

int HeadlessImGui::letters_on_letters() const {
  std::vector<Rect> all = letters();
  const auto area = [](const Rect& r) { return r.width() * r.height(); };
  // From left to right, so that a letter is compared only with those that begin before its end
  std::ranges::sort(all, {}, [](const Rect& r) { return r.min.x; });
  int count = 0;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size() && all[b].min.x < all[a].max.x; ++b) {
      const float width =
          std::min(all[a].max.x, all[b].max.x) - std::max(all[a].min.x, all[b].min.x);
      const float height =
          std::min(all[a].max.y, all[b].max.y) - std::max(all[a].min.y, all[b].min.y);
      if (width <= 0.0f || height <= 0.0f) continue;
      if (width * height > 0.5f * std::min(area(all[a]), area(all[b]))) ++count;
    }
  }
  return count;
}

}  // namespace attnscope::test
