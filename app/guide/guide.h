/// The user guide, whose pages are shipped as assets/guide/*.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/guide/glossary.h"
#include "app/guide/markdown.h"

namespace attnscope::app {

/// One page of the guide.
struct GuidePage {
  std::string name;  ///< the name of its file, without ".md"
  std::string title;
  std::vector<MarkdownBlock> blocks;
};

struct Guide {
  std::vector<GuidePage> pages;  ///< in reading order
  Glossary glossary;

  /// nullptr if there is no such page.
  const GuidePage* find(std::string_view name) const;
};

/// Reads every page. Pages that cannot be read are left out and named in `problems`.
Guide load_guide(std::vector<std::string>& problems);

/// The target of a link on a page of the guide.
struct GuidePlace {
  std::string page;    ///< empty: the link leads out of the guide
  std::string anchor;  ///< the anchor of a heading; empty: the top of the page
  bool operator==(const GuidePlace&) const = default;
};
GuidePlace place_of_link(std::string_view link, std::string_view page);

}  // namespace attnscope::app
