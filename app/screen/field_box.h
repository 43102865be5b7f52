/// The surface of a field of the top bar, and the list that drops from it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "app/screen/widgets.h"

namespace attnscope::app {

/// A list of options below a box, which closes itself. While open(), call option() for each option.
class DropList {
 public:
  ~DropList();
  DropList(const DropList&) = delete;
  DropList& operator=(const DropList&) = delete;

  bool open() const { return open_; }
  /// One line of the list; returns whether it was clicked. Its named rectangle is
  /// "option.FIELD.NAME", with `name` as NAME; `help` is shown beside the pointer.
  bool option(const std::string& text, bool selected, const std::string& name,
              const std::string& help = {}) const;

 protected:
  DropList(const Frame& frame, std::string field) : frame_(frame), field_(std::move(field)) {}
  /// Begins the popup of this field under the box, if it is open.
  void begin(const Rect& box);
  /// Draws an area named `id` that opens the list when it is clicked.
  void draw_opener(const std::string& id, const Rect& rect) const;
  void draw_surface(const Rect& box, bool hovered) const;
  void draw_arrow(const Rect& box) const;

  const Frame& context() const { return frame_; }
  const std::string& name() const { return field_; }

 private:
  const Frame& frame_;
  std::string field_;
  bool open_ = false;
};

/// A box with fixed text; a click anywhere opens the list.
class ComboBox : public DropList {
 public:
  ComboBox(const Frame& frame, std::string field, const Rect& box, const std::string& preview);
};

/// The text of a box while the user types.
struct TextDraft {
  std::array<char, 512> text{};
  bool active = false;
};

/// The content of a text box.
struct BoxText {
  std::string value;
  std::string preview;  ///< shown instead of the value unless the user is typing
  std::string help;     ///< shown beside the pointer
  bool only_numbers = false;
};

/// A box with editable text; a click on the arrow opens the list.
class TextBox : public DropList {
 public:
  TextBox(const Frame& frame, std::string field, const Rect& box, TextDraft& draft,
          const BoxText& text);
  /// The text confirmed in this frame (by Enter, or by leaving the field).
  const std::optional<std::string>& typed() const { return typed_; }

 private:
  void edit(const Rect& box, float arrow_width, TextDraft& draft, const BoxText& text);

  std::optional<std::string> typed_;
};

}  // namespace attnscope::app
