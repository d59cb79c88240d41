// old_forms.cpp — what is no longer read.
#include "base/old_forms.hpp"

#include <fmt/format.h>

#include <string>

#include "base/key_notes.hpp"

namespace ukemi {

void refuse_old_key(const ConfigReader& section, std::string_view key, std::string_view now) {
    // Whoever looks for the keys that are read now would take these for a table of any keys.
    if (KeyExplorer::of(section.file()) != nullptr) return;
    for (const std::string& written : section.keys()) {
        if (written == key) section.fail(key, fmt::format("is no longer read: write {}", now));
    }
}

}  // namespace ukemi
