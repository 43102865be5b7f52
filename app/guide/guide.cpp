#include "app/guide/guide.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "sim/device/assets.h"

namespace attnscope::app {

namespace {

constexpr std::string_view kExtension = ".md";
constexpr std::string_view kGlossary = "glossary";

/// Pages that build on each other, in reading order; all others follow by name.
constexpr std::array<std::string_view, 5> kReadingOrder = {"screen", "numbers", kGlossary, "model",
                                                           "studies"};

std::ptrdiff_t reading_place(const std::string& name) {
  return std::ranges::find(kReadingOrder, name) - kReadingOrder.begin();
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) return std::nullopt;
  return text;
}

/// The text of the first heading, else the file's name.
std::string title_of(const std::vector<MarkdownBlock>& blocks, const std::string& name) {
  for (const MarkdownBlock& block : blocks) {
    if (const auto* heading = std::get_if<Heading>(&block)) return plain_text(heading->text);
  }
  return name;
}

}  // namespace

const GuidePage* Guide::find(std::string_view name) const {
  const auto found = std::ranges::find(pages, name, &GuidePage::name);
  return found != pages.end() ? &*found : nullptr;
}

Guide load_guide(std::vector<std::string>& problems) {
  Guide guide;
  const auto assets = find_assets_dir();
  if (!assets) return guide;
  std::vector<std::string> names = list_assets("guide", kExtension);
  std::ranges::stable_sort(names, {}, reading_place);
  for (const std::string& name : names) {
    const auto path = assets.value() / "guide" / (name + std::string(kExtension));
    const std::optional<std::string> text = read_text(path);
    if (!text) {
      problems.push_back(fmt::format("{}: cannot be read", path.string()));
      continue;
    }
    GuidePage page{name, {}, parse_markdown(*text)};
    page.title = title_of(page.blocks, name);
    guide.pages.push_back(std::move(page));
    if (name != kGlossary) continue;
    Result<Glossary> glossary = Glossary::parse(*text);
    if (glossary) guide.glossary = std::move(glossary.value());
    if (!glossary) problems.push_back(glossary.error().message);
  }
  return guide;
}

GuidePlace place_of_link(std::string_view link, std::string_view page) {
  const std::size_t hash = link.find('#');
  const std::string_view file = link.substr(0, hash);
  const std::string anchor(hash == std::string_view::npos ? "" : link.substr(hash + 1));
  if (file.empty()) return {std::string(page), anchor};
  const bool is_page = file.ends_with(kExtension) && file.find('/') == std::string_view::npos;
  if (!is_page) return {};
  return {std::string(file.substr(0, file.size() - kExtension.size())), anchor};
}

}  // namespace attnscope::app
