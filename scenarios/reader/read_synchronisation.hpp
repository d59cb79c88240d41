// read_synchronisation.hpp — how workers are kept together, by name, in whatever section it stands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/config_reader.hpp"
#include "policies/plan.hpp"

namespace ukemi::scenarios {

// The word of a Plan; InputError, at this path of the file, for what is none.
policies::Synchronisation parse_synchronisation(std::string_view text, std::string_view file,
                                                std::string_view path);

// At "synchronisation": one of the words of a Plan that go there; a missing one is `otherwise`, or
// a complaint.
policies::Synchronisation read_synchronisation(ConfigReader& section,
                                               std::span<const std::string_view> names,
                                               std::optional<std::string_view> otherwise = {});
// At "synchronisation": the rule of a trainer of real gradients. What it needs beside its name
// stands under "synchronisation_settings"; the object that held both once is refused.
std::string read_synchronisation_rule(ConfigReader& section,
                                      std::span<const std::string_view> names,
                                      std::string_view otherwise);
// Refuses times at "synchronisation", where they stood once: they stand at "exchange".
void refuse_times_at_synchronisation(const ConfigReader& section);

}  // namespace ukemi::scenarios
