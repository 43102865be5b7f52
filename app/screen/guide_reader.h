/// The user guide inside the app: the pages of assets/guide and the keys, with links between them.
#pragma once

#include <string>
#include <vector>

#include "app/guide/guide.h"
#include "app/screen/page_view.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The card with a list of pages and the open page: key F1, or "?" in the top bar. Esc or a click
/// outside the card closes it.
class GuideReader {
 public:
  /// Opens when the view requests a page, and draws itself while open.
  void draw(const Frame& frame);

 private:
  void open(const GuidePlace& place);
  void draw_contents(const Frame& frame, const GuidePage& keys);
  void draw_open_page(const Frame& frame, const GuidePage& keys);
  /// Opens a page of the guide; copies any other link, such as "https://...".
  void follow(const Frame& frame, const std::string& link);

  GuidePlace place_;
  bool arrives_ = false;            ///< place_ was opened in this frame, so the page scrolls to it
  std::vector<GuidePlace> before_;  ///< places that "Back" returns to
  PageView view_;
};

/// The page of the keys; not a file.
inline constexpr std::string_view kKeysPage = "keys";

/// The place of the button "?" in the top bar; its right edge is at `right`.
Rect help_button(const Frame& frame, const Rect& bar, float right);

}  // namespace attnscope::app
