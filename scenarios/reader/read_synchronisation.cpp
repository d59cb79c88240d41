// read_synchronisation.cpp — "synchronisation", and what was written for it once.
#include "scenarios/reader/read_synchronisation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/old_forms.hpp"
#include "base/plain_text.hpp"

namespace ukemi::scenarios {
namespace {

void refuse_object(ConfigReader& section) {
    if (!section.is_object("synchronisation")) return;
    section.fail("synchronisation",
                 "is no longer read as an object: write \"synchronisation\": \"local_sgd\", and "
                 "what belongs to the rule at \"synchronisation_settings\"");
}

}  // namespace

policies::Synchronisation parse_synchronisation(std::string_view text, std::string_view file,
                                                std::string_view path) {
    const std::span<const std::string_view> names = policies::synchronisation_names();
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) {
        throw InputError(file, path,
                         fmt::format("expected one of {}, found {}{}", fmt::join(names, ", "),
                                     quoted(text), did_you_mean(text, names)));
    }
    return static_cast<policies::Synchronisation>(found - names.begin());
}

policies::Synchronisation read_synchronisation(ConfigReader& section,
                                               std::span<const std::string_view> names,
                                               std::optional<std::string_view> otherwise) {
    refuse_object(section);
    const std::string name = otherwise ? section.one_of("synchronisation", names, *otherwise)
                                       : section.one_of("synchronisation", names);
    return parse_synchronisation(name, section.file(), section.path());
}

std::string read_synchronisation_rule(ConfigReader& section,
                                      std::span<const std::string_view> names,
                                      std::string_view otherwise) {
    refuse_object(section);
    return section.one_of("synchronisation", names, otherwise);
}

void refuse_times_at_synchronisation(const ConfigReader& section) {
    refuse_old_key(section, "synchronisation", "\"exchange\": {\"2\": \"20 ms\"}");
}

}  // namespace ukemi::scenarios
