// collective_list.hpp — lists of collectives among a policy's parameters.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

// Names of collectives at `key`, at least two of them; `otherwise` if it is not there.
inline std::vector<Collective> read_collectives(ConfigReader& parameters, std::string_view key,
                                                std::vector<Collective> otherwise) {
    if (!parameters.has(key)) return otherwise;
    std::vector<Collective> collectives;
    for (const std::string& name : parameters.texts(key)) {
        const auto place = std::ranges::find(collective_names(), name);
        if (place == collective_names().end()) {
            parameters.fail(key, "there is no collective \"" + name + "\"" +
                                     did_you_mean(name, collective_names()));
        }
        const auto collective = static_cast<Collective>(place - collective_names().begin());
        if (std::ranges::find(collectives, collective) != collectives.end()) {
            parameters.fail(key, "names " + name + " twice");
        }
        collectives.push_back(collective);
    }
    if (collectives.size() < 2) parameters.fail(key, "expected at least two");
    return collectives;
}

}  // namespace ukemi::policies
