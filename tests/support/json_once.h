/// nlohmann::json, whose member functions are compiled once, and optimised, for all tests.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
