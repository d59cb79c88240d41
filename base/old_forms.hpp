// old_forms.hpp — keys that files had once: refused with what says it now.
#pragma once

#include <string_view>

#include "base/config_reader.hpp"

namespace ukemi {

// A complaint at the key if it is there. It is never suggested for a misspelt one.
void refuse_old_key(const ConfigReader& section, std::string_view key, std::string_view now);

}  // namespace ukemi
