// read_synchronisation.cpp — "synchronisation", and what was written for it once.
#include "scenarios/reader/read_synchronisation.hpp"

namespace ukemi::scenarios {

std::string read_synchronisation(ConfigReader& section, std::span<const std::string_view> names,
                                 std::string_view otherwise) {
    if (section.is_object("synchronisation")) {
        section.fail("synchronisation",
                     "is no longer read as an object: write \"synchronisation\": \"local_sgd\", "
                     "and what belongs to the rule at \"synchronisation_settings\"");
    }
    return section.one_of("synchronisation", names, otherwise);
}

}  // namespace ukemi::scenarios
