/// Which direction of attention is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace attnscope {

/// `both` is the forward pass, then the backward pass.
enum class PassKind : std::uint8_t { forward, backward, both };

std::string_view to_string(PassKind pass);
std::optional<PassKind> parse_pass(std::string_view name);

}  // namespace attnscope
