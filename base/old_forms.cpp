// old_forms.cpp — what is no longer read.
#include "base/old_forms.hpp"

#include <fmt/format.h>

#include <string>

namespace ukemi {

void refuse_old_key(const ConfigReader& section, std::string_view key, std::string_view now) {
    for (const std::string& written : section.keys()) {
        if (written == key) section.fail(key, fmt::format("is no longer read: write {}", now));
    }
}

}  // namespace ukemi
