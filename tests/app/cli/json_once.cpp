#include "tests/app/cli/json_once.h"

template class nlohmann::basic_json<>;
