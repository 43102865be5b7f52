#include "tests/app/screen/frame_reader.h"

#include <array>
#include <bit>
#include <map>
#include <unordered_map>
#include <utility>

namespace attnscope::test {

namespace {

using app::Rect;

/// The glyphs of all fonts, by their upper left corner in the atlas.
class GlyphIndex {
 public:
  /// The index of the current fonts.
  static const GlyphIndex& current() {
    static std::map<const ImFontAtlas*, GlyphIndex> all;
    const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    const auto [place, is_new] = all.try_emplace(&atlas);
    if (is_new) place->second.add_glyphs(atlas);
    return place->second;
  }

  std::pair<const ImFont*, const ImFontGlyph*> find(ImVec2 uv) const {
    const auto found = glyphs_.find(key_of(uv.x, uv.y));
    if (found == glyphs_.end()) return {};
    return found->second;
  }

 private:
  static std::uint64_t key_of(float u, float v) {
    return (std::uint64_t{std::bit_cast<std::uint32_t>(u)} << 32U) |
           std::bit_cast<std::uint32_t>(v);
  }
  void add_glyphs(const ImFontAtlas& atlas) {
    for (const ImFont* font : atlas.Fonts) {
      for (const ImFontGlyph& glyph : font->Glyphs) {
        if (glyph.Visible) glyphs_[key_of(glyph.U0, glyph.V0)] = {font, &glyph};
      }
    }
  }

  std::unordered_map<std::uint64_t, std::pair<const ImFont*, const ImFontGlyph*>> glyphs_;
};

class FrameReader {
 public:
  Frame read() {
    const ImDrawData* data = ImGui::GetDrawData();
    for (int k = 0; k < data->CmdListsCount; ++k) read_list(*data->CmdLists[k]);
    return std::move(frame_);
  }

 private:
  void read_list(const ImDrawList& list) {
    const ImVec2 white = ImGui::GetIO().Fonts->TexUvWhitePixel;
    for (const ImDrawCmd& command : list.CmdBuffer) {
      const Rect clip{{command.ClipRect.x, command.ClipRect.y},
                      {command.ClipRect.z, command.ClipRect.w}};
      const auto index = [&](unsigned at) {
        return list.IdxBuffer[static_cast<int>(command.IdxOffset + at)];
      };
      const auto vertex = [&](unsigned at) -> const ImDrawVert& {
        return list.VtxBuffer[static_cast<int>(command.VtxOffset + index(at))];
      };
      for (unsigned at = 0; at + 3 <= command.ElemCount;) {
        const ImDrawVert& first = vertex(at);
        if (first.uv.x != white.x || first.uv.y != white.y) {
          add_letter(&first, clip);  // two triangles over four vertices in a row
          at += 6;
          continue;
        }
        const bool follows = at >= 3 && index(at - 3) == index(at);
        const bool leads = at + 6 <= command.ElemCount && index(at + 3) == index(at);
        add_triangle({&first, &vertex(at + 1), &vertex(at + 2)}, clip, follows || leads);
        at += 3;
      }
    }
  }

  void add_letter(const ImDrawVert* v, const Rect& clip) {
    Letter letter;
    letter.clip = clip;
    letter.order = order_++;
    letter.ink = {v[0].pos, v[0].pos};
    for (int corner = 1; corner < 4; ++corner) {
      letter.ink = united(letter.ink, {v[corner].pos, v[corner].pos});
    }
    letter.upwards = v[0].pos.y > v[1].pos.y;
    const auto [font, glyph] = glyphs_.find(v[0].uv);
    if (glyph != nullptr) {
      letter.font = font;
      letter.glyph = glyph;
      const float width = letter.upwards ? letter.ink.height() : letter.ink.width();
      letter.scale = width / (glyph->X1 - glyph->X0);
      const ImVec2 corner = letter.upwards ? ImVec2{-v[0].pos.y, v[0].pos.x} : v[0].pos;
      letter.pen = {corner.x - glyph->X0 * letter.scale, corner.y - glyph->Y0 * letter.scale};
    }
    const ImVec2 seen = overlap(letter.ink, clip);
    if (seen.x > 0.0f && seen.y > 0.0f && (v[0].col >> 24) > 0) frame_.letters.push_back(letter);
  }

  void add_triangle(const std::array<const ImDrawVert*, 3>& v, const Rect& clip, bool of_fan) {
    Triangle triangle;
    for (std::size_t k = 0; k < 3; ++k) {
      triangle.corners[k] = v[k]->pos;
      if ((v[k]->col >> 24) >= (triangle.color >> 24)) triangle.color = v[k]->col;
    }
    triangle.clip = clip;
    triangle.order = order_++;
    triangle.of_fan = of_fan;
    frame_.triangles.push_back(triangle);
  }

  const GlyphIndex& glyphs_ = GlyphIndex::current();
  Frame frame_;
  int order_ = 0;
};

/// Mixes a value into a hash (FNV-1a over 32-bit words).
void mix_in(std::uint64_t& hash, std::uint32_t word) {
  hash = (hash ^ word) * 0x100000001b3ULL;
}
void mix_in(std::uint64_t& hash, float value) {
  mix_in(hash, std::bit_cast<std::uint32_t>(value));
}

}  // namespace

Frame read_frame() {
  return FrameReader().read();
}

std::uint64_t frame_signature() {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const ImDrawData* data = ImGui::GetDrawData();
  for (int k = 0; k < data->CmdListsCount; ++k) {
    const ImDrawList& list = *data->CmdLists[k];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      for (const float edge :
           {command.ClipRect.x, command.ClipRect.y, command.ClipRect.z, command.ClipRect.w}) {
        mix_in(hash, edge);
      }
      mix_in(hash, command.ElemCount);
      mix_in(hash, command.VtxOffset);
    }
    for (const ImDrawVert& vertex : list.VtxBuffer) {
      for (const float part : {vertex.pos.x, vertex.pos.y, vertex.uv.x, vertex.uv.y}) {
        mix_in(hash, part);
      }
      const ImU32 alpha = vertex.col >> 24;
      const std::uint32_t opacity =
          (alpha > 0 ? 1U : 0U) + (alpha >= kFaint ? 1U : 0U) + (alpha >= kOpaque ? 1U : 0U);
      mix_in(hash, opacity);
    }
    for (const ImDrawIdx index : list.IdxBuffer) mix_in(hash, std::uint32_t{index});
  }
  return hash;
}

}  // namespace attnscope::test
