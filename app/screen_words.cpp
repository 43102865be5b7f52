#include "app/screen_words.h"

#include <array>
#include <string_view>
#include <utility>

namespace attnscope::app {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kWords{{
    {" (or pass --allow-overflow)", ""},
    {"--allow-overflow counts it all the same",
     "choose smaller tiles or a smaller d, or have the overflow counted"},
    {" (--sram-bytes)", ""},
    {"--fusion", "fusion"},
    {"--checkpoint", "P for backward: recomputed"},
    {"--skip-first-reads", "O, m, l that begin on chip"},
    {"--d-once", "D once"},
    {"seq-len", "N"},
    {"kv-len", "N_kv"},
    {"head-dim", "d"},
    {"kv-heads", "KV heads"},
    {"block-rows", "Br"},
    {"block-cols", "Bc"},
}};

}  // namespace

std::string in_screen_words(std::string message) {
  for (const auto& [word, on_screen] : kWords) {
    for (std::size_t at = message.find(word); at != std::string::npos;
         at = message.find(word, at + on_screen.size())) {
      message.replace(at, word.size(), on_screen);
    }
  }
  return message;
}

}  // namespace attnscope::app
