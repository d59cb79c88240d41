// read_synchronisation.hpp — how workers are kept together, by name, in whatever section it stands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/config_reader.hpp"

namespace ukemi::scenarios {

// At "synchronisation": one of the names that go there. What a rule needs beside its name stands
// under "synchronisation_settings"; the object that held both once is refused.
std::string read_synchronisation(ConfigReader& section, std::span<const std::string_view> names,
                                 std::string_view otherwise);

}  // namespace ukemi::scenarios
