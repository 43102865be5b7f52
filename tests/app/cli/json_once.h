/// nlohmann::json, whose member functions are compiled once for all tests of the command line.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
