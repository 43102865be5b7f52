#include "app/report/launch_words.h"

#include <utility>

namespace attnscope {

namespace {

constexpr std::pair<std::string_view, std::string_view> kLaunches[] = {
    // Tiled algorithms
    {"initialise", "initial values"},
    {"forward", "tiled attention"},
    {"lse", "log-sum-exp LSE"},
    {"convert", "convert fp32 sums"},
    {"preprocess", "row sums D"},
    {"row_dots", "row sums D"},
    {"backward", "gradients"},
    {"sum_heads", "sum over query heads"},
    {"partial", "each split alone"},
    {"combine", "merge the splits"},

    // Standard attention, forward
    {"scores", "scores S"},
    {"scale", "scale S"},
    {"mask", "mask S"},
    {"scale_mask", "scale and mask S"},
    {"softmax", "softmax P"},
    {"dropout", "dropout of P"},
    {"output", "output O"},

    // The same for the backward pass
    {"recompute_scores", "scores S, again"},
    {"recompute_scale", "scale S, again"},
    {"recompute_mask", "mask S, again"},
    {"recompute_scale_mask", "scale and mask S, again"},
    {"recompute_softmax", "softmax P, again"},
    {"recompute_dropout", "dropout of P, again"},
    {"recompute_output", "output O, again"},

    // Standard attention, backward
    {"dV", "gradient dV"},
    {"dP", "gradient dP"},
    {"dropout_gradient", "dropout of dP"},
    {"dS", "gradient dS"},
    {"mask_gradient", "mask dS"},
    {"scale_gradient", "scale dS"},
    {"mask_scale_gradient", "mask and scale dS"},
    {"dQ", "gradient dQ"},
    {"dK", "gradient dK"},
};

}  // namespace

std::string_view launch_words(std::string_view name) {
  for (const auto& [launch, words] : kLaunches) {
    if (launch == name) return words;
  }
  return name;
}

}  // namespace attnscope
